#include "frontend/signature.h"

#include "frontend/model_builder.h"
#include "support/catch.h"

namespace stitch {

TEST_CASE("a signature lists inputs that are no initialisers, outputs, opset and node count") {
  const TemporaryFolder folder;
  ModelBuilder model(13);
  model.input("x", DType::kI64, {"batch", "4", ""})
      .input("w", DType::kF32, {"2"})
      .initializer("w", f32({2}, {1, 2}))
      .node("Abs", {"x"}, {"y"})
      .node("Constant", {}, {"c"}, {{"value_int", int64_t{1}}})
      .output("y");
  const ModelSignature s = read_signature(model.save(folder.path() / "m.onnx"));
  REQUIRE(s.inputs.size() == 1);
  CHECK(s.inputs[0].name == "x");
  CHECK(s.inputs[0].dtype == DType::kI64);
  REQUIRE(s.inputs[0].dims.size() == 3);
  CHECK(s.inputs[0].dims[0].name == "batch");
  CHECK(s.inputs[0].dims[1].extent == 4);
  CHECK(s.inputs[0].dims[2].name == "x.2");
  REQUIRE(s.outputs.size() == 1);
  CHECK(s.outputs[0].name == "y");
  CHECK(s.opset == 13);
  CHECK(s.node_count == 1);
}

TEST_CASE("dims are bound from the extents of inputs; a second extent by input and axis") {
  ModelSignature s;
  s.inputs.push_back(
      {"a", DType::kF32, true, {{.extent = {}, .name = "n"}, {.extent = 4, .name = ""}}});
  s.inputs.push_back({"b", DType::kF32, true, {{.extent = {}, .name = "n"}}});
  CHECK(bind_dims(s, {{"a", f32({2, 4}, {})}, {"b", f32({2}, {})}}) == DimBindings{{"n", 2}});
  CHECK(bind_dims(s, {{"a", f32({2, 4}, {})}, {"b", f32({3}, {})}}) ==
        DimBindings{{"n", 2}, {"b.0", 3}});
}

}  // namespace stitch
