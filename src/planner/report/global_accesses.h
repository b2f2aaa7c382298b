// The accesses to global memory that the threads of a group make, as the emitter writes them: which
// elements, in which loop, by which threads, and whether one access takes a whole vector.
//
// The walk follows the emitter's: a value is loaded once per place in the loops of a group, where
// all that its address depends on is known. Worked example, softmax over [rows, columns] with
// vectors of 4:  scores[row, column]  is one vector access per step and thread, a mask[row] one
// access of every thread per row, the store of row_max[row] one access of each row's first thread.
#pragma once
#include <map>
#include <set>
#include <vector>

#include "planner/plan/plan.h"

namespace stitch {

// The loops of a group, outer first.
enum class AccessLevel : uint8_t { kStage, kRow, kInnerRow, kStep };

// All guards hold, or (negated) one of them fails.
struct AccessCondition {
  std::vector<Guard> guards;
  bool negated = false;
};

struct GlobalAccess {
  ExprId offset;  // elements, over the coordinates of the group
  int64_t element_bytes = 4;
  int64_t base = 0;  // byte of the buffer at offset 0, from an address that is aligned
  AccessLevel level = AccessLevel::kStep;
  bool lanes = false;   // moves along the vector's lanes
  bool vector = false;  // all lanes at once
  bool store = false;
  bool result = false;    // of the first thread of a row, behind the loops over columns
  bool row_sums = false;  // of the first team of a block, behind all its rows
  std::vector<AccessCondition> conditions;
  std::vector<AtomId> loops;  // of loops inside of a thread; the access is made in each iteration
};

// An index that a tensor holds: unknown, but the same at the same point.
struct GatheredIndex {
  AtomId atom;
  std::vector<ExprId> from;  // where it is read
};

// What the expressions of a group's accesses are written over. Atoms that are not needed are none.
struct GroupCoordinates {
  AtomId outer;   // blockIdx.y
  AtomId row;     // in vectors where the lanes run along rows
  AtomId inner;   // inner row
  AtomId column;  // in vectors where the lanes run along columns
  AtomId lane;    // of the vector
  int width = 1;
  bool lanes_along_rows = false;
  std::vector<GatheredIndex> gathered;  // an index comes after those that it depends on
};

struct GroupAccesses {
  GroupCoordinates coordinates;
  std::vector<Guard> guards;  // of stage and group, over the coordinates
  std::vector<GlobalAccess> accesses;
};

// Which buffer holds which value.
using BufferOfValueMap = std::map<AccessValueId, BufferId>;

// Walks the groups of one part of a kernel in their order: what earlier groups keep is not loaded
// again. Adds atoms and expressions to `graph`, a copy of the plan's or the plan's own.
class AccessWalk {
 public:
  AccessWalk(AccessGraph& graph, const Plan& plan, const Kernel& kernel,
             const BufferOfValueMap& buffers);

  // A stage begins; nothing is in registers where its mapping is another one.
  void begin_stage(bool other_mapping) {
    before_ = nullptr;
    if (other_mapping) kept_.clear();
  }
  GroupAccesses group(const Stage& stage, const Group& group);

 private:
  static constexpr uint32_t kAlways = 0;     // the predicate without conditions
  static constexpr uint32_t kCertain = ~0u;  // the condition that holds
  using Binding = IndexPool::AtomMap;
  using Predicate = std::vector<std::pair<uint32_t, bool>>;  // conditions; true: negated

  bool goes_on(const Stage& stage, const Group& group) const;
  void bind(const Stage& stage, const Group& group);
  void bind_columns(const GroupMapping& group);
  AtomId coordinate(int64_t extent, AccessLevel level);
  ExprId with_lane(ExprId vectors, int width, AccessLevel level);
  void take_apart(ExprId linear, const std::vector<AtomId>& atoms);
  void add_root(const Root& root);
  void add_results(const Group& group);
  void visit_own(AccessValueId value, uint32_t predicate);
  void visit_node(AccessNodeId node, const Binding& binding, uint32_t predicate);
  void visit_reduction(AccessNodeId node, const Binding& binding, uint32_t predicate);
  void visit_read(const Read& read, const Binding& binding, uint32_t predicate);
  void visit_element(AccessValueId value, const std::vector<ExprId>& index, uint32_t predicate);
  bool is_kept(AccessValueId value, const std::vector<ExprId>& parts);
  // Whether the value was placed in memory; adds the load where that is global.
  bool load_placed(AccessValueId value, const std::vector<ExprId>& parts, uint32_t predicate);
  ExprId substituted(ExprId expr, const Binding& binding, uint32_t predicate);
  ExprId gathered(ReadId read, const Binding& binding, uint32_t predicate);
  // False when the guards can never hold; `condition` is kAlways where they always do.
  bool condition_of(const std::vector<Guard>& guards, const Binding& binding, uint32_t predicate,
                    uint32_t& condition);
  uint32_t conjunction(uint32_t predicate, uint32_t condition, bool negated);
  Guard without_lane(const Guard& guard);

  ExprId buffer_offset(BufferId buffer, const std::vector<ExprId>& index);
  ExprId place_offset(const Place& place, AccessValueId value, const std::vector<ExprId>& parts);
  std::vector<ExprId> own_parts(AccessValueId value) const;
  std::vector<AtomId> atoms_of(AccessValueId value) const;
  GlobalAccess& add(BufferId buffer, ExprId offset, uint32_t predicate);
  void reach(GlobalAccess& access, ExprId expr);
  void add_store(BufferId buffer, ExprId offset);
  const Place* place(AccessValueId value, PlaceKind kind) const;

  struct Nest {
    std::vector<AtomId> atoms;  // of its loops and of those around it
    AccessLevel level = AccessLevel::kRow;
  };

  AccessGraph& graph_;
  const Plan& plan_;
  const Kernel& kernel_;
  const BufferOfValueMap& buffers_;
  std::set<AccessValueId> computed_;
  std::set<AccessValueId> kept_;    // in registers, each at its own atoms
  std::set<AccessValueId> stored_;  // in shared memory or scratch

  const Group* before_ = nullptr;  // the last one of this stage

  // Of the current group.
  const GroupMapping* columns_ = nullptr;
  GroupAccesses result_;
  Binding binding_;
  std::set<AccessValueId> reduced_;       // by its reduces
  std::map<AtomId, AccessLevel> levels_;  // of coordinates and gathered indices
  std::set<AtomId> moving_;               // those that move along the lanes
  std::map<AtomId, Nest> nests_;          // of loop atoms
  std::vector<std::vector<Guard>> conditions_;
  std::vector<Predicate> predicates_;
  std::map<std::pair<AccessValueId, std::vector<uint32_t>>, bool> seen_;
  std::map<std::vector<uint32_t>, AtomId> gathered_;
};

}  // namespace stitch
