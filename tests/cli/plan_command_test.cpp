// stitchc plan: modes side by side, and why values go through memory.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "sample_models.h"
#include "stitchc_run.h"
#include "support/catch.h"

namespace stitch {

namespace {

using Json = nlohmann::json;

// y = Softmax(before(x) w): a product between two element-wise kernels.
std::string product_model(const TemporaryFolder& folder, const std::string& before = "Relu") {
  ModelBuilder model;
  model.input("x", DType::kF32, {"8", "16"})
      .initializer("w", f32({16, 16}, std::vector<double>(256, 0.25)))
      .node(before, {"x"}, {"positive"}, {}, {.name = "relu"})
      .node("MatMul", {"positive", "w"}, {"product"}, {}, {.name = "project"})
      .node("Softmax", {"product"}, {"y"}, {}, {.name = "normalise"})
      .output("y");
  return model.save(folder.path() / "model.onnx").string();
}

bool has_line(const std::string& text, const std::string& begin, const std::string& part) {
  const size_t at = text.find(begin);
  if (at == std::string::npos) return false;
  const std::string line = text.substr(at, text.find('\n', at) - at);
  return line.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("plan --compare --json has every mode with its counts and a time per architecture") {
  const SoftmaxModel model;
  const StitchcRun run = run_stitchc(
      {"plan", model.file(), "--dim", "batch=3", "--arch", "sm_90,sm_75", "--compare", "--json"});
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  const Json json = Json::parse(run.out);
  CHECK(json["nodes"] == 2);
  CHECK(json["regions"] == 1);
  CHECK(json["plan_ms"] > 0);
  for (const char* name : {"none", "xla", "fusionstitching", "astitch", "stitch"}) {
    INFO(name);
    const Json& mode = json["modes"].at(name);
    for (const char* key : {"kernels", "contractions", "copies", "grid_barriers", "bytes",
                            "compulsory_bytes", "plan_ms"})
      CHECK(mode.at(key).is_number());
    CHECK(mode["predicted_us"].size() == 2);
    CHECK(mode["predicted_us"].at("sm_90") > 0);
    CHECK(mode["predicted_us"].at("sm_75") > 0);
    // As planned in this mode alone.
    const Json alone = Json::parse(run_stitchc({"plan", model.file(), "--dim", "batch=3", "--arch",
                                                "sm_90,sm_75", "--fusion", name, "--json"})
                                       .out);
    for (const char* key : {"kernels", "copies", "grid_barriers", "bytes", "compulsory_bytes"})
      CHECK(mode[key] == alone[key]);
    CHECK(mode["predicted_us"]["sm_75"] == alone["architectures"]["sm_75"]["predicted_us"]);
  }
  CHECK(json["modes"]["stitch"]["kernels"] == 1);
  CHECK(json["modes"]["none"]["kernels"] > 4);
}

TEST_CASE("plan --compare prints a row for each mode and a column for each device") {
  const SoftmaxModel model;
  const StitchcRun run = run_stitchc({"plan", model.file(), "--dim", "batch=3", "--arch",
                                      "sm_80,sm_90", "--compare", "--fusion", "none"});
  REQUIRE(run.exit_code == 0);
  CHECK(has_line(run.out, "mode", "a100"));
  CHECK(has_line(run.out, "mode", "h100"));
  CHECK(has_line(run.out, "none (chosen)", "us"));
  CHECK(run.out.find("\nstitch ") != std::string::npos);
  CHECK(run.out.find("2 nodes, 1 regions") != std::string::npos);
}

TEST_CASE("plan --dim batch=1..8 says which plan is best for the range, and where others win") {
  const std::string model = STITCH_SOURCE_DIR "/models/bert_small/model.onnx";
  const std::vector<std::string> flags = {"plan", model, "--dim", "batch=1..8", "--dim", "seq=17"};
  const StitchcRun run = run_stitchc(flags);
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  CHECK(has_line(run.out, "extents", "(chosen)"));
  CHECK(has_line(run.out, "batch=8 ", "us"));
  CHECK(run.out.find("chosen for a100: plan ") != std::string::npos);

  std::vector<std::string> json_flags = flags;
  json_flags.push_back("--json");
  const Json json = Json::parse(run_stitchc(json_flags).out)["architectures"]["sm_80"];
  CHECK(json["dims"]["batch"] == Json::array({1, 8}));
  REQUIRE(json["samples"].size() == 4);
  double least = 1e30;
  for (const Json& plan : json["plans"]) {
    CHECK(plan["predicted_us"].size() == 4);
    CHECK(plan["worst_slowdown"] >= plan["mean_slowdown"]);
    least = std::min(least, plan["mean_slowdown"].get<double>());
  }
  CHECK(json["plans"][json["chosen"].get<size_t>()]["mean_slowdown"] == least);
  // With batch 1 the projections of one token are products with vectors.
  CHECK(json["samples"][0]["fastest"] != json["samples"][3]["fastest"]);
  REQUIRE(json["crossovers"].size() >= 1);
  CHECK(json["crossovers"][0]["after_us"] < json["crossovers"][0]["before_us"]);
  CHECK(run.out.find("from batch=" +
                     std::to_string(json["crossovers"][0]["from"]["batch"].get<int>())) !=
        std::string::npos);
}

TEST_CASE("a range of extents is refused where kernels are compiled, and where it is none") {
  const SoftmaxModel model;
  const StitchcRun compile =
      run_stitchc({"compile", model.file(), "-o", model.beside("out"), "--dim", "batch=1..4"});
  CHECK(compile.exit_code == 1);
  CHECK(compile.err ==
        "error: --dim batch=1..4: kernels are compiled for one set of extents, not for a range\n"
        "help: stitchc plan takes a range, and says which plan is best for all of it\n");
  const auto refusal = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"plan", model.file()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const StitchcRun run = run_stitchc(arguments);
    CHECK(run.exit_code == 1);
    return run.err;
  };
  CHECK(refusal({"--dim", "batch=4..2"}) ==
        "error: --dim batch=4..2: a range goes from 1 or more up to no less\n");
  CHECK(refusal({"--dim", "batch=1..x"}) == "error: --dim batch=1..x: 'x' is not an extent\n");
  CHECK(refusal({"--dim", "batch=1..4", "--compare"}) ==
        "error: --compare, --text and --write are of one plan, and --dim has a range\n");
  CHECK(refusal({"--dim", "batch=1..4", "--explain"}) ==
        "error: --explain is of one plan, and --dim has a range\n");
}

TEST_CASE("plan --compare refuses a mode that does not exist") {
  const SoftmaxModel model;
  const StitchcRun run =
      run_stitchc({"plan", model.file(), "--dim=batch=3", "--compare", "--fusion", "stich"});
  CHECK(run.exit_code == 1);
  CHECK(run.err.find("help: did you mean 'stitch'?") != std::string::npos);
}

TEST_CASE("plan --explain names both ends of every value that a library call keeps in memory") {
  const TemporaryFolder folder;
  const StitchcRun run = run_stitchc({"plan", product_model(folder), "--explain"});
  REQUIRE(run.exit_code == 0);
  CHECK(run.out.find("sm_80: k00_relu -> library call: 'positive' (512 B) from relu (Relu) to "
                     "project (MatMul): a library call takes its operands from memory\n") !=
        std::string::npos);
  CHECK(has_line(run.out, "sm_80: library call -> k02_softmax: 'product'",
                 "from project (MatMul) to normalise (Softmax): a library call leaves its result"));
}

TEST_CASE("plan --explain says what own contraction kernels do not take in") {
  const TemporaryFolder folder;
  const StitchcRun run =
      run_stitchc({"plan", product_model(folder, "Exp"), "--explain", "--contractions", "own"});
  REQUIRE(run.exit_code == 0);
  CHECK(has_line(run.out, "sm_80: k00_exp -> k01_mat_mul",
                 "take in light element-wise nodes of their operands only"));
  CHECK(has_line(run.out, "sm_80: k01_mat_mul -> k02_softmax", "take in element-wise nodes only"));
}

}  // namespace stitch
