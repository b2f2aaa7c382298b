#include "planner/access/access_graph.h"

#include "graph/evaluate.h"
#include "graph/text_form.h"
#include "graph/validate.h"
#include "planner/access/access_prune.h"
#include "planner/access_evaluator.h"
#include "planner/random_graph.h"
#include "support/catch.h"

using namespace stitch;

namespace {

Graph parse(const std::string& body) {
  Graph graph = parse_graph("graph \"test\" {\n" + body + "\n}\n");
  validate(graph);
  return graph;
}

bool equal_elements(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.extents() != b.extents()) return false;
  for (int64_t i = 0; i < a.element_count(); ++i) {
    if (a.real(i) != b.real(i)) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("split heads are read by their own atoms") {
  const Graph graph = parse(R"(
    input %0 "x" : f32[1,8,12]
    input %1 "bias" : f32[12]
    %2 = broadcast(%1) {axes=[2]} : f32[1,8,12]
    %3 = add(%0, %2) : f32[1,8,12]
    %4 = reshape(%3) : f32[1,8,3,4]
    %5 = transpose(%4) {perm=[0, 2, 1, 3]} : f32[1,3,8,4]
    %6 = exp(%5) : f32[1,3,8,4]
    output "y" %6)");
  const AccessGraph access = build_access_graph(graph);
  REQUIRE(access.nodes.size() == 2);
  CHECK(access.node(AccessNodeId(0)).op == Op::k_add);
  const AccessNode& exp = access.node(AccessNodeId(1));
  REQUIRE(exp.axes.size() == 3);
  CHECK(access.pool.atom(exp.axes[0]).extent == 3);
  CHECK(access.pool.atom(exp.axes[1]).extent == 8);
  CHECK(access.pool.atom(exp.axes[2]).extent == 4);
  CHECK(is_aligned(access, exp.operands[0].pieces[0]));
  CHECK(is_aligned(access, access.node(AccessNodeId(0)).operands[1].pieces[0]));
}

TEST_CASE("a softmax is five nodes that share two atoms") {
  const Graph graph = parse(R"(
    input %0 "x" : f32[6,10]
    %1 = reduce(%0) {kind=max, axes=[1]} : f32[6]
    %2 = broadcast(%1) {axes=[0]} : f32[6,10]
    %3 = sub(%0, %2) : f32[6,10]
    %4 = exp(%3) : f32[6,10]
    %5 = reduce(%4) {kind=sum, axes=[1]} : f32[6]
    %6 = broadcast(%5) {axes=[0]} : f32[6,10]
    %7 = div(%4, %6) : f32[6,10]
    output "y" %7)");
  const AccessGraph access = build_access_graph(graph);
  REQUIRE(access.nodes.size() == 5);
  CHECK(access.pool.atom_count() == 2);
  for (const AccessNode& node : access.nodes) {
    for (const Read& read : node.operands) CHECK(is_aligned(access, read.pieces[0]));
  }
}

TEST_CASE("x plus its transpose keeps two atoms apart") {
  const Graph graph = parse(R"(
    input %0 "x" : f32[5,5]
    %1 = transpose(%0) {perm=[1, 0]} : f32[5,5]
    %2 = add(%0, %1) : f32[5,5]
    output "y" %2)");
  const AccessGraph access = build_access_graph(graph);
  const AccessNode& node = access.node(AccessNodeId(0));
  CHECK(node.axes[0] != node.axes[1]);
  CHECK(is_aligned(access, node.operands[0].pieces[0]));
  CHECK_FALSE(is_aligned(access, node.operands[1].pieces[0]));
}

TEST_CASE("padding is a guarded piece and its fill value") {
  const Graph graph = parse(R"(
    input %0 "x" : f32[4]
    %1 = constant {f32[] 7} : f32[]
    %2 = pad(%0, %1) {low=[1], high=[2]} : f32[7]
    %3 = neg(%2) : f32[7]
    output "y" %3)");
  const AccessGraph access = build_access_graph(graph);
  const Read& read = access.node(AccessNodeId(0)).operands[0];
  REQUIRE(read.pieces.size() == 2);
  REQUIRE(read.pieces[0].guards.size() == 1);
  CHECK(read.pieces[0].guards[0].low == 1);
  CHECK(read.pieces[0].guards[0].high == 5);
  CHECK(read.pieces[1].guards.empty());
  CHECK(read.pieces[1].index.empty());
}

TEST_CASE("a slice of a pad that stays inside has no guard") {
  const Graph graph = parse(R"(
    input %0 "x" : f32[4]
    %1 = constant {f32[] 7} : f32[]
    %2 = pad(%0, %1) {low=[1], high=[2]} : f32[7]
    %3 = slice(%2) {starts=[2], limits=[4], steps=[1]} : f32[2]
    %4 = neg(%3) : f32[2]
    output "y" %4)");
  const AccessGraph access = build_access_graph(graph);
  const Read& read = access.node(AccessNodeId(0)).operands[0];
  REQUIRE(read.pieces.size() == 1);
  CHECK(read.pieces[0].guards.empty());
  CHECK(access.pool.expr(read.pieces[0].index[0]).constant == 1);
}

TEST_CASE("a padded dim stays apart from the dims that a reshape joins to it") {
  const Graph graph = parse(R"(
    input %0 "x" : f32[6]
    %1 = constant {f32[] 0} : f32[]
    %2 = reshape(%0) : f32[2,3]
    %3 = pad(%2, %1) {low=[0, 1], high=[0, 1]} : f32[2,5]
    %4 = neg(%3) : f32[2,5]
    output "y" %4)");
  const AccessGraph access = build_access_graph(graph);
  const Piece& piece = access.node(AccessNodeId(0)).operands[0].pieces[0];
  const Expr& index = access.pool.expr(piece.index[0]);
  CHECK(index.constant == -1);
  REQUIRE(index.terms.size() == 2);
  for (const Term& term : index.terms) CHECK(term.kind == FactorKind::kAtom);
}

TEST_CASE("moved outputs, inputs and constants end in copies") {
  const Graph graph = parse(R"(
    input %0 "x" : f32[2,3]
    %1 = transpose(%0) {perm=[1, 0]} : f32[3,2]
    %2 = neg(%0) : f32[2,3]
    %3 = constant {f32[2] [1, 2]} : f32[2]
    output "moved" %1
    output "input" %0
    output "constant" %3
    output "computed" %2
    output "again" %2)");
  const AccessGraph access = build_access_graph(graph);
  CHECK(access.nodes.size() == 5);
  for (const AccessOutput& output : access.outputs) {
    CHECK(access.value(output.value).kind == AccessValueKind::kNode);
  }
  CHECK(access.outputs[3].value != access.outputs[4].value);
}

TEST_CASE("an iota used as an index disappears") {
  const Graph graph = parse(R"(
    input %0 "x" : f32[9]
    %1 = iota() {axis=0} : i64[4]
    %2 = gather(%0, %1) {axis=0} : f32[4]
    %3 = neg(%2) : f32[4]
    output "y" %3)");
  const AccessGraph access = build_access_graph(graph);
  REQUIRE(access.nodes.size() == 1);
  const Piece& piece = access.node(AccessNodeId(0)).operands[0].pieces[0];
  CHECK(access.pool.as_atom(piece.index[0]).valid());
}

TEST_CASE("nodes that nothing reads can be removed again and again") {
  const Graph graph = parse(R"(
    input %0 "x" : f32[9,4]
    input %1 "i" : i64[3]
    %2 = constant {f32[] 0} : f32[]
    %3 = gather(%0, %1) {axis=0} : f32[3,4]
    %4 = pad(%3, %2) {low=[1, 0], high=[1, 0]} : f32[5,4]
    %5 = neg(%4) : f32[5,4]
    output "y" %5)");
  AccessGraph access = build_access_graph(graph);
  // An index read of which no node knows any more: its source goes, and stays gone.
  AccessNode& neg = access.nodes[0];
  neg.operands[0].pieces = {neg.operands[0].pieces[1]};
  access.inputs = {access.inputs[0]};
  for (int round = 0; round < 2; ++round) remove_unread_nodes(access);
  CHECK(access.nodes.size() == 1);
  CHECK(access.values.size() == 3);  // x, the fill value, y
  for (const Read& read : access.reads) CHECK_FALSE(read.pieces[0].source.valid());
}

TEST_CASE("a concat of many parts is written out once") {
  std::string body = "input %0 \"x\" : f32[2,3]\n";
  std::string list;
  for (int i = 1; i <= 20; ++i) {
    body += "%" + std::to_string(i) + " = exp(%0) : f32[2,3]\n";
    list += (i > 1 ? ", %" : "%") + std::to_string(i);
  }
  body += "%21 = concat(" + list + ") {axis=0} : f32[40,3]\n%22 = neg(%21) : f32[40,3]\n" +
          "output \"y\" %22";
  const Graph graph = parse(body);
  const AccessGraph access = build_access_graph(graph);
  const AccessNode& neg = access.nodes.back();
  CHECK(neg.op == Op::k_neg);
  CHECK(neg.operands[0].pieces.size() == 1);
  const AccessValueId copy = neg.operands[0].pieces[0].source;
  CHECK(access.node(access.value(copy).producer).operands[0].pieces.size() == 20);
}

TEST_CASE("reads of random graphs give what the graph's evaluator gives") {
  int64_t compared = 0;
  for (uint32_t seed = 0; seed < 400; ++seed) {
    const RandomGraph random = make_random_graph(seed, 4 + static_cast<int>(seed % 24));
    validate(random.graph);
    const auto expected = evaluate(random.graph, random.inputs, EvaluationPrecision::kNative);
    const AccessGraph access = build_access_graph(random.graph);
    const auto found = evaluate_access(access, random.inputs);
    REQUIRE(found.size() == expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
      INFO("seed " << seed << ", output " << i << "\n"
                   << print_graph(random.graph) << to_string(access));
      if (!equal_elements(found[i], expected[i])) FAIL("the outputs differ");
      compared += found[i].element_count();
    }
  }
  CHECK(compared > 10000);
}
