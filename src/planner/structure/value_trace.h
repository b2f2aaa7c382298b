// What the computation of a value touches: the recursion of the emitter, walked without emitting.
// Legality, groups, places, vector widths and counts of bytes all follow from it.
#pragma once
#include <cstdint>
#include <functional>
#include <unordered_set>
#include <vector>

#include "planner/structure/kernel_nodes.h"

namespace stitch {

// An element that is read at `index` (per dim of the value, over the atoms of the walk's start).
struct TracedRead {
  AccessNodeId reader;
  size_t operand = 0;  // of the reader; kNested: inside of an index expression
  AccessValueId value;
  std::vector<ExprId> index;
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

 private:
  struct Visit {
    uint32_t node = 0;
    std::vector<ExprId> index;
    friend bool operator==(const Visit&, const Visit&) = default;
  };
  struct VisitHash {
    size_t operator()(const Visit& visit) const noexcept;
  };
  struct Point;
  void visit_operands(AccessNodeId node, const Point& point);
  void visit_read(AccessNodeId node, size_t operand, const Read& read, const Point& point);
  void visit_nested(AccessNodeId node, ExprId expression, const Point& point);
  void visit_value(AccessNodeId reader, size_t operand, const Piece& piece, bool aligned);

  KernelNodes& nodes_;
  IsPlaced is_placed_;
  Trace result_;
  std::unordered_set<Visit, VisitHash> seen_;
  double repeats_ = 1;
};

// True when `index` names the dims of `value`, in order.
bool is_own_index(const KernelNodes& nodes, AccessValueId value, const std::vector<ExprId>& index);

}  // namespace stitch
