#include "planner/plan/step_buffers.h"

#include <algorithm>

namespace stitch {
namespace {

void sort_unique(std::vector<BufferId>& buffers) {
  std::sort(buffers.begin(), buffers.end());
  buffers.erase(std::unique(buffers.begin(), buffers.end()), buffers.end());
}

}  // namespace

StepBuffers BufferLookup::of(const Step& step) {
  catch_up();
  StepBuffers used;
  if (const Kernel* const kernel = std::get_if<Kernel>(&step)) {
    note(*kernel, used);
  } else {
    const MatmulLayout& layout = std::get<LibraryMatmul>(step).layout;
    add_holder(layout.a.value, used.reads);
    add_holder(layout.b.value, used.reads);
    add_holder(layout.c.value, used.reads);
    add_holder(layout.bias, used.reads);
    add_holder(layout.d.value, used.writes);
  }
  for (size_t i = 0; i < used.writes.size(); ++i) {
    const BufferId whole = plan_.buffers[used.writes[i].index].inside;
    if (whole.valid()) used.writes.push_back(whole);
  }
  sort_unique(used.reads);
  sort_unique(used.writes);
  return used;
}

void BufferLookup::catch_up() {
  of_value_.resize(plan_.graph.values.size());
  for (; known_ < plan_.buffers.size(); ++known_) {
    const AccessValueId value = plan_.buffers[known_].value;
    if (!value.valid()) continue;
    BufferId& holder = of_value_[value.index];
    if (!holder.valid()) holder = BufferId(known_);
  }
}

void BufferLookup::note(const Kernel& kernel, StepBuffers& used) const {
  for (const Part& part : kernel.parts) {
    for (const Stage& stage : part.stages) {
      for (const Group& group : stage.groups) {
        for (const Root& root : group.roots) {
          if (root.kind == RootKind::kStore) used.writes.push_back(root.buffer);
        }
        for (const AccessNodeId node : group.nodes) {
          for (const AccessValueId source : sources_of(plan_.graph, plan_.graph.node(node))) {
            if (kernel.places.count(source) == 0) add_holder(source, used.reads);
          }
        }
      }
    }
  }
  for (const auto& [value, places] : kernel.places) {
    for (const Place& place : places) {
      if (place.kind == PlaceKind::kScratch) used.writes.push_back(place.buffer);
    }
  }
  for (const Kernel& twin : kernel.twin) note(twin, used);
}

void BufferLookup::add_holder(AccessValueId value, std::vector<BufferId>& buffers) const {
  if (value.valid() && of_value_[value.index].valid()) buffers.push_back(of_value_[value.index]);
}

}  // namespace stitch
