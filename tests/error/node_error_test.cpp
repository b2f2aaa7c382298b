// Messages about single nodes: shapes that do not fit, attributes, values that must be known.
#include "frontend/model_builder.h"
#include "support/catch.h"

namespace stitch {
namespace {

// A model of one node called 'n' on x: float32[2,6].
std::string error_of(const std::string& op, const std::vector<std::string>& inputs,
                     const std::vector<TestAttribute>& attributes = {}, int64_t opset = 17) {
  ModelBuilder model(opset);
  model.input("x", DType::kF32, {"2", "6"})
      .input("data", DType::kI64, {"2"})
      .initializer("w", f32({5}, {}))
      .initializer("shape", i64({2}, {3, 5}))
      .initializer("twice", i64({2}, {-1, -1}))
      .initializer("one", i64({1}, {1}))
      .initializer("nine", i64({1}, {9}))
      .initializer("zero", i64({1}, {0}))
      .node(op, inputs, {"y"}, attributes, {.name = "n"})
      .output("y");
  return model.import_error();
}

}  // namespace

TEST_CASE("a reshape that does not fit shows both element counts and where the shape is from") {
  CHECK(error_of("Reshape", {"x", "shape"}) ==
        "node 'n' (Reshape): cannot reshape float32[2,6] to [3,5]: 12 elements against 15\n"
        "note: the target shape comes from initialiser 'shape'");
  CHECK(error_of("Reshape", {"x", "twice"}) == "node 'n' (Reshape): two -1 in the shape [-1,-1]");
}

TEST_CASE("operands that do not broadcast are shown with their shapes") {
  CHECK(error_of("Add", {"x", "w"}) == "node 'n' (Add): cannot broadcast [2,6] with [5]");
}

TEST_CASE("a matrix product that does not fit shows the inner extents") {
  CHECK(error_of("MatMul", {"x", "w"}) ==
        "node 'n' (MatMul): cannot multiply [2,6] by [5]: 6 columns against 5 rows");
}

TEST_CASE("a shape that is an input of the model can be bound") {
  CHECK(error_of("Reshape", {"x", "data"}) ==
        "node 'n' (Reshape): input 1 'data' must be known at compile time, but depends on the "
        "input 'data'\nhelp: pass --bind data=FILE.npy");
}

TEST_CASE("a problem names the inputs whose values it needs") {
  ModelBuilder model;
  model.input("x", DType::kF32, {"2", "6"})
      .input("data", DType::kI64, {"2"})
      .node("Reshape", {"x", "data"}, {"y"})
      .output("y");
  const CheckReport report = model.check();
  REQUIRE(report.problems.size() == 1);
  CHECK(report.problems[0].inputs_to_bind == std::vector<std::string>{"data"});
  try {
    model.import();
    FAIL("the model was imported");
  } catch (const ImportError& error) {
    REQUIRE(error.problems().size() == 1);
    CHECK(error.problems()[0].inputs_to_bind == std::vector<std::string>{"data"});
  }
}

TEST_CASE("missing and mistyped parts of a node are named") {
  CHECK(error_of("Add", {"x"}) == "node 'n' (Add): input 1 is missing");
  CHECK(error_of("Add", {"", "x"}) == "node 'n' (Add): input 0 is missing");
  CHECK(error_of("Softmax", {"x"}, {{"axis", 1.0f}}) ==
        "node 'n' (Softmax): attribute 'axis' is not an integer");
  CHECK(error_of("Softmax", {"x"}, {{"axis", int64_t{2}}}) ==
        "node 'n' (Softmax): axis 2 is outside rank 2");
  CHECK(error_of("Transpose", {"x"}, {{"perm", std::vector<int64_t>{0, 0}}}) ==
        "node 'n' (Transpose): perm [0,0] is not a permutation of 2 axes");
  CHECK(error_of("Unsqueeze", {"x", "nine"}) == "node 'n' (Unsqueeze): axis 9 is outside rank 3");
  CHECK(error_of("Squeeze", {"x", "one"}) == "node 'n' (Squeeze): axis 1 of [2,6] is not 1");
  CHECK(error_of("Slice", {"x", "zero", "one", "zero", "zero"}) == "node 'n' (Slice): a step is 0");
  CHECK(error_of("Einsum", {"x"}, {{"equation", std::string("ij->ik")}}) ==
        "node 'n' (Einsum): the result label 'k' is in no operand");
  CHECK(error_of("Cast", {"x"}, {{"to", int64_t{8}}}) ==
        "node 'n' (Cast): string elements are not supported");
  CHECK(error_of("Resize", {"x"}, {{"mode", std::string("nearest")}}) ==
        "node 'n' (Resize): it has neither scales nor sizes");
}

TEST_CASE("initialisers with wrong data are reported by the node that reads them") {
  ModelBuilder model;
  model.input("x", DType::kF32, {"2"})
      .broken_initializer("short", {2}, "1234567")
      .broken_initializer("negative", {-2}, "")
      .broken_initializer("huge", {int64_t{1} << 40, int64_t{1} << 40}, "")
      .broken_initializer("text", {1}, "a", 8)
      .broken_initializer("unused", {1}, "")
      .node("Add", {"x", "short"}, {"a"}, {}, {.name = "1"})
      .node("Add", {"x", "negative"}, {"b"}, {}, {.name = "2"})
      .node("Add", {"x", "huge"}, {"c"}, {}, {.name = "3"})
      .node("Add", {"x", "text"}, {"d"}, {}, {.name = "4"})
      .node("Sum", {"a", "b", "c", "d"}, {"y"})
      .output("y");
  CHECK(model.import_error() ==
        "4 problems in 'model.onnx':\n"
        "  1. node '1' (Add): initialiser 'short': 7 bytes of raw data, expected 8\n"
        "  2. node '2' (Add): initialiser 'negative': negative extent -2\n"
        "  3. node '3' (Add): initialiser 'huge': extents [1099511627776,1099511627776] are too "
        "large\n"
        "  4. node '4' (Add): initialiser 'text': string elements are not supported");
}

}  // namespace stitch
