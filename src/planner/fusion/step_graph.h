// Steps of a plan as a graph in which two steps can become one: who reads whom, and levels that
// grow along every edge.
#pragma once
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "planner/fusion/step_order.h"

namespace stitch {

class StepGraph {
 public:
  // `steps` in launch order.
  StepGraph(const Plan& plan, std::vector<PlannedStep> steps);

  size_t size() const { return steps_.size(); }
  const PlannedStep& step(size_t i) const { return steps_[i]; }
  bool is_gone(size_t i) const { return gone_[i]; }
  int level(size_t i) const { return levels_[i]; }
  // Steps of equal level as `i`, `i` among them.
  const std::set<size_t>& beside(size_t i) const { return at_level_.at(levels_[i]); }
  std::set<size_t> readers(size_t i) const;
  std::set<size_t> writers(size_t i) const;  // of what `i` reads
  // Whether a third step reads `first` and is read, be it by way of others, by `second`.
  bool has_path_between(size_t first, size_t second) const;
  // Whether `value` is read by these two only, and needed nowhere else in memory.
  bool is_between(AccessValueId value, size_t first, size_t second) const;
  // Whether the value lies in memory that the step writes, as part of it or as the whole.
  bool is_written_by(AccessValueId value, size_t i) const;

  // `together` takes the place of both, which must be free of paths between them.
  void replace(size_t first, size_t second, PlannedStep together);
  // Those that are left.
  std::vector<PlannedStep> take();

 private:
  void push_readers(size_t i);
  void note(size_t i);
  void forget(size_t i);

  const Plan& plan_;
  BufferLookup lookup_;
  std::vector<PlannedStep> steps_;
  std::vector<StepBuffers> used_;
  std::vector<int> levels_;
  std::vector<bool> gone_;
  std::map<BufferId, std::set<size_t>> readers_, writers_;
  std::map<int, std::set<size_t>> at_level_;
  std::unordered_map<AccessValueId, BufferId> buffer_of_;
};

}  // namespace stitch
