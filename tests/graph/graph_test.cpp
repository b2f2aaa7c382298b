#include "graph/graph.h"

#include "graph/bind_dims.h"
#include "graph/error.h"
#include "graph/text_form.h"
#include "graph/validate.h"
#include "support/catch.h"

using namespace stitch;

TEST_CASE("values know their producer and every use") {
  const Graph graph = parse_graph(
      "graph \"t\" {\ninput %x \"x\" : f32[4]\n%a = neg(%x)\n%b = add(%a, %a)\n%c = mul(%b, %x)\n"
      "output \"c\" %c\n}");
  const Value& a = graph.value(ValueId(1));
  REQUIRE(a.producer == NodeId(0));
  REQUIRE(a.uses.size() == 2);
  REQUIRE(a.uses[1].node == NodeId(1));
  REQUIRE(a.uses[1].operand == 1);
  REQUIRE(graph.value(ValueId(0)).uses.size() == 2);
  REQUIRE(!graph.value(ValueId(0)).producer.valid());
}

TEST_CASE("nodes are described by their ONNX node, their result or their id") {
  const Graph graph = parse_graph(
      "graph \"t\" {\ninput %x \"x\" : f32[4]\n%a = neg(%x)  # /encoder/Neg (Neg)\n"
      "%b \"scores\" = neg(%a)\n%c = neg(%b)\n}");
  REQUIRE(graph.describe(NodeId(0)) == "/encoder/Neg (Neg)");
  REQUIRE(graph.describe(NodeId(1)) == "scores (neg)");
  REQUIRE(graph.describe(NodeId(2)) == "%3 (neg)");
}

TEST_CASE("a node with the attributes of another op is refused") {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kF32, {4}});
  REQUIRE_THROWS_WITH(graph.add(Op::k_reduce, {x}, TransposeAttributes{{0}}),
                      "a reduce node carries the attributes of another op");
  REQUIRE_THROWS_WITH(graph.add(Op::k_neg, {ValueId(7)}),
                      "a neg node uses a value that does not exist");
}

TEST_CASE("validation names a result whose type is not the inferred one") {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kF32, {4}});
  graph.add_typed_node(
      {.op = Op::k_neg, .attributes = {}, .operands = {x}, .results = {}, .sources = {}},
      {{DType::kF32, {5}}});
  REQUIRE_THROWS_WITH(validate(graph),
                      "the graph is broken at %1 (neg): result %1 is f32[5], inferred f32[4]");
}

TEST_CASE("binding dims makes extents constant everywhere and keeps the rest") {
  const Graph graph = parse_graph(
      "graph \"t\" {\ninput %x \"x\" : f32[batch,seq]\n"
      "%a = slice(%x) {starts=[0, 1], limits=[batch, seq], steps=[1, 1]}  # s (Slice)\n"
      "%b = reshape(%a) : f32[batch*seq-batch]\noutput \"b\" %b\n}");
  const Graph bound = bind_dims(graph, {{"batch", 2}, {"seq", 8}});
  validate(bound);
  REQUIRE(print_graph(bound) ==
          "graph \"t\" {\n  input %0 \"x\" : f32[2,8]\n"
          "  %1 = slice(%0) {starts=[0, 1], limits=[2, 8], steps=[1, 1]} : f32[2,7]  # s (Slice)\n"
          "  %2 = reshape(%1) : f32[14]\n  output \"b\" %2\n}\n");
  REQUIRE_THROWS_AS(bind_dims(graph, {{"batch", 2}, {"seq", 0}}), ModelError);
}

TEST_CASE("16-bit floats convert exactly both ways") {
  for (int bits = 0; bits < 0x10000; ++bits) {
    const auto pattern = static_cast<uint16_t>(bits);
    const double half = f16_value(pattern);
    const double brain = bf16_value(pattern);
    if (half == half) REQUIRE(f16_bits(half) == pattern);
    if (brain == brain) REQUIRE(bf16_bits(brain) == pattern);
  }
  REQUIRE(f16_bits(65519.999) == 0x7bff);
  REQUIRE(f16_bits(65520) == 0x7c00);
  REQUIRE(f16_bits(0x1p-25) == 0);         // a tie with 0
  REQUIRE(f16_bits(0x1.000001p-25) == 1);  // just above it
  REQUIRE(f16_bits(-0x1p-26) == 0x8000);
  REQUIRE(bf16_bits(3.3961775292304601e38) == 0x7f80);  // above the largest by half a step
}

TEST_CASE("a tensor copies its bytes before writing when they are shared") {
  Tensor a = Tensor::of_integers(DType::kI32, {1, 2, 3});
  Tensor b = a;
  b.set_integer(0, 9);
  REQUIRE(a.integer(0) == 1);
  REQUIRE(b.integer(0) == 9);
  const std::byte* before = b.bytes().data();
  b.set_integer(1, 8);
  REQUIRE(b.bytes().data() == before);
}
