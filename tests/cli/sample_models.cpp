#include "sample_models.h"

#include "frontend/tensor_file.h"
#include "stitchc_run.h"
#include "support/catch.h"
#include "support/make_tensor.h"

namespace stitch {

SoftmaxModel::SoftmaxModel() {
  std::filesystem::create_directories(folder() / "test_data_set_0");
  ModelBuilder model;
  model.input("scores", DType::kF32, {"batch", "10"})
      .initializer("two", f32({}, {2}))
      .node("Mul", {"scores", "two"}, {"scaled"}, {}, {.name = "scale"})
      .node("Softmax", {"scaled"}, {"probs"}, {}, {.name = "softmax"})
      .output("probs");
  model.save(folder() / "model.onnx");
  write_tensor_pb(folder() / "test_data_set_0/input_0.pb", scores(), "scores");
  write_tensor_pb(folder() / "test_data_set_0/output_0.pb",
                  model.run({{"scores", scores()}}).front(), "probs");
}

Tensor SoftmaxModel::scores() { return random_tensor(DType::kF32, {3, 10}, 5); }

const std::string& softmax_bundle() {
  static const SoftmaxModel model;
  static const std::string bundle = [] {
    const std::string folder = model.beside("bundle");
    const StitchcRun run = run_stitchc(
        {"compile", model.file(), "-o", folder, "--arch", "sm_80,host", "--dim", "batch=3"});
    INFO(run.err);
    REQUIRE(run.exit_code == 0);
    return folder;
  }();
  return bundle;
}

}  // namespace stitch
