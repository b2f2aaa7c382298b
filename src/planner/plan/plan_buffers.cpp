#include "planner/plan/plan_buffers.h"

#include <algorithm>
#include <set>

#include "planner/access/value_size.h"
#include "planner/plan/arena.h"
#include "planner/plan/step_buffers.h"

namespace stitch {
namespace {

// Weights start at whole 256-byte lines, as an allocation of their own would.
constexpr int64_t kConstantAlignment = 256;

void renumber(Kernel& kernel, const std::vector<BufferId>& moved) {
  for (Part& part : kernel.parts) {
    for (Stage& stage : part.stages) {
      for (Group& group : stage.groups) {
        for (Root& root : group.roots) {
          if (root.buffer.valid()) root.buffer = moved[root.buffer.index];
        }
      }
    }
  }
  for (auto& [value, places] : kernel.places) {
    for (Place& place : places) {
      if (place.buffer.valid()) place.buffer = moved[place.buffer.index];
    }
  }
  for (Kernel& twin : kernel.twin) renumber(twin, moved);
}

}  // namespace

bool is_literal(const AccessGraph& graph, AccessValueId value) {
  const AccessValue& v = graph.value(value);
  return v.kind == AccessValueKind::kConstant && element_count(v) == 1;
}

PlanBuffers::PlanBuffers(Plan& plan) : plan_(plan) {
  for (size_t i = 0; i < plan.graph.inputs.size(); ++i) {
    add(BufferKind::kInput, plan.graph.inputs[i], static_cast<int>(i));
  }
  for (size_t i = 0; i < plan.graph.outputs.size(); ++i) {
    add(BufferKind::kOutput, plan.graph.outputs[i].value, static_cast<int>(i));
  }
}

BufferId PlanBuffers::of(AccessValueId value) {
  if (const auto found = of_value_.find(value); found != of_value_.end()) return found->second;
  if (is_literal(plan_.graph, value)) return BufferId();
  const bool is_constant = plan_.graph.value(value).kind == AccessValueKind::kConstant;
  return add(is_constant ? BufferKind::kConstant : BufferKind::kArena, value, 0);
}

void PlanBuffers::place_inside(const PartInside& part) {
  const BufferId whole = of(part.whole);
  const BufferId id = add(BufferKind::kArena, part.part, 0);
  Buffer& buffer = plan_.buffers[id.index];
  buffer.kind = plan_.buffers[whole.index].kind;
  buffer.index = plan_.buffers[whole.index].index;
  buffer.inside = whole;
  buffer.offset = part.first * size_bytes(buffer.dtype);  // lay_out adds the whole's own
  int64_t last = 0;
  for (size_t d = 0; d < buffer.extents.size(); ++d) {
    last += (buffer.extents[d] - 1) * buffer.strides[d];
  }
  buffer.bytes = (last + 1) * size_bytes(buffer.dtype);
}

BufferId PlanBuffers::add_scratch(AccessValueId clone) {
  return add(BufferKind::kScratch, clone, 0);
}

BufferId PlanBuffers::add(BufferKind kind, AccessValueId id, int index) {
  const AccessValue& value = plan_.graph.value(id);
  Buffer buffer;
  std::string name = value.name;
  if (kind == BufferKind::kOutput) name = plan_.graph.outputs[static_cast<size_t>(index)].name;
  if (kind == BufferKind::kScratch && name.empty()) name = "partials";
  buffer.name = names_.take(name);
  buffer.kind = kind;
  buffer.index = index;
  buffer.dtype = kind == BufferKind::kScratch ? compute_type(value.dtype) : value.dtype;
  buffer.extents = value.extents;
  buffer.strides = value.strides;
  buffer.bytes = element_count(value) * size_bytes(buffer.dtype);
  buffer.value = id;
  const BufferId result(plan_.buffers.size());
  plan_.buffers.push_back(std::move(buffer));
  of_value_.emplace(id, result);
  return result;
}

void PlanBuffers::forget_after(size_t count) {
  while (plan_.buffers.size() > count) {
    const auto found = of_value_.find(plan_.buffers.back().value);
    if (found != of_value_.end() && found->second.index + 1 == plan_.buffers.size()) {
      of_value_.erase(found);
    }
    plan_.buffers.pop_back();
  }
}

// Kernels that were built on trial leave buffers that no step uses.
void PlanBuffers::drop_unused() {
  std::set<BufferId> used;
  BufferLookup lookup(plan_);
  for (const Step& step : plan_.steps) {
    const StepBuffers own = lookup.of(step);
    for (const std::vector<BufferId>* list : {&own.reads, &own.writes}) {
      for (BufferId id : *list) {
        for (; id.valid(); id = plan_.buffers[id.index].inside) used.insert(id);
      }
    }
  }
  std::vector<Buffer> kept;
  std::vector<BufferId> moved(plan_.buffers.size());
  for (size_t b = 0; b < plan_.buffers.size(); ++b) {
    const BufferKind kind = plan_.buffers[b].kind;
    const bool own = kind == BufferKind::kScratch || kind == BufferKind::kArena;
    if (own && used.count(BufferId(b)) == 0) continue;
    moved[b] = BufferId(kept.size());
    kept.push_back(std::move(plan_.buffers[b]));
  }
  plan_.buffers = std::move(kept);
  for (Step& step : plan_.steps) {
    if (Kernel* const kernel = std::get_if<Kernel>(&step)) renumber(*kernel, moved);
  }
  for (Buffer& buffer : plan_.buffers) {
    if (buffer.inside.valid()) buffer.inside = moved[buffer.inside.index];
  }
  for (auto& [value, buffer] : of_value_) buffer = moved[buffer.index];
}

void PlanBuffers::lay_out() {
  drop_unused();
  struct Life {
    int first = -1;
    int last = -1;
  };
  std::vector<Life> lives(plan_.buffers.size());
  BufferLookup lookup(plan_);
  for (size_t s = 0; s < plan_.steps.size(); ++s) {
    const int step = static_cast<int>(s);
    const StepBuffers used = lookup.of(plan_.steps[s]);
    for (const std::vector<BufferId>* list : {&used.writes, &used.reads}) {
      for (const BufferId id : *list) {
        BufferId whole = id;
        while (plan_.buffers[whole.index].inside.valid()) {
          whole = plan_.buffers[whole.index].inside;
        }
        Life& life = lives[whole.index];
        if (life.first < 0) life.first = step;
        life.last = step;
      }
    }
  }
  int64_t constants = 0;
  std::vector<ArenaRequest> requests;
  std::vector<size_t> owners;
  for (size_t b = 0; b < plan_.buffers.size(); ++b) {
    Buffer& buffer = plan_.buffers[b];
    if (buffer.inside.valid()) continue;
    switch (buffer.kind) {
      case BufferKind::kConstant:
        buffer.offset = constants;
        constants +=
            (buffer.bytes + kConstantAlignment - 1) / kConstantAlignment * kConstantAlignment;
        break;
      case BufferKind::kArena:
      case BufferKind::kScratch:
        // Buffers of kernels that were tried and dropped are nobody's.
        if (lives[b].first < 0) break;
        requests.push_back({buffer.bytes, lives[b].first, lives[b].last});
        owners.push_back(b);
        break;
      case BufferKind::kInput:
      case BufferKind::kOutput:
        break;
    }
  }
  const ArenaLayout layout = lay_out_arena(requests);
  for (size_t i = 0; i < owners.size(); ++i) plan_.buffers[owners[i]].offset = layout.offsets[i];
  for (Buffer& buffer : plan_.buffers) {  // wholes come before their parts
    if (buffer.inside.valid()) buffer.offset += plan_.buffers[buffer.inside.index].offset;
  }
  plan_.arena_bytes = layout.bytes;
}

}  // namespace stitch
