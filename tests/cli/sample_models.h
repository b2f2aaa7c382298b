// Small models and compiled bundles for tests of the commands.
#pragma once
#include <string>

#include "frontend/model_builder.h"

namespace stitch {

// probs = Softmax(scores * 2), scores: float32[batch,10]; a data set of batch 3 beside it.
class SoftmaxModel {
 public:
  SoftmaxModel();
  std::filesystem::path folder() const { return folder_.path() / "model"; }
  std::string file() const { return (folder() / "model.onnx").string(); }
  // A path beside the model for what a test writes.
  std::string beside(const std::string& name) const { return (folder_.path() / name).string(); }
  // Paths in messages start with this.
  std::string root() const { return folder_.path().string() + "/"; }
  static Tensor scores();

 private:
  TemporaryFolder folder_;
};

// The softmax compiled for sm_80 with batch 3, with an image for the emulator; made once.
const std::string& softmax_bundle();

}  // namespace stitch
