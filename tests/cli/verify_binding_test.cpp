// `verify` binds the inputs whose values decide shapes to those of each data set.
#include <filesystem>

#include "frontend/model_builder.h"
#include "frontend/tensor_file.h"
#include "support/catch.h"
#include "verify_model.h"

namespace stitch {

namespace {

void write_data_set(const std::filesystem::path& folder, const Tensor& x, const Tensor& shape) {
  std::filesystem::create_directories(folder);
  write_tensor_pb(folder / "input_0.pb", x, "x");
  write_tensor_pb(folder / "input_1.pb", shape, "shape");
}

}  // namespace

TEST_CASE("a shape that is an input has another value in each data set") {
  const TemporaryFolder folder;
  ModelBuilder model;
  model.input("x", DType::kF32, {"2", "3"})
      .input("shape", DType::kI64, {"2"})
      .node("Reshape", {"x", "shape"}, {"r"})
      .node("Exp", {"r"}, {"y"})
      .output("y");
  model.save(folder.path() / "model.onnx");
  const Tensor x = f32({2, 3}, {0, 1, 2, 3, 4, 5});
  write_data_set(folder.path() / "test_data_set_0", x, i64({2}, {3, 2}));
  write_data_set(folder.path() / "test_data_set_1", x, i64({2}, {6, 1}));

  VerifyRequest request;
  request.target = folder.path();
  Console console({.quiet = true});
  const VerifyResult result = verify_model(request, console);
  REQUIRE(result.data_sets.size() == 2);
  CHECK(result.passed());
  CHECK(result.data_sets[0].outputs.at(0).extents == std::vector<int64_t>{3, 2});
  CHECK(result.data_sets[1].outputs.at(0).extents == std::vector<int64_t>{6, 1});
}

}  // namespace stitch
