// Composes movement ops into reads: walks from an operand back to a value that exists, rewriting
// the index on the way.
//
//   x[8,4] -> transpose [4,8] -> slice 2.. on axis 1 -> [4,6], read at (i, j)   gives   x[j + 2, i]
#pragma once
#include <map>
#include <vector>

#include "graph/graph.h"
#include "planner/access/access_graph.h"

namespace stitch {

// What is read where `guards` hold.
struct GuardedRead {
  bool ever = true;  // false: the guards cannot hold
  std::vector<Guard> guards;
  Read read;
};

class ReadComposer {
 public:
  ReadComposer(const Graph& graph, AccessGraph& access);

  // From now on reads of `value` end at `at`.
  void place(ValueId value, AccessValueId at) { placed_[value.index] = at; }
  AccessValueId placed(ValueId value) const { return placed_[value.index]; }

  Read read(ValueId value, const std::vector<ExprId>& index);
  // A read whose index may leave the value or that has conditions of its own (windows): the guards
  // say where it exists.
  GuardedRead read_inside(ValueId value, const std::vector<ExprId>& index,
                          const std::vector<Guard>& conditions);
  // Pieces that a read of `value` would have.
  size_t piece_count(ValueId value) const;

 private:
  using Index = std::vector<ExprId>;
  using Guards = std::vector<Guard>;
  // One read in the making. An index with a guard is kept as a scratch atom until the end, so that
  // everything downstream is simplified by the range that the guard gives it.
  struct Draft {
    Read read;
    IndexPool::AtomMap meaning;  // of scratch atoms, in atoms of the consumer
    std::vector<AtomId> scratch;
  };

  std::vector<int64_t> extents(ValueId value) const {
    return constant_extents(graph_.type(value).shape);
  }
  Read finish(Draft& draft);
  bool inside(Draft& draft, Guards& guards, ExprId& index, int64_t extent);
  void element(Draft& draft, ValueId value, Index index, const Guards& guards);
  void add_piece(Draft& draft, ValueId value, Index index, const Guards& guards);
  void moved_element(Draft& draft, const Node& node, const Index& index, const Guards& guards);
  void padded_element(Draft& draft, const Node& node, Index index, const Guards& guards);
  void joined_element(Draft& draft, const Node& node, const Index& index, const Guards& guards);
  void gathered_element(Draft& draft, const Node& node, const Index& index, const Guards& guards);
  Index reshaped(const Node& node, const Index& index);
  ExprId reflected(ExprId index, int64_t extent);
  ExprId index_from(ValueId indices, const Index& index, int64_t extent);
  ExprId folded_index(const Read& read, int64_t extent);
  ExprId affine_constant(const Piece& piece);
  ExprId normalised(ExprId index, int64_t extent);

  const Graph& graph_;
  AccessGraph& access_;
  std::vector<AccessValueId> placed_;                  // of ValueId
  std::map<int64_t, std::vector<AtomId>> free_atoms_;  // scratch atoms not in use, by extent
};

// Ops that have no node: reads go through them.
bool is_composed(const Graph& graph, const Node& node);

}  // namespace stitch
