// Global memory traffic of a kernel: the three counts of bytes, predicted from its traces.
#pragma once
#include <map>
#include <set>
#include <vector>

#include "planner/plan/plan.h"
#include "planner/structure/kernel_nodes.h"
#include "planner/structure/value_trace.h"

namespace stitch {

class KernelTraffic {
 public:
  explicit KernelTraffic(KernelNodes& nodes) : nodes_(nodes) {}

  // Loads of one group of a part; `points` are all index atoms of the group.
  void add_loads(const Stage& stage, const Group& group, const Trace& trace);
  void add_store(const Stage& stage, const Group& group, AccessValueId clone);
  // Written once and read once.
  void add_scratch(int64_t bytes) { scratch_ += 2 * bytes; }
  // Ends a group: an operand that a later group loads again counts again.
  void end_group();

  ByteCounts counts() const;
  // Bytes of each operand that are read at least once.
  std::map<AccessValueId, int64_t> read_bytes() const;

 private:
  struct Operand {
    std::map<ExprId, int64_t> bytes;  // by address: elements that it reaches
    std::vector<Range> box;           // per dim of the tensor, around all that is read
    int64_t total = 0;                // bytes inside of it
    int64_t by_groups = 0;            // bytes that the groups load, each what it needs once
    int64_t once() const;
    int64_t widen(const AccessGraph& graph, const TracedRead& load);
  };
  int64_t requested(const Stage& stage, const Group& group, ExprId linear,
                    int64_t element_bytes) const;
  int64_t requested_by_teams(const Group& group, int64_t points, ExprId linear,
                             int64_t element_bytes) const;

  KernelNodes& nodes_;
  std::map<AccessValueId, Operand> operands_;
  std::map<AccessValueId, std::set<ExprId>> in_group_;
  int64_t stored_ = 0;
  int64_t scratch_ = 0;
  int64_t requested_ = 0;
};

}  // namespace stitch
