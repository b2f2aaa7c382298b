// Messages about weights in files beside the model.
#include <filesystem>
#include <fstream>

#include "frontend/model_builder.h"
#include "graph/error.h"
#include "graph/evaluate.h"
#include "support/catch.h"

namespace stitch {
namespace {

using Keys = std::vector<std::pair<std::string, std::string>>;

// A folder with model.onnx, weights.bin (16 bytes), and a link to a file outside.
class ExternalModel {
 public:
  ExternalModel() {
    std::filesystem::create_directory(folder_.path() / "model");
    std::ofstream(folder_.path() / "outside.bin") << "0123456789abcdef";
    const float values[4] = {1, 2, 3, 4};
    std::ofstream(folder_.path() / "model/weights.bin", std::ios::binary)
        .write(reinterpret_cast<const char*>(values), sizeof(values));
    std::filesystem::create_symlink(folder_.path() / "outside.bin",
                                    folder_.path() / "model/link.bin");
  }
  std::filesystem::path save(const Keys& keys) const {
    ModelBuilder model;
    model.input("x", DType::kF32, {"2"})
        .external_initializer("w", DType::kF32, {2}, keys)
        .node("Add", {"x", "w"}, {"y"}, {}, {.name = "n"})
        .output("y");
    return model.save(folder_.path() / "model/model.onnx");
  }
  std::string error(const Keys& keys) const {
    try {
      import_onnx(save(keys));
    } catch (const ModelError& error) {
      return error.what();
    }
    return "";
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("external weights are read at their offset") {
  const ExternalModel model;
  const auto file = model.save({{"location", "weights.bin"}, {"offset", "4"}, {"length", "8"}});
  const auto outputs =
      evaluate(import_onnx(file).graph, {{"x", f32({2}, {10, 10})}}, EvaluationPrecision::kNative);
  CHECK(reals(outputs[0]) == std::vector<double>{12, 13});
}

TEST_CASE("external data outside the model's folder is refused") {
  const ExternalModel model;
  const std::string start = "node 'n' (Add): initialiser 'w': external data '";
  CHECK(model.error({{"location", "../outside.bin"}}) ==
        start + "../outside.bin' is not a path inside the model's folder");
  CHECK(model.error({{"location", "/etc/passwd"}}) ==
        start + "/etc/passwd' is not a path inside the model's folder");
  CHECK(model.error({{"location", "link.bin"}}) ==
        start + "link.bin' is a link that leaves the model's folder");
}

TEST_CASE("external data that does not fit is refused") {
  const ExternalModel model;
  const std::string start = "node 'n' (Add): initialiser 'w': external data ";
  CHECK(model.error({{"location", "weights.bin"}, {"offset", "12"}}) ==
        start + "'weights.bin': bytes 12 to 20 of a file of 16 bytes");
  CHECK(model.error({{"location", "weights.bin"}, {"length", "4"}}) ==
        start + "'weights.bin': length 4 where the tensor has 8 bytes");
  CHECK(model.error({{"location", "weights.bin"}, {"offset", "-4"}}) == start + "with offset '-4'");
  CHECK(model.error({}) == start + "without a location");
}

TEST_CASE("absent weights are allowed on request, but not where a shape depends on them") {
  const TemporaryFolder folder;
  ModelBuilder model;
  model.input("x", DType::kF32, {"6"})
      .external_initializer("w", DType::kF32, {6}, {{"location", "gone.bin"}})
      .external_initializer("shape", DType::kI64, {2}, {{"location", "gone.bin"}})
      .node("Add", {"x", "w"}, {"a"})
      .node("Reshape", {"a", "shape"}, {"y"}, {}, {.name = "n"})
      .output("y");
  CHECK(model.import_error({.weights_may_be_absent = true}) ==
        "node 'n' (Reshape): input 1 'shape' must be known at compile time, but its weights are "
        "absent");
  ModelBuilder without_shape;
  without_shape.input("x", DType::kF32, {"6"})
      .external_initializer("w", DType::kF32, {6}, {{"location", "gone.bin"}})
      .node("Add", {"x", "w"}, {"y"})
      .output("y");
  CHECK(without_shape.import({.weights_may_be_absent = true}).notes ==
        std::vector<std::string>{"the data of 1 weights is absent; zeros stand for it"});
}

}  // namespace stitch
