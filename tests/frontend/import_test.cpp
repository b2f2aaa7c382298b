// Importing whole models: names, constants, interfaces, functions, control flow.
#include <algorithm>

#include "frontend/import_onnx.h"
#include "frontend/model_builder.h"
#include "graph/evaluate.h"
#include "graph/validate.h"
#include "support/catch.h"

namespace stitch {
namespace {

size_t count_ops(const Graph& graph, Op op) {
  size_t count = 0;
  for (size_t i = 0; i < graph.node_count(); ++i) count += graph.node(NodeId(i)).op == op ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("an imported graph has the inputs, outputs and names of the model") {
  ModelBuilder model;
  model.input("x", DType::kF32, {"batch", "4"})
      .node("Relu", {"x"}, {"y"}, {}, {.name = "first"})
      .output("y");
  const Graph graph = model.import({.dims = {{"batch", 2}}}).graph;
  validate(graph);
  REQUIRE(graph.inputs().size() == 1);
  CHECK(graph.value(graph.inputs()[0]).name == "x");
  CHECK(to_string(graph.type(graph.inputs()[0])) == "f32[2,4]");
  REQUIRE(graph.outputs().size() == 1);
  CHECK(graph.outputs()[0].name == "y");
  const Value& y = graph.value(graph.outputs()[0].value);
  CHECK(y.name == "y");
  REQUIRE(graph.node(y.producer).sources.size() == 1);
  CHECK(graph.source(graph.node(y.producer).sources[0]).name == "first");
  CHECK(graph.onnx_node_count == 1);
}

TEST_CASE("a node without a name is known by its first output") {
  ModelBuilder model;
  model.input("x", DType::kF32, {"1"}).node("Abs", {"x"}, {"a/b:0"}).output("a/b:0");
  const Graph graph = model.import().graph;
  const NodeId abs = graph.value(graph.outputs()[0].value).producer;
  CHECK(graph.source(graph.node(abs).sources[0]).name == "a/b:0");
}

TEST_CASE("shape arithmetic of a reshape leaves no node in the graph") {
  ModelBuilder model;
  model.input("x", DType::kF32, {"batch", "seq", "6"})
      .initializer("zero", i64({}, {0}))
      .initializer("heads", i64({2}, {3, -1}))
      .initializer("axes", i64({1}, {0}))
      .node("Shape", {"x"}, {"shape"})
      .node("Gather", {"shape", "zero"}, {"batch"})
      .node("Unsqueeze", {"batch", "axes"}, {"batch_1"})
      .node("Concat", {"batch_1", "heads"}, {"target"}, {{"axis", int64_t{0}}})
      .node("Reshape", {"x", "target"}, {"y"})
      .output("y");
  const Graph graph = model.import({.dims = {{"batch", 2}, {"seq", 4}}}).graph;
  CHECK(graph.node_count() == 1);
  CHECK(to_string(graph.type(graph.outputs()[0].value)) == "f32[2,3,8]");
}

TEST_CASE("a division of float shapes is folded in float32") {
  ModelBuilder model(11);
  model.input("x", DType::kF32, {"7"})
      .initializer("half", f32({}, {0.5}))
      .node("Shape", {"x"}, {"shape"})
      .node("Cast", {"shape"}, {"float"}, {{"to", int64_t{1}}})
      .node("Mul", {"float", "half"}, {"scaled"})
      .node("Floor", {"scaled"}, {"floor"})
      .node("Cast", {"floor"}, {"size"}, {{"to", int64_t{7}}})
      .node("ConstantOfShape", {"size"}, {"y"})
      .output("y");
  CHECK(reals(model.run({{"x", f32({7}, {})}})[0]) == std::vector<double>{0, 0, 0});
}

TEST_CASE("an initialiser that is also listed as an input is a constant") {
  ModelBuilder model;
  model.input("x", DType::kF32, {"2"})
      .input("w", DType::kF32, {"2"})
      .initializer("w", f32({2}, {10, 20}))
      .node("Add", {"x", "w"}, {"y"})
      .output("y");
  CHECK(model.import().graph.inputs().size() == 1);
  CHECK(reals(model.run({{"x", f32({2}, {1, 2})}})[0]) == std::vector<double>{11, 22});
}

TEST_CASE("a bound input becomes a constant that shapes may depend on") {
  ModelBuilder model;
  model.input("x", DType::kF32, {"6"})
      .input("shape", DType::kI64, {"2"})
      .node("Reshape", {"x", "shape"}, {"y"})
      .output("y");
  const Graph graph = model.import({.bound_inputs = {{"shape", i64({2}, {2, 3})}}}).graph;
  CHECK(graph.inputs().size() == 1);
  CHECK(to_string(graph.type(graph.outputs()[0].value)) == "f32[2,3]");
}

TEST_CASE("nodes out of order are sorted") {
  ModelBuilder model;
  model.input("x", DType::kF32, {"1"})
      .node("Neg", {"a"}, {"y"})
      .node("Abs", {"x"}, {"a"})
      .output("y");
  CHECK(reals(model.run({{"x", f32({1}, {-3})}})[0]) == std::vector<double>{-3});
}

TEST_CASE("a node that no output needs is not imported, supported or not") {
  ModelBuilder model;
  model.input("x", DType::kF32, {"1"})
      .node("Abs", {"x"}, {"y"})
      .node("StringNormalizer", {"x"}, {"unused"})
      .output("y");
  CHECK(model.import().graph.node_count() == 1);
}

TEST_CASE("functions of the model are inlined, with attributes and nested calls") {
  ModelBuilder inner;
  inner.input("a", DType::kF32, {"1"})
      .node("LeakyRelu", {"a"}, {"b"})
      .attribute_reference("alpha", "slope")
      .output("b");
  ModelBuilder outer;
  outer.import_domain("local", 1)
      .input("p", DType::kF32, {"1"})
      .node("Inner", {"p"}, {"q"}, {}, {.domain = "local"})
      .attribute_reference("slope", "slope")
      .node("Neg", {"q"}, {"r"})
      .output("r");
  ModelBuilder model;
  model.import_domain("local", 1)
      .input("x", DType::kF32, {"1"})
      .node("Outer", {"x"}, {"y"}, {{"slope", 0.25f}}, {.name = "call", .domain = "local"})
      .output("y")
      .function("local", "Inner", inner, {"slope"})
      .function("local", "Outer", outer, {"slope"});
  CHECK(reals(model.run({{"x", f32({1}, {-8})}})[0]) == std::vector<double>{2});
  const Graph graph = model.import().graph;
  CHECK(graph.source(graph.node(NodeId(graph.node_count() - 1)).sources[0]).name == "call/r");
}

TEST_CASE("a branch whose condition is known is taken and reads values outside") {
  ModelBuilder then_branch;
  then_branch.node("Neg", {"x"}, {"t"}).output("t");
  ModelBuilder else_branch;
  else_branch.node("Abs", {"x"}, {"e"}).output("e");
  ModelBuilder model;
  model.input("x", DType::kF32, {"3"})
      .initializer("three", i64({1}, {3}))
      .node("Shape", {"x"}, {"shape"})
      .node("Equal", {"shape", "three"}, {"is_three"})
      .node("If", {"is_three"}, {"y"},
            {{"then_branch", &then_branch}, {"else_branch", &else_branch}})
      .output("y");
  CHECK(reals(model.run({{"x", f32({3}, {1, -2, 3})}})[0]) == std::vector<double>{-1, 2, -3});
}

TEST_CASE("declared types that are wrong are ignored with a note") {
  ModelBuilder model;
  model.input("x", DType::kF32, {"3"})
      .node("Abs", {"x"}, {"a"})
      .node("Neg", {"a"}, {"y"})
      .value_info("a", DType::kF32, {"5"})
      .output("y");
  const ImportResult result = model.import();
  CHECK(to_string(result.graph.type(result.graph.outputs()[0].value)) == "f32[3]");
  CHECK(result.notes ==
        std::vector<std::string>{"1 declared types are wrong and were ignored; the first: 'a' is "
                                 "declared float32[5], inferred float32[3]"});
}

TEST_CASE("one symbol for two extents is told apart by input and axis") {
  ModelBuilder model;
  model.input("x", DType::kF32, {"n"}).input("y", DType::kF32, {"n"});
  model.node("Concat", {"x", "y"}, {"z"}, {{"axis", int64_t{0}}}).output("z");
  const Graph graph = model.import({.dims = {{"n", 2}, {"y.0", 3}}}).graph;
  CHECK(to_string(graph.type(graph.outputs()[0].value)) == "f32[5]");
}

TEST_CASE("layer normalisation becomes a mean, a variance of distances and no composite") {
  ModelBuilder model;
  model.input("x", DType::kF16, {"2", "8"})
      .initializer("scale", Tensor(DType::kF16, {8}))
      .node("LayerNormalization", {"x", "scale"}, {"y"})
      .output("y");
  const Graph graph = model.import().graph;
  CHECK(count_ops(graph, Op::k_reduce) == 2);
  CHECK(count_ops(graph, Op::k_cast) == 2);  // float32 in between
  CHECK(count_ops(graph, Op::k_sqrt) == 1);
}

TEST_CASE("checking counts nodes and lists problems without throwing") {
  ModelBuilder model;
  model.input("x", DType::kF32, {"1"})
      .node("Abs", {"x"}, {"a"})
      .node("Frobnicate", {"a"}, {"y"}, {}, {.name = "odd"})
      .output("y");
  const CheckReport report = model.check();
  CHECK(report.node_count == 2);
  CHECK(report.opset == 17);
  REQUIRE(report.problems.size() == 1);
  CHECK(to_string(report.problems[0]) == "node 'odd' (Frobnicate): the operator is not supported");
}

}  // namespace stitch
