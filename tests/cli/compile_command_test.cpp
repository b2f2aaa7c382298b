// stitchc compile and plan: figures as JSON, what is written where, and what is left unwritten.
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "frontend/npy.h"
#include "sample_models.h"
#include "stitchc_run.h"
#include "support/catch.h"

namespace stitch {

namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

std::set<std::string> keys_of(const Json& json) {
  std::set<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.insert(key);
  return keys;
}

// The keys that scripts rely on; more may follow.
void check_report(const Json& json, const std::set<std::string>& architectures) {
  for (const char* key : {"nodes", "kernels", "contractions", "copies", "grid_barriers", "bytes",
                          "compulsory_bytes", "regions", "peak_mb"}) {
    INFO(key);
    REQUIRE(json.contains(key));
    CHECK(json[key].is_number());
  }
  CHECK(keys_of(json.at("stages_ms")) ==
        std::set<std::string>{"import", "passes", "plan", "emit", "compile", "bundle"});
  CHECK(keys_of(json.at("architectures")) == architectures);
  CHECK(json["peak_mb"] > 0);
}

size_t files_in(const std::string& folder, const std::string& extension) {
  size_t count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    count += entry.path().extension() == extension ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("plan --json has the figures of the first architecture on top") {
  const SoftmaxModel model;
  const StitchcRun run =
      run_stitchc({"plan", model.file(), "--dim", "batch=3", "--arch", "sm_90,sm_75", "--json"});
  REQUIRE(run.exit_code == 0);
  const Json json = Json::parse(run.out);
  check_report(json, {"sm_90", "sm_75"});
  CHECK(json["nodes"] == 2);
  CHECK(json["kernels"] == 1);
  CHECK(json["contractions"] == 0);
  CHECK(json["copies"] == 0);
  CHECK(json["grid_barriers"] == 0);
  CHECK(json["regions"] == 1);
  CHECK(json["bytes"] == 2 * 3 * 10 * 4);
  CHECK(json["compulsory_bytes"] == 2 * 3 * 10 * 4);
  for (const char* key : {"kernels", "contractions", "copies", "grid_barriers", "bytes",
                          "compulsory_bytes", "regions"})
    CHECK(json[key] == json["architectures"]["sm_90"][key]);
  CHECK(json["architectures"]["sm_90"]["device"] == "h100");
}

TEST_CASE("a kernel per node and own contractions are counted as asked for") {
  const SoftmaxModel model;
  const StitchcRun none =
      run_stitchc({"plan", model.file(), "--dim", "batch=3", "--fusion", "none", "--json"});
  REQUIRE(none.exit_code == 0);
  CHECK(Json::parse(none.out)["kernels"] > 4);

  const StitchcRun one =
      run_stitchc({"plan", model.file(), "--dim", "batch=3", "--max-fusions", "0", "--json"});
  REQUIRE(one.exit_code == 0);
  CHECK(Json::parse(one.out)["kernels"] == Json::parse(none.out)["kernels"]);
}

TEST_CASE("plan says why kernels were not stitched when asked to explain") {
  const TemporaryFolder folder;
  ModelBuilder model;
  model.input("x", DType::kF32, {"1", "2", "8", "8"})
      .initializer("w", f32({4, 2, 3, 3}, std::vector<double>(72, 0.5)))
      .node("Conv", {"x", "w"}, {"y"}, {}, {.name = "convolution"})
      .output("y");
  const std::string file = model.save(folder.path() / "model.onnx").string();
  const StitchcRun run = run_stitchc({"plan", file, "--explain"});
  REQUIRE(run.exit_code == 0);
  CHECK(run.out.find("sm_80: ") == 0);
  CHECK(run.out.find("convolution") != std::string::npos);
  CHECK(run_stitchc({"plan", file}).out.find("sm_80: ") == std::string::npos);
}

TEST_CASE("compile writes a bundle, reports as JSON, and dumps graphs, plans and sources") {
  const SoftmaxModel model;
  const std::string bundle = model.beside("bundle"), dump = model.beside("dump");
  const StitchcRun run =
      run_stitchc({"compile", model.file(), "-o", bundle, "--dim", "batch=3", "--arch",
                   "sm_80,sm_90,host", "--name", "my model", "--json", "--dump-dir", dump});
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  const Json json = Json::parse(run.out);
  check_report(json, {"sm_80", "sm_90"});
  CHECK(json["stages_ms"]["compile"] > 0);
  CHECK(json["stages_ms"]["bundle"] > 0);
  for (const char* file : {"manifest.json", "include/my_model.h", "lib/libmy_model.a",
                           "lib/libmy_model.so", "images/program.bin"}) {
    INFO(file);
    CHECK(fs::exists(fs::path(bundle) / file));
  }
  CHECK(files_in(dump, ".graph") > 3);
  CHECK(fs::exists(fs::path(dump) / "sm_80.plan"));
  CHECK(fs::exists(fs::path(dump) / "sm_90.plan"));
  CHECK(files_in(dump, ".cu") == 2);  // one kernel for each architecture
}

TEST_CASE("compile of a model with problems says all of them and writes nothing") {
  const TemporaryFolder folder;
  ModelBuilder model;
  model.input("x", DType::kF32, {"batch"})
      .node("Frobnicate", {"x"}, {"a"}, {}, {.name = "one"})
      .node("Quux", {"a"}, {"y"}, {}, {.name = "two"})
      .output("y");
  const std::string file = model.save(folder.path() / "model.onnx").string();
  const std::string bundle = (folder.path() / "bundle").string();
  const StitchcRun run = run_stitchc({"compile", file, "-o", bundle, "--json"});
  CHECK(run.exit_code == 1);
  CHECK(run.out == "");
  CHECK(without(run.err, folder.path().string() + "/") ==
        "error: 3 problems in 'model.onnx':\n"
        "  1. input 'x' has the unbound dimension 'batch'\n     help: pass --dim batch=8\n"
        "  2. node 'one' (Frobnicate): the operator is not supported\n"
        "  3. node 'two' (Quux): the operator is not supported\n");
  CHECK_FALSE(fs::exists(bundle));
}

TEST_CASE("a folder that stitchc did not make is replaced on request only") {
  const SoftmaxModel model;
  const std::string bundle = model.beside("precious");
  fs::create_directory(bundle);
  std::ofstream(bundle + "/thesis.txt") << "all of it";
  const std::vector<std::string> command = {"compile", model.file(),    "-o",
                                            bundle,    "--dim=batch=3", "-q"};
  const StitchcRun refused = run_stitchc(command);
  CHECK(refused.exit_code == 1);
  CHECK(without(refused.err, model.root()) ==
        "error: 'precious' exists and was not made by stitchc\n"
        "help: choose another folder, or pass --force to replace it\n");
  CHECK(fs::exists(bundle + "/thesis.txt"));
  CHECK(files_in(bundle, ".json") == 0);
  // Refused before any work: a model that is not there is not even looked for.
  CHECK(run_stitchc({"compile", model.beside("absent.onnx"), "-o", bundle}).err == refused.err);

  std::vector<std::string> forced = command;
  forced.push_back("--force");
  CHECK(run_stitchc(forced).exit_code == 0);
  CHECK(fs::exists(bundle + "/manifest.json"));
  CHECK(run_stitchc(command).exit_code == 0);  // stitchc made it by now
}

TEST_CASE("an output that is an input is a kernel that says what it copies") {
  const TemporaryFolder folder;
  ModelBuilder model;
  model.input("x", DType::kF32, {"4", "8"}).node("Identity", {"x"}, {"y"}).output("y");
  const std::string file = model.save(folder.path() / "model.onnx").string();
  const std::string bundle = (folder.path() / "bundle").string();
  REQUIRE(run_stitchc({"compile", file, "-o", bundle}).exit_code == 0);
  const Json manifest = Json::parse(run_stitchc({"inspect", bundle, "--json"}).out);
  const Json& kernel = manifest["architectures"][0]["kernels"][0];
  CHECK(kernel["name"] == "k00_copy_of_x");
  CHECK(kernel["nodes"] == std::vector<std::string>{"copy of x"});
}

TEST_CASE("an architecture that NVRTC cannot compile for is a matter of the device") {
  const SoftmaxModel model;
  const std::string bundle = model.beside("bundle");
  const StitchcRun run =
      run_stitchc({"compile", model.file(), "-o", bundle, "--dim", "batch=3", "--arch", "sm_70"});
  CHECK(run.exit_code == 2);
  CHECK(run.err.find("cannot compile for sm_70\nnote: it knows sm_75") != std::string::npos);
  CHECK_FALSE(fs::exists(bundle));
}

TEST_CASE("a bound input is a constant of the bundle") {
  const TemporaryFolder folder;
  ModelBuilder model;
  model.input("x", DType::kF32, {"2", "6"})
      .input("shape", DType::kI64, {"2"})
      .node("Reshape", {"x", "shape"}, {"y"}, {}, {.name = "n"})
      .output("y");
  const std::string file = model.save(folder.path() / "model.onnx").string();
  const StitchcRun unbound = run_stitchc({"plan", file});
  CHECK(unbound.exit_code == 1);
  CHECK(unbound.err.find("help: pass --bind shape=") != std::string::npos);

  const std::string npy = (folder.path() / "shape.npy").string();
  write_npy(npy, i64({2}, {3, 4}));
  const std::string bundle = (folder.path() / "bundle").string();
  REQUIRE(run_stitchc({"compile", file, "-o", bundle, "--bind", "shape=" + npy}).exit_code == 0);
  const StitchcRun inspected = run_stitchc({"inspect", bundle, "--json"});
  const Json manifest = Json::parse(inspected.out);
  REQUIRE(manifest["inputs"].size() == 1);
  CHECK(manifest["inputs"][0]["name"] == "x");
  CHECK(manifest["outputs"][0]["dims"] == std::vector<int>{3, 4});
}

}  // namespace stitch
