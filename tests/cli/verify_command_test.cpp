// stitchc verify: what it prints, its JSON, and an output that is wrong.
#include <nlohmann/json.hpp>

#include "frontend/tensor_file.h"
#include "sample_models.h"
#include "stitchc_run.h"
#include "support/catch.h"

namespace stitch {

namespace {
using Json = nlohmann::json;
}

TEST_CASE("verify of a model folder passes and says what was looked for") {
  const SoftmaxModel model;
  const StitchcRun run = run_stitchc({"verify", model.folder().string()});
  INFO(run.err);
  CHECK(run.exit_code == 0);
  CHECK(run.out.find("test_data_set_0\noutput ") == 0);
  CHECK(run.out.find("\nprobs   float32  [3,10]") != std::string::npos);
  CHECK(run.out.find("1 kernels and 0 contractions run with checks: no race, no access out of "
                     "bounds, no undefined read, no barrier fault, no leak. Passed.\n") !=
        std::string::npos);
}

TEST_CASE("verify --json has the verdict of every output") {
  const SoftmaxModel model;
  const StitchcRun run = run_stitchc({"verify", model.folder().string(), "--json"});
  REQUIRE(run.exit_code == 0);
  const Json json = Json::parse(run.out);
  CHECK(json.at("passed") == true);
  CHECK(json.at("reports") == 0);
  CHECK(json.at("kernels") == 1);
  CHECK(json.at("contractions") == 0);
  REQUIRE(json.at("outputs").size() == 1);
  const Json& output = json["outputs"][0];
  CHECK(output.at("name") == "probs");
  CHECK(output.at("max_abs") < 1e-6);
  CHECK(output.at("max_rel_row") < 1e-5);
  CHECK(output.at("against") == "fp64");
  CHECK(output.at("passed") == true);
}

TEST_CASE("verify of a model that another runtime computes otherwise exits with 1") {
  const SoftmaxModel model;
  ModelBuilder integers;
  integers.input("scores", DType::kF32, {"batch", "10"})
      .node("ArgMax", {"scores"}, {"best"}, {{"axis", int64_t{1}}}, {.name = "n"})
      .output("best", DType::kI64);
  integers.save(model.file());
  write_tensor_pb(model.folder() / "test_data_set_0/output_0.pb", i64({3, 1}, {0, 11, 0}), "best");
  const StitchcRun run = run_stitchc({"verify", model.folder().string(), "--json"});
  CHECK(run.exit_code == 1);
  const Json json = Json::parse(run.out);
  CHECK(json.at("passed") == false);
  CHECK(json.at("reports") == 0);
  CHECK(json["outputs"][0]["passed"] == false);
  const StitchcRun text = run_stitchc({"verify", model.folder().string()});
  CHECK(text.exit_code == 1);
  CHECK(text.out.find("FAILED") != std::string::npos);
  CHECK(text.out.find(" Failed.\n") != std::string::npos);
}

TEST_CASE("verify without a data set draws inputs, also for a model in the current folder") {
  const SoftmaxModel model;
  std::filesystem::remove_all(model.folder() / "test_data_set_0");
  const StitchcRun unbound = run_stitchc({"verify", "model.onnx"}, model.folder().string());
  CHECK(unbound.exit_code == 1);
  CHECK(unbound.err ==
        "error: input 'scores' has the unbound dimension 'batch'\nhelp: pass --dim batch=N\n");
  const StitchcRun drawn =
      run_stitchc({"verify", "model.onnx", "--dim", "batch=2"}, model.folder().string());
  INFO(drawn.err);
  CHECK(drawn.exit_code == 0);
  CHECK(drawn.out.find("drawn from seed 1\n") == 0);
}

TEST_CASE("verify names a model or data set that is not there") {
  const SoftmaxModel model;
  const StitchcRun no_model = run_stitchc({"verify", model.beside("nothing")});
  CHECK(no_model.exit_code == 1);
  CHECK(without(no_model.err, model.root()) == "error: there is no 'nothing'\n");
  const StitchcRun no_data =
      run_stitchc({"verify", model.folder().string(), "--data", "test_data_set_7"});
  CHECK(no_data.exit_code == 1);
  CHECK(without(no_data.err, model.root()) ==
        "error: there is no data set 'test_data_set_7' beside 'model/model.onnx'\n");
}

TEST_CASE("a data set that does not fit the model is refused") {
  const SoftmaxModel model;
  const auto input = model.folder() / "test_data_set_0/input_0.pb";
  write_tensor_pb(input, f32({3, 11}, {}), "scores");
  const StitchcRun wide = run_stitchc({"verify", model.folder().string()});
  CHECK(wide.exit_code == 1);
  CHECK(without(wide.err, input.parent_path().string() + "/") ==
        "error: 'input_0.pb' holds float32[3,11], but input 'scores' is float32[batch,10]\n");
  write_tensor_pb(input, i64({3, 10}, {}), "scores");
  const StitchcRun integers = run_stitchc({"verify", model.folder().string()});
  CHECK(integers.exit_code == 1);
  CHECK(without(integers.err, input.parent_path().string() + "/") ==
        "error: 'input_0.pb' holds int64[3,10], but input 'scores' is float32[batch,10]\n");
  std::filesystem::remove(input);
  const StitchcRun gone = run_stitchc({"verify", model.folder().string()});
  CHECK(gone.exit_code == 1);
  CHECK(without(gone.err, input.parent_path().string() + "/") ==
        "error: cannot read 'input_0.pb': no such file\nhelp: did you mean 'output_0.pb'?\n");
}

}  // namespace stitch
