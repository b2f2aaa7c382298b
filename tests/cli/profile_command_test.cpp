// stitchc profile: counts that can be computed by hand, for a model and for a bundle, and what it
// refuses.
#include <cmath>
#include <nlohmann/json.hpp>

#include "sample_models.h"
#include "stitchc_run.h"
#include "support/catch.h"
#include "support/make_tensor.h"

namespace stitch {

namespace {

using Json = nlohmann::json;

Json profile_of(const std::vector<std::string>& arguments) {
  std::vector<std::string> all = {"profile"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  all.push_back("--json");
  const StitchcRun run = run_stitchc(all);
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  return Json::parse(run.out);
}

std::string saved(ModelBuilder& model, const TemporaryFolder& folder) {
  return model.output("y").save(folder.path() / "model.onnx").string();
}

}  // namespace

TEST_CASE("profile prints a row per kernel and the sums of the model") {
  const SoftmaxModel model;
  const StitchcRun run = run_stitchc({"profile", model.folder().string()});
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  CHECK(run.out.find("kernel ") == 0);
  CHECK(run.out.find("\nk00_") != std::string::npos);
  CHECK(run.out.find("1 kernels on a100, inputs test_data_set_0: 240 B through global memory of "
                     "240 B at least") != std::string::npos);
  CHECK(run.out.find("\nlimit 0.00 us: the least bytes at 2,039 GB/s; predicted ") !=
        std::string::npos);
}

TEST_CASE("the counts of contiguous element-wise work are its bytes") {
  const TemporaryFolder folder;
  ModelBuilder model;
  model.input("x", DType::kF32, {"64", "64"}).node("Add", {"x", "x"}, {"y"});
  const Json json = profile_of({saved(model, folder)});
  CHECK(json.at("inputs") == "drawn from seed 1");
  REQUIRE(json.at("kernels").size() == 1);
  const Json& kernel = json["kernels"][0];
  const double bytes = 2 * 64 * 64 * 4;
  for (const char* field : {"bytes", "compulsory_bytes", "counted_bytes", "distinct_bytes",
                            "requested_bytes", "planned_requested_bytes", "used_bytes"})
    CHECK(kernel.at(field) == bytes);
  CHECK(kernel.at("sector_efficiency") == 1.0);
  CHECK(kernel.at("traffic_ratio") == 1.0);
  CHECK(kernel.at("bank_conflict_factor") == 1.0);
  CHECK(kernel.at("barriers") == 0);
  CHECK(kernel.at("grid_barriers") == 0);
  CHECK(kernel.at("spill_bytes") == 0);
  CHECK(kernel.at("registers") > 0);
  CHECK(kernel.at("occupancy") > 0);
  // A load and a store per thread of so many elements.
  const double elements = kernel.at("vector_share") == 1.0 ? 4 : 1;
  CHECK(kernel.at("instructions_per_element") == 1 / elements);
  CHECK(json.at("total").at("requested_bytes") == bytes);
  CHECK(std::abs(kernel.at("limit_us").get<double>() - bytes / 2039e3) < 1e-6);
}

TEST_CASE("the blocks of a cluster meet when they begin and when they exchange their parts") {
  const TemporaryFolder folder;
  ModelBuilder model;
  model.input("x", DType::kF32, {"4", "65536"}).node("Softmax", {"x"}, {"y"});
  const Json json = profile_of({saved(model, folder), "--arch", "sm_90"});
  REQUIRE(json.at("kernels").size() == 1);
  const Json& kernel = json["kernels"][0];
  CHECK(kernel.at("cluster_barriers") == 2);
  CHECK(kernel.at("grid_barriers") == 0);
  CHECK(kernel.at("blocks") == 4 * 8);
  CHECK(kernel.at("counted_bytes") == kernel.at("compulsory_bytes"));
  CHECK(kernel.at("spill_bytes") == 0);
}

TEST_CASE("an operand that is read twice is requested twice, and a tile has a barrier") {
  const TemporaryFolder folder;
  ModelBuilder model;
  model.input("x", DType::kF32, {"64", "64"})
      .node("Transpose", {"x"}, {"t"}, {{"perm", std::vector<int64_t>{1, 0}}})
      .node("Add", {"x", "t"}, {"y"});
  const Json kernel = profile_of({saved(model, folder)})["kernels"][0];
  CHECK(kernel.at("distinct_bytes") == 2 * 64 * 64 * 4);
  CHECK(kernel.at("requested_bytes") == 3 * 64 * 64 * 4);
  CHECK(kernel.at("sector_efficiency") == 1.0);
  CHECK(kernel.at("traffic_ratio") == 1.5);
  CHECK(kernel.at("barriers") == 1);
  CHECK(kernel.at("shared_bytes") >= 32 * 33 * 4);
}

TEST_CASE("every other element of a row uses half of its sectors") {
  const TemporaryFolder folder;
  ModelBuilder model;
  model.input("x", DType::kF32, {"64", "128"})
      .initializer("starts", i64({1}, {0}))
      .initializer("ends", i64({1}, {128}))
      .initializer("axes", i64({1}, {1}))
      .initializer("steps", i64({1}, {2}))
      .node("Slice", {"x", "starts", "ends", "axes", "steps"}, {"half"})
      .node("Neg", {"half"}, {"y"});
  const Json kernel = profile_of({saved(model, folder)})["kernels"][0];
  const int half = 64 * 64 * 4;
  CHECK(kernel.at("distinct_bytes") == 2 * half);
  CHECK(kernel.at("used_bytes") == 2 * half);
  CHECK(kernel.at("requested_bytes") == 3 * half);
  CHECK(kernel.at("sector_efficiency") == 2.0 / 3);
}

TEST_CASE("a bundle is profiled with given and with drawn inputs") {
  const TemporaryFolder folder;
  const Json drawn = profile_of({softmax_bundle(), "--device", "emulator:sm_80"});
  CHECK(drawn.at("architecture") == "sm_80");
  CHECK(drawn.at("inputs") == "drawn from seed 1");
  REQUIRE(drawn.at("kernels").size() == 1);
  CHECK(drawn["kernels"][0].at("counted_bytes") == 240);
  const SoftmaxModel model;
  const Json given =
      profile_of({softmax_bundle(), "--input",
                  "scores=" + (model.folder() / "test_data_set_0/input_0.pb").string()});
  CHECK(given.at("inputs") == "given");
  CHECK(given["kernels"] == drawn["kernels"]);
}

TEST_CASE("profile refuses what it cannot count, and says what to do") {
  const SoftmaxModel model;
  const StitchcRun gpu = run_stitchc({"profile", model.file(), "--device", "gpu"});
  CHECK(gpu.exit_code == 1);
  CHECK(gpu.err ==
        "error: --device gpu: counts come from the emulator only\nhelp: pass --device emulator\n");
  const StitchcRun other = run_stitchc({"profile", model.file(), "--device", "emu"});
  CHECK(other.exit_code == 1);
  CHECK(other.err == "error: --device emu: expected emulator or emulator:sm_XX\n");
  const StitchcRun input = run_stitchc({"profile", model.file(), "--input", "scores=x.npy"});
  CHECK(input.exit_code == 1);
  CHECK(input.err ==
        "error: --input is for a bundle\n"
        "help: pass --data FOLDER with input_0.pb, input_1.pb, ...\n");
  const StitchcRun architecture =
      run_stitchc({"profile", softmax_bundle(), "--device", "emulator:sm_90"});
  CHECK(architecture.exit_code == 1);
  CHECK(architecture.err == "error: the bundle has no architecture 'sm_90'; it holds sm_80\n");
  const std::string bundle = model.beside("without_host");
  REQUIRE(run_stitchc({"compile", model.file(), "-o", bundle, "--dim", "batch=3"}).exit_code == 0);
  const StitchcRun no_image = run_stitchc({"profile", bundle});
  CHECK(no_image.exit_code == 1);
  CHECK(no_image.err ==
        "error: the bundle has no image of sm_80 for the emulator\n"
        "help: compile the model with --arch sm_80,host\n");
}

}  // namespace stitch
