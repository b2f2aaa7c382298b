// What the computation of a value touches: the recursion of the emitter, walked without emitting.
// Legality, groups, places, vector widths and counts of bytes all follow from it.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "planner/access/address.h"
#include "planner/access/read_rewriter.h"
#include "planner/structure/kernel_nodes.h"

namespace stitch {

// An element that is read at `index` (per dim of the value, over the atoms of the walk's start).
struct TracedRead {
  AccessNodeId reader;
  size_t operand = 0;  // of the reader; kNested: inside of an index expression
  AccessValueId value;
  std::span<const ExprId> index;  // lives as long as the pool (IndexPool::list)
  Address address;                // of loads
  bool guarded = false;
  bool aligned = false;  // the reader was reached at its own atoms
  static constexpr size_t kNested = static_cast<size_t>(-1);
};

struct TracedNode {
  AccessNodeId node;
  bool aligned = false;  // evaluated at its own atoms
  double repeats = 1;    // times per point of the walk's start: inside of inline reduces
  size_t at = 0;         // a hash of the index at which it is evaluated; 0: its own atoms
};

struct Trace {
  std::vector<TracedRead> loads;   // that end at buffers
  std::vector<TracedRead> placed;  // that end at values which `is_placed` accepts
  std::vector<TracedNode> nodes;   // inline nodes, producers before consumers
};

// Where a node was walked once is remembered: between forget() and the next walk nodes must not
// change.
class ValueTracer {
 public:
  // `own`: the value is asked for at its own atoms.
  using IsPlaced = std::function<bool(AccessValueId, bool own)>;
  ValueTracer(KernelNodes& nodes, IsPlaced is_placed)
      : nodes_(nodes), is_placed_(std::move(is_placed)) {}

  // Of a value at its own atoms; a placed value is one placed read.
  Trace trace_value(AccessValueId value);
  // Of the operands of a node at its own atoms (also when its result is placed).
  Trace trace_operands(AccessNodeId node);
  // The nodes have changed.
  void forget();

 private:
  using PointId = uint32_t;
  static constexpr PointId kNoPoint = static_cast<PointId>(-1);
  struct Step {
    TracedRead read;
    bool own = false;          // at the atoms of the value itself
    PointId point = kNoPoint;  // of the producer inside of the kernel
  };
  // A node where it is evaluated: at its own atoms, or at expressions for those of its result.
  struct Point {
    AccessNodeId node;
    std::span<const ExprId> index;  // empty: its own atoms
    size_t at = 0;                  // TracedNode::at
    size_t walk = 0;                // the last one that came here
    bool expanded = false;
    std::vector<Step> steps;
    bool own() const { return index.empty(); }
  };
  struct PointKey {
    uint32_t node = 0;
    const ExprId* index = nullptr;
    friend bool operator==(const PointKey&, const PointKey&) = default;
  };
  struct PointHash {
    size_t operator()(const PointKey& key) const noexcept;
  };

  PointId point_of(AccessNodeId node, std::span<const ExprId> index, bool own);
  void expand(Point& point);
  // `moved` leads reads to where the point is; null at its own atoms.
  void add_read(Point& point, ReadRewriter* moved, size_t operand, const Read& read);
  void add_nested(Point& point, ReadRewriter* moved, ExprId expression);
  Step step_to(const Piece& piece);
  void walk(const Step& step);
  void walk_steps(Point& point);
  void begin();

  KernelNodes& nodes_;
  IsPlaced is_placed_;
  Trace result_;
  std::deque<Point> points_;
  std::unordered_map<PointKey, PointId, PointHash> point_ids_;
  size_t walk_ = 0;  // how many were begun
  double repeats_ = 1;
};

// True when `index` names the dims of `value`, in order.
bool is_own_index(const KernelNodes& nodes, AccessValueId value, std::span<const ExprId> index);

}  // namespace stitch
