#include "frontend/node_order.h"

#include "support/catch.h"

namespace stitch {
namespace {

OnnxNode node(std::vector<std::string> inputs, std::vector<std::string> outputs) {
  OnnxNode result;
  result.inputs = std::move(inputs);
  result.outputs = std::move(outputs);
  return result;
}

}  // namespace

TEST_CASE("nodes in order stay in the order of the file") {
  const NodeOrder order =
      order_nodes({node({"x"}, {"a"}), node({"x"}, {"b"}), node({"b", "a"}, {"y"})}, {"y"});
  CHECK(order.nodes == std::vector<size_t>{0, 1, 2});
  CHECK(order.cycle.empty());
  CHECK(order.repeats.empty());
}

TEST_CASE("producers come first and unneeded nodes not at all") {
  const NodeOrder order =
      order_nodes({node({"a"}, {"y"}), node({"x"}, {"unused"}), node({"x"}, {"a"})}, {"y"});
  CHECK(order.nodes == std::vector<size_t>{2, 0});
}

TEST_CASE("a cycle is listed in the order of flow") {
  const NodeOrder order = order_nodes(
      {node({"c"}, {"a"}), node({"a"}, {"b"}), node({"b"}, {"c"}), node({"a"}, {"y"})}, {"y"});
  REQUIRE(order.cycle.size() == 3);
  for (size_t i = 0; i < 3; ++i) {
    CHECK(order.cycle[(i + 1) % 3] == (order.cycle[i] + 1) % 3);
  }
}

TEST_CASE("a name defined again is reported") {
  const NodeOrder order = order_nodes({node({"x"}, {"y"}), node({"x"}, {"y"})}, {"y"});
  CHECK(order.repeats == std::vector<size_t>{1});
}

TEST_CASE("names that a subgraph reads order the nodes") {
  OnnxGraph body;
  body.nodes.push_back(node({"late"}, {"r"}));
  body.outputs.emplace_back().name = "r";
  OnnxNode branch = node({"c"}, {"y"});
  OnnxAttribute& then_branch = branch.attributes.emplace_back();
  then_branch.name = "then_branch";
  then_branch.value = std::make_shared<const OnnxGraph>(body);
  const NodeOrder order = order_nodes({branch, node({"x"}, {"late"})}, {"y"});
  CHECK(order.nodes == std::vector<size_t>{1, 0});
}

}  // namespace stitch
