// The groups of a stage in order of reduce depth, and what is kept between them: values per row in
// registers, whole rows in arrays.
//
// Softmax, rows r and columns c:   group 0  keep x[c], max     group 1  keep exp[c], sum
//                                  group 2  store exp[c] / sum
#pragma once
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "planner/stage/stage_geometry.h"
#include "planner/structure/kernel_structure.h"

namespace stitch {

struct StageRoot {
  RootKind kind = RootKind::kStore;
  AccessNodeId node;
  AccessValueId value;
  Trace trace;  // up to placed values
  int depth = 0;
  Cascade cascade = {};
};

struct StageGroup {
  int depth = 0;
  std::vector<AtomId> columns;  // outer first; empty: values per row
  // Those of `columns` that its reduces keep, sorted; none where a block's rows are what they keep.
  std::vector<AtomId> inner_rows;
  std::vector<StageRoot> roots;
  bool once = false;  // stores that only the first of the blocks which share a row makes
};

// A value at every column that a later group needs again.
struct KeptValue {
  AccessValueId value;  // none: the read of an operand, kept by a copy
  AccessNodeId reader;
  size_t operand = 0;
  size_t first_group = 0;
  size_t last_group = 0;
  // Set by keep(): the first group that reads elements which other threads wrote, or 0; whether a
  // group over other columns reads it.
  size_t first_exchange = 0;
  bool foreign = false;
  // The first group that reads it at constant distances along the columns, or 0, and their greatest
  // common divisor: threads whose steps divide it read what they wrote themselves.
  size_t first_distant = 0;
  int64_t distance = 0;
};

struct StageGroups {
  std::vector<StageGroup> groups;
  std::vector<KeptValue> kept;
  // Rows that are alive at the same time if all of `kept` is kept.
  int live_arrays = 0;
};

class StageGrouper {
 public:
  StageGrouper(KernelNodes& nodes, const KernelStructure& structure, const Cluster& cluster,
               const StageGeometry& geometry);

  // A result of an earlier stage.
  void add_available(AccessValueId value) { available_[value] = 0; }

  // Else every root is a group by itself.
  void set_merges_dominants(bool merges) { merges_dominants_ = merges; }

  // Blocks share a row, or each computes it: the atoms that tell them apart, and the results that
  // they exchange. What has none of these atoms is stored by one block.
  void set_exchange(std::vector<AtomId> axes, const std::vector<AccessValueId>& exchanged) {
    shared_axes_ = std::move(axes);
    exchanged_.insert(exchanged.begin(), exchanged.end());
  }

  StageGroups find();
  // Where no row is kept: sums join the group of the reduce that they can follow, so that the row
  // is read once for both.
  void follow(StageGroups& groups) const;
  // Makes places of the kept values: copies of operands, roots in the groups that compute them.
  void keep(StageGroups& groups);
  // When threads cannot exchange kept values: what is read at other columns is computed again.
  void compute_moved_again(StageGroups& groups);
  // Values per row that were placed, and results of reduces.
  bool is_row_value(AccessValueId value) const { return available_.count(value) != 0; }

 private:
  std::vector<AtomId> columns_of(const StructureRoot& root) const;
  void place_row_values();
  void consider_row_value(const Piece& piece, const std::vector<AtomId>& columns);
  int depth_of(const Trace& trace) const;
  int meeting_depth(AccessValueId value) const;
  Trace trace(const StageRoot& root);
  void add(StageGroups& groups, StageRoot root, const std::vector<AtomId>& columns) const;
  bool can_follow(const StageRoot& root, const Cascade& cascade, int depth) const;
  Cascade find_leader(const StageGroups& groups, size_t group, const StageRoot& root,
                      size_t* leader_group) const;
  void find_kept(StageGroups& groups);
  bool is_stopped(AccessValueId value, bool own) const;
  void trace_again(StageGroups& groups);
  void find_reads(StageGroups& groups) const;
  void note_moved(KeptValue& kept, const TracedRead& read, std::span<const AtomId> columns,
                  size_t group) const;
  void drop(StageGroups& groups, AccessValueId value);

  KernelNodes& nodes_;
  const KernelStructure& structure_;
  const Cluster& cluster_;
  const StageGeometry& geometry_;
  ValueTracer tracer_;  // stops at is_stopped()
  // Depth from which a row value or the result of a reduce can be read.
  std::unordered_map<AccessValueId, int> available_;
  std::vector<AtomId> shared_axes_;
  std::unordered_set<AccessValueId> exchanged_;
  bool merges_dominants_ = true;
  std::vector<AccessValueId> row_values_;         // topological
  std::unordered_map<AccessValueId, bool> kept_;  // true: also read at other columns
};

}  // namespace stitch
