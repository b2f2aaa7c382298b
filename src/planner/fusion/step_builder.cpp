#include "planner/fusion/step_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <unordered_map>
#include <utility>

#include "planner/cost/cost.h"

namespace stitch {
namespace {

// Of the bytes of a cut: what has to be saved before a detour through shared memory is taken, whose
// accesses are no vectors.
constexpr int64_t kLeastSavedShare = 16;

}  // namespace

BuiltSteps StepBuilder::build(const KernelRequest& request) {
  BuiltSteps built;
  add(request, {}, built);
  return built;
}

void StepBuilder::add(const KernelRequest& request, const std::string& why_not_larger,
                      BuiltSteps& built) {
  if (request.stored.empty() || writes_nothing(request)) return;
  std::variant<BuiltKernel, KernelCut> kernel_or_cut = builder_.build(request);
  if (BuiltKernel* const done = std::get_if<BuiltKernel>(&kernel_or_cut)) {
    done->kernel.why_not_larger = why_not_larger;
    built.steps.push_back({std::move(done->kernel), request, std::move(done->read_bytes)});
    return;
  }
  const KernelCut& cut = std::get<KernelCut>(kernel_or_cut);
  const size_t first = built.steps.size();
  for (const KernelRequest& piece : cut.pieces) add(piece, cut.reason, built);
  if (request.may_be_in_shared && replace_by_shared(request, first, built.steps)) return;
  built.cuts.push_back(fmt::format("cut in {}: {}", cut.pieces.size(), cut.reason));
}

// Takes one kernel that keeps everything in shared memory for the steps from `first` on, where
// that is possible, saves traffic and takes no longer.
bool StepBuilder::replace_by_shared(KernelRequest request, size_t first,
                                    std::vector<PlannedStep>& steps) {
  request.in_shared = true;
  std::variant<BuiltKernel, KernelCut> built = builder_.build(request);
  BuiltKernel* const together = std::get_if<BuiltKernel>(&built);
  if (together == nullptr) return false;
  const std::span<const PlannedStep> apart = std::span(steps).subspan(first);
  int64_t bytes = 0;
  for (const PlannedStep& step : apart) bytes += std::get<Kernel>(step.step).bytes.bytes;
  const bool saves = (bytes - together->kernel.bytes.bytes) * kLeastSavedShare >= bytes;
  if (!saves || predicted_us(together->kernel, device_) > level_by_level_us(apart, device_)) {
    return false;
  }
  steps.resize(first);
  steps.push_back({std::move(together->kernel), request, std::move(together->read_bytes)});
  return true;
}

// Tensors without elements need no kernel.
bool StepBuilder::writes_nothing(const KernelRequest& request) const {
  return std::all_of(request.stored.begin(), request.stored.end(), [&](AccessValueId value) {
    const std::vector<int64_t>& extents = graph_.value(value).extents;
    return std::find(extents.begin(), extents.end(), 0) != extents.end();
  });
}

double level_by_level_us(std::span<const PlannedStep> steps, const DeviceModel& device) {
  std::unordered_map<AccessValueId, int> stored_at;
  std::map<int, std::vector<Estimate>> by_level;
  for (const PlannedStep& step : steps) {
    int level = 0;
    for (const auto& [value, bytes] : step.read_bytes) {
      const auto found = stored_at.find(value);
      if (found != stored_at.end()) level = std::max(level, found->second + 1);
    }
    for (const AccessValueId value : step.request->stored) stored_at.emplace(value, level);
    by_level[level].push_back(std::get<Kernel>(step.step).estimate);
  }
  double us = 0;
  for (const auto& [level, kernels] : by_level) us += packed_us(kernels, device);
  return us;
}

}  // namespace stitch
