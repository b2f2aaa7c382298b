// The access graph: arithmetic nodes only; every operand is a read of a source value through the
// composed movement ops, written as index expressions over the consumer's axis atoms.
//
// Movement ops are no nodes. conv is a contraction whose reads add kernel offsets; pooling is a
// reduce over window atoms; pad, concat and slice are guarded pieces of a read; iota is an
// expression. (architecture.md 1, stitching.md 6a)
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"
#include "graph/tensor.h"
#include "planner/access/index_expr.h"

namespace stitch {

using AccessNodeId = Id<struct AccessNodeTag>;
using AccessValueId = Id<struct AccessValueTag>;

// low <= expr < high
struct Guard {
  ExprId expr;
  int64_t low = 0;
  int64_t high = 0;
  friend bool operator==(const Guard&, const Guard&) = default;
};

// One alternative of a read: element source[index...], valid where all guards hold.
struct Piece {
  AccessValueId source;
  std::vector<ExprId> index;  // one per dim of the source
  std::vector<Guard> guards;
  friend bool operator==(const Piece&, const Piece&) = default;
};

// The first piece whose guards hold is read; the last piece has no guards (a pad's fill value is a
// scalar constant source there). An index may leave the source where the guards of its piece fail.
struct Read {
  std::vector<Piece> pieces;
  friend bool operator==(const Read&, const Read&) = default;
};

enum class AccessKind : uint8_t {
  kElementwise,  // one element per point of `axes`; also copy (op bitcast to the same dtype)
  kIndex,        // iota: the value of `expression`
  kReduce,       // over `reduced`, result over `axes`; reduce and reduce_window
  kArgReduce,    // the result is `expression` at the point of `reduced` that wins
  kContraction,  // sum over `reduced` of operand 0 times operand 1; operands 2 and 3, where there
                 // are such, are added to the sum (library calls only, see absorb_bias.h and
                 // absorb_residual.h)
  kScan,         // cumulative along the atoms `reduced`, which `axes` holds too
  kSort,         // top_k: operand 0 is read over `axes` without the atoms of the dim of attribute
                 // `axis` of the results, and over `reduced`, the whole of that dim
  kScatter,   // operand 0, read over `axes`, is copied; then for each point of `reduced` operand 1
              // updates the element `target`. A dim whose target is none is taken from operands
              // 2, 3, ... in turn: wrapped once if negative; outside of the result: no update
  kAssembly,  // a copy whose pieces are computed in place; nothing is left to do (assembly.h)
};

// Of one read; a value that is moved together from more is written out by a copy node.
constexpr size_t kMostPieces = 16;

// The node of the model that an access node stands for, whatever is folded into it later and
// whatever the extents are: the ordinal counts nodes of one op from one ONNX node.
struct NodeOrigin {
  SourceId source;   // the first; none: it has none
  int ordinal = -1;  // < 0: inserted by the planner
};

struct AccessNode {
  AccessKind kind = AccessKind::kElementwise;
  Op op = Op::k_add;
  Attributes attributes;
  std::vector<Read> operands;
  std::vector<AtomId> axes;     // iteration atoms of the result, row-major over its dims
  std::vector<AtomId> reduced;  // iteration atoms that the result no longer has, outer first
  std::vector<Guard> guards;    // points of axes x reduced where one fails do not exist: padding of
                                // argwindow, the ragged end of a split atom
  ExprId expression;            // kIndex, kArgReduce
  std::vector<ExprId> target;   // kScatter: per dim of the result
  double scale = 1;             // kContraction: factor of the sum, before operands are added; not 1
                                // in library calls only, see absorb_scale.h
  std::vector<AccessValueId> results;
  std::vector<SourceId> sources;
  int depth = 0;  // contractions on the longest path to the node (stitching.md 6b)
  // The contraction in whose kernel the node is computed (epilogue.h, prologue.h); none: a node of
  // a region.
  AccessNodeId computed_with;
  NodeOrigin origin;
};

enum class AccessValueKind : uint8_t { kInput, kConstant, kNode };

struct AccessValue {
  static constexpr uint32_t kNoFill = 0xffffffffu;

  AccessValueKind kind = AccessValueKind::kNode;
  DType dtype = DType::kF32;
  std::vector<std::vector<AtomId>> dims;  // per dim its atoms, row-major; extent 1: none
  std::vector<int64_t> extents;
  std::vector<int64_t> strides;  // per dim, in elements: the order of storage; row-major at first
  AccessNodeId producer;         // kNode
  int result = 0;
  ValueId graph_value;      // the value of the graph that it stands for; none for fills
  uint32_t fill = kNoFill;  // kConstant that the graph does not have: AccessGraph::fills
  std::string name;
};

struct AccessOutput {
  std::string name;
  AccessValueId value;  // a node's result; movement, inputs and constants end in a copy node, and
                        // so does the second output of one value
};

struct AccessGraph {
  const Graph* graph = nullptr;  // constants and provenance
  IndexPool pool;
  // Of ReadId: integer tensors read inside index expressions. What is read is wrapped once if
  // negative and clamped to 0 .. pool.read_range(id).high. Some entries may be unused.
  std::vector<Read> reads;
  std::vector<AccessNode> nodes;  // topological
  std::vector<AccessValue> values;
  std::vector<AccessValueId> inputs;  // in the order of the graph's inputs
  std::vector<AccessOutput> outputs;
  std::vector<Tensor> fills;  // scalars: identities of reductions, zero padding

  const AccessNode& node(AccessNodeId id) const { return nodes[id.index]; }
  const AccessValue& value(AccessValueId id) const { return values[id.index]; }
  // The tensor of a constant value, or null.
  const Tensor* constant(AccessValueId id) const;
  // The scalar constant `tensor`, shared between equal requests.
  AccessValueId add_fill(const Tensor& tensor);
  // An index expression that is the element read, for a dim of `extent` elements; equal reads have
  // equal ids.
  ExprId read_index(const Read& read, int64_t extent);

  std::unordered_multimap<uint64_t, ReadId> reads_by_hash;
};

// All dims of the graph must be constant. Unifies atoms over the whole graph, composes movement
// ops into reads, materialises a copy node only where an output is a moved value or a read would
// have more than 16 pieces. ModelError for ops that have no access form (loop, branch, nms).
AccessGraph build_access_graph(const Graph& graph);

// Rebuilds the table behind read_index after reads were renumbered.
void rehash_reads(AccessGraph& graph);

// True when `piece`, read by a node, is the source's own atoms one to one (no guard, no movement):
// the consumer needs exactly the element with the same indices.
bool is_aligned(const AccessGraph& graph, const Piece& piece);

// Every value that the node reads, those inside of index expressions too; sorted, without
// duplicates.
std::vector<AccessValueId> sources_of(const AccessGraph& graph, const AccessNode& node);

// The atoms of a dim as one index.
ExprId dim_index(IndexPool& pool, const std::vector<AtomId>& atoms);
// One expression per dim of the value: its own atoms.
std::vector<ExprId> own_index(AccessGraph& graph, AccessValueId value);

std::string to_string(const AccessGraph& graph);

}  // namespace stitch
