// The access graph: arithmetic nodes only; every operand is a read of a source value through the
// composed movement ops, written as index expressions over the consumer's axis atoms.
//
// Movement ops are no nodes. conv is a contraction whose reads add kernel offsets; pooling is a
// reduce over window atoms; pad, concat and slice are guarded pieces of a read; iota is an
// expression. (architecture.md 1, stitching.md 6a)
#pragma once
#include <string>
#include <vector>

#include "graph/graph.h"
#include "planner/index_expr.h"

namespace stitch {

using AccessNodeId = Id<struct AccessNodeTag>;
using AccessValueId = Id<struct AccessValueTag>;

// low <= expr < high
struct Guard {
  ExprId expr;
  int64_t low = 0;
  int64_t high = 0;
};

// One alternative of a read: element source[index...], valid where all guards hold.
struct Piece {
  AccessValueId source;
  std::vector<ExprId> index;  // one per dim of the source
  std::vector<Guard> guards;
};

// The first piece whose guards hold is read; the last piece has no guards (a pad's fill value is a
// scalar constant source there).
struct Read {
  std::vector<Piece> pieces;
};

enum class AccessKind : uint8_t {
  kElementwise,  // one element per point of `axes`; also copy (op bitcast to the same dtype)
  kIndex,        // iota: the value of `expression`
  kReduce,       // over `reduced`, result over `axes`
  kArgReduce,
  kContraction,  // sum over `reduced` of operand 0 times operand 1
  kScan,         // cumulative: op attributes name the axis; axes.back() is the scanned atom
  kSort,         // top_k
  kScatter,      // operand 0 copied, then updated
};

struct AccessNode {
  AccessKind kind = AccessKind::kElementwise;
  Op op = Op::k_add;
  Attributes attributes;
  std::vector<Read> operands;
  std::vector<AtomId> axes;     // iteration atoms of the result, row-major over its dims
  std::vector<AtomId> reduced;  // iteration atoms that the result no longer has
  ExprId expression;            // kIndex
  std::vector<AccessValueId> results;
  std::vector<SourceId> sources;
  int depth = 0;  // contractions on the longest path to the node (stitching.md 6b)
};

enum class AccessValueKind : uint8_t { kInput, kConstant, kNode };

struct AccessValue {
  AccessValueKind kind = AccessValueKind::kNode;
  DType dtype = DType::kF32;
  std::vector<std::vector<AtomId>> dims;  // per dim its atoms, row-major; extent 1: none
  std::vector<int64_t> extents;
  AccessNodeId producer;  // kNode
  int result = 0;
  ValueId graph_value;  // the value of the graph that it stands for
  std::string name;
};

struct AccessOutput {
  std::string name;
  AccessValueId value;  // a node's result, an input or a constant; movement ended in a copy node
};

struct AccessGraph {
  const Graph* graph = nullptr;  // constants and provenance
  IndexPool pool;
  std::vector<Read> reads;  // of ReadId: integer tensors read inside index expressions; an index
                            // that is read is wrapped once if negative and clamped to the range
  std::vector<AccessNode> nodes;  // topological
  std::vector<AccessValue> values;
  std::vector<AccessValueId> inputs;  // in the order of the graph's inputs
  std::vector<AccessOutput> outputs;

  const AccessNode& node(AccessNodeId id) const { return nodes[id.index]; }
  const AccessValue& value(AccessValueId id) const { return values[id.index]; }
};

// All dims of the graph must be constant. Unifies atoms over the whole graph, composes movement
// ops into reads, materialises a copy node only where an output is a moved value.
AccessGraph build_access_graph(const Graph& graph);

// True when `piece`, read by a node, is the source's own atoms one to one (no guard, no movement):
// the consumer needs exactly the element with the same indices.
bool is_aligned(const AccessGraph& graph, const Piece& piece);

std::string to_string(const AccessGraph& graph);

}  // namespace stitch
