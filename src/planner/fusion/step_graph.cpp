#include "planner/fusion/step_graph.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace stitch {

StepGraph::StepGraph(const Plan& plan, std::vector<PlannedStep> steps)
    : plan_(plan),
      lookup_(plan),
      steps_(std::move(steps)),
      used_(buffers_of(plan, steps_)),
      levels_(step_levels(used_)),
      gone_(steps_.size(), false) {
  for (size_t i = 0; i < steps_.size(); ++i) note(i);
  for (size_t b = 0; b < plan.buffers.size(); ++b) {
    const Buffer& buffer = plan.buffers[b];
    if (buffer.kind != BufferKind::kScratch) buffer_of_.emplace(buffer.value, BufferId(b));
  }
}

void StepGraph::note(size_t i) {
  for (const BufferId buffer : used_[i].reads) readers_[buffer].insert(i);
  for (const BufferId buffer : used_[i].writes) writers_[buffer].insert(i);
  at_level_[levels_[i]].insert(i);
}

void StepGraph::forget(size_t i) {
  for (const BufferId buffer : used_[i].reads) readers_[buffer].erase(i);
  for (const BufferId buffer : used_[i].writes) writers_[buffer].erase(i);
  at_level_[levels_[i]].erase(i);
}

std::set<size_t> StepGraph::readers(size_t i) const {
  std::set<size_t> found;
  for (const BufferId buffer : used_[i].writes) {
    const auto readers = readers_.find(buffer);
    if (readers != readers_.end()) found.insert(readers->second.begin(), readers->second.end());
  }
  found.erase(i);
  return found;
}

std::set<size_t> StepGraph::writers(size_t i) const {
  std::set<size_t> found;
  for (const BufferId buffer : used_[i].reads) {
    const auto writers = writers_.find(buffer);
    if (writers != writers_.end()) found.insert(writers->second.begin(), writers->second.end());
  }
  found.erase(i);
  return found;
}

bool StepGraph::has_path_between(size_t first, size_t second) const {
  std::unordered_set<size_t> seen;
  std::vector<size_t> open = {first};
  while (!open.empty()) {
    const size_t from = open.back();
    open.pop_back();
    for (const size_t reader : readers(from)) {
      if (reader == second && from != first) return true;
      if (levels_[reader] < levels_[second] && seen.insert(reader).second) open.push_back(reader);
    }
  }
  return false;
}

bool StepGraph::is_between(AccessValueId value, size_t first, size_t second) const {
  const auto found = buffer_of_.find(value);
  if (found == buffer_of_.end()) return false;
  const Buffer& buffer = plan_.buffers[found->second.index];
  if (buffer.kind != BufferKind::kArena || buffer.inside.valid()) return false;
  const auto readers = readers_.find(found->second);
  return readers != readers_.end() &&
         std::all_of(readers->second.begin(), readers->second.end(),
                     [&](size_t reader) { return reader == first || reader == second; });
}

bool StepGraph::is_written_by(AccessValueId value, size_t i) const {
  const auto found = buffer_of_.find(value);
  const std::vector<BufferId>& writes = used_[i].writes;
  return found != buffer_of_.end() &&
         std::binary_search(writes.begin(), writes.end(), found->second);
}

void StepGraph::replace(size_t first, size_t second, PlannedStep together) {
  forget(first);
  forget(second);
  steps_[first] = std::move(together);
  gone_[second] = true;
  used_[first] = lookup_.of(steps_[first].step);
  levels_[first] = levels_[second];
  note(first);
  push_readers(first);
}

void StepGraph::push_readers(size_t i) {
  for (const size_t reader : readers(i)) {
    if (levels_[reader] > levels_[i]) continue;
    at_level_[levels_[reader]].erase(reader);
    levels_[reader] = levels_[i] + 1;
    at_level_[levels_[reader]].insert(reader);
    push_readers(reader);
  }
}

std::vector<PlannedStep> StepGraph::take() {
  std::vector<PlannedStep> left;
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (!gone_[i]) left.push_back(std::move(steps_[i]));
  }
  return in_launch_order(plan_, std::move(left));
}

}  // namespace stitch
