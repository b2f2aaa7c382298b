#include "planner/fusion/step_order.h"

#include <algorithm>
#include <utility>

#include "graph/error.h"
#include "planner/fusion/part_order.h"

namespace stitch {

std::vector<StepBuffers> buffers_of(const Plan& plan, const std::vector<PlannedStep>& steps) {
  BufferLookup lookup(plan);
  std::vector<StepBuffers> used;
  for (const PlannedStep& step : steps) used.push_back(lookup.of(step.step));
  return used;
}

std::vector<int> step_levels(const std::vector<StepBuffers>& used) {
  std::vector<int> levels;
  std::map<BufferId, int> written;
  for (const StepBuffers& step : used) {
    int level = 0;
    for (const BufferId buffer : step.reads) {
      const auto found = written.find(buffer);
      if (found != written.end()) level = std::max(level, found->second + 1);
    }
    levels.push_back(level);
    for (const BufferId buffer : step.writes) {
      int& known = written.emplace(buffer, level).first->second;
      known = std::max(known, level);
    }
  }
  return levels;
}

std::vector<int> latest_levels(const std::vector<StepBuffers>& used,
                               const std::vector<int>& levels) {
  const int last = levels.empty() ? 0 : *std::max_element(levels.begin(), levels.end());
  std::map<BufferId, int> read;  // the first level that reads a buffer
  for (size_t i = 0; i < used.size(); ++i) {
    for (const BufferId buffer : used[i].reads) {
      int& known = read.emplace(buffer, levels[i]).first->second;
      known = std::min(known, levels[i]);
    }
  }
  std::vector<int> latest;
  for (size_t i = 0; i < used.size(); ++i) {
    int level = last;
    for (const BufferId buffer : used[i].writes) {
      const auto found = read.find(buffer);
      // Scratch is read by the step itself.
      if (found != read.end() && found->second > levels[i]) {
        level = std::min(level, found->second - 1);
      }
    }
    latest.push_back(level);
  }
  return latest;
}

std::vector<PlannedStep> in_launch_order(const Plan& plan, std::vector<PlannedStep> steps) {
  const std::vector<StepBuffers> used = buffers_of(plan, steps);
  std::map<BufferId, std::vector<size_t>> writers;
  for (size_t i = 0; i < steps.size(); ++i) {
    for (const BufferId buffer : used[i].writes) writers[buffer].push_back(i);
  }
  PartOrder order(steps.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    for (const BufferId buffer : used[i].reads) {
      for (const size_t from : writers[buffer]) order.add_use(from, i);
    }
  }
  std::vector<PlannedStep> ordered;
  for (const size_t i : order.run()) ordered.push_back(std::move(steps[i]));
  if (ordered.size() != steps.size()) throw InternalError("kernels of a plan wait for each other");
  return ordered;
}

}  // namespace stitch
