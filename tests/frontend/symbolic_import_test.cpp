// Extents that stay symbols: shape arithmetic still folds, and only the missing binding is
// reported.
#include "frontend/model_builder.h"
#include "support/catch.h"

namespace stitch {

TEST_CASE("an unbound symbol passes through shape arithmetic without further problems") {
  ModelBuilder model;
  model.input("x", DType::kF32, {"batch", "seq", "6"})
      .initializer("first", i64({1}, {0}))
      .initializer("second", i64({1}, {1}))
      .initializer("heads", i64({2}, {2, 3}))
      .initializer("minus_one", i64({}, {-1}))
      .node("Shape", {"x"}, {"shape"})
      .node("Gather", {"shape", "first"}, {"batch"})
      .node("Gather", {"shape", "second"}, {"seq"})
      .node("Mul", {"batch", "seq"}, {"rows"})
      .node("Concat", {"rows", "heads"}, {"target"}, {{"axis", int64_t{0}}})
      .node("Equal", {"target", "minus_one"}, {"is_open"})
      .node("Where", {"is_open", "target", "target"}, {"chosen"})
      .node("Reshape", {"x", "chosen"}, {"y"})
      .output("y");
  CHECK(model.import_error() ==
        "2 problems in 'model.onnx':\n"
        "  1. input 'x' has the unbound dimension 'batch'\n     help: pass --dim batch=8\n"
        "  2. input 'x' has the unbound dimension 'seq'\n     help: pass --dim seq=8");
}

TEST_CASE("an unsupported operator is reported beside an unbound symbol") {
  ModelBuilder model;
  model.input("x", DType::kF32, {"batch"})
      .initializer("w", f32({3}, {}))
      .node("Frobnicate", {"w"}, {"a"}, {}, {.name = "odd"})
      .node("Add", {"x", "a"}, {"y"})
      .output("y");
  CHECK(model.import_error() ==
        "2 problems in 'model.onnx':\n"
        "  1. input 'x' has the unbound dimension 'batch'\n     help: pass --dim batch=8\n"
        "  2. node 'odd' (Frobnicate): the operator is not supported");
}

}  // namespace stitch
