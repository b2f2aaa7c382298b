#include "planner/fusion/packing.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "planner/access/value_size.h"
#include "planner/cost/cost.h"

namespace stitch {
namespace {

// Parts of one kernel; more would make its text long and its dispatch slow.
constexpr size_t kMostParts = 8;
// Launches that a kernel is tried with.
constexpr size_t kMostTries = 3;
// Bytes of an input that two parts had better read at the same time.
constexpr int64_t kLargeInput = int64_t{4} << 20;

// Steps that become one kernel, as they are built for its block size.
struct Launch {
  std::vector<size_t> steps;
  int block = 0;
  double us = 0;
};

class Packer {
 public:
  Packer(const Plan& plan, KernelBuilder& builder, const DeviceModel& device,
         std::vector<PlannedStep> steps)
      : plan_(plan),
        builder_(builder),
        device_(device),
        steps_(std::move(steps)),
        used_(buffers_of(plan, steps_)) {}

  // Kernels that could be launched at several levels come last: each joins the launch with which it
  // saves most.
  std::vector<PlannedStep> run() {
    const std::vector<int> levels = step_levels(used_);
    const std::vector<int> latest = latest_levels(used_, levels);
    std::vector<size_t> movable;
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (!steps_[i].request) continue;
      if (latest[i] > levels[i]) {
        movable.push_back(i);
      } else {
        place(i, levels[i], levels[i]);
      }
    }
    for (const size_t i : movable) place(i, levels[i], latest[i]);
    for (auto& [level, launches] : launches_) {
      for (const Launch& launch : launches) merge(launch);
    }
    return in_launch_order(plan_, left());
  }

 private:
  // Joins a launch of these levels, or begins one at the first.
  void place(size_t guest, int first, int last) {
    std::vector<std::pair<double, Launch*>> hosts;
    for (auto level = launches_.lower_bound(first);
         level != launches_.end() && level->first <= last; ++level) {
      for (Launch& launch : level->second) {
        if (may_join(launch, guest)) hosts.emplace_back(-saved_us(launch, guest), &launch);
      }
    }
    std::stable_sort(hosts.begin(), hosts.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    if (hosts.size() > kMostTries) hosts.resize(kMostTries);
    for (const auto& [saved, launch] : hosts) {
      if (join(*launch, guest)) return;
    }
    const Kernel& kernel = std::get<Kernel>(steps_[guest].step);
    launches_[first].push_back({{guest}, kernel.block, predicted_us(kernel, device_)});
  }

  bool is_decided(const Launch& launch, size_t guest) const {
    return steps_[guest].decided_launch >= 0 || steps_[launch.steps.front()].decided_launch >= 0;
  }

  bool may_join(const Launch& launch, size_t guest) const {
    if (launch.steps.size() == kMostParts) return false;
    const Kernel& kernel = std::get<Kernel>(steps_[guest].step);
    if (stays_alone(kernel) || stays_alone(std::get<Kernel>(steps_[launch.steps.front()].step))) {
      return false;
    }
    if (is_decided(launch, guest)) {
      return steps_[guest].decided_launch == steps_[launch.steps.front()].decided_launch;
    }
    const double apart = launch.us + predicted_us(kernel, device_);
    return saved_us(launch, guest) >= kLeastShareSavedByPacking * apart ||
           shares_input(launch, guest);
  }

  // As far as the kernels are what they are.
  double saved_us(const Launch& launch, size_t guest) const {
    std::vector<Estimate> all;
    for (const size_t i : launch.steps) all.push_back(std::get<Kernel>(steps_[i].step).estimate);
    const Kernel& kernel = std::get<Kernel>(steps_[guest].step);
    all.push_back(kernel.estimate);
    return launch.us + predicted_us(kernel, device_) - packed_us(all, device_);
  }

  bool shares_input(const Launch& launch, size_t guest) const {
    const std::vector<BufferId>& own = used_[guest].reads;
    return std::any_of(launch.steps.begin(), launch.steps.end(), [&](size_t i) {
      return std::any_of(used_[i].reads.begin(), used_[i].reads.end(), [&](BufferId buffer) {
        return plan_.buffers[buffer.index].bytes >= kLargeInput &&
               std::binary_search(own.begin(), own.end(), buffer);
      });
    });
  }

  // False when no block size suits all so well that something is saved.
  bool join(Launch& launch, size_t guest) {
    Launch best = launch;
    best.us += predicted_us(std::get<Kernel>(steps_[guest].step), device_);
    if (is_decided(launch, guest)) best.us = std::numeric_limits<double>::infinity();
    std::vector<size_t> all = launch.steps;
    all.push_back(guest);
    std::set<int> blocks;
    for (const size_t i : all) blocks.insert(std::get<Kernel>(steps_[i].step).block);
    for (const int block : blocks) {
      std::vector<Estimate> estimates;
      for (const size_t i : all) {
        const std::optional<Kernel>& kernel = with_block(i, block);
        if (!kernel) break;
        estimates.push_back(kernel->estimate);
      }
      if (estimates.size() != all.size()) continue;
      const double us = packed_us(estimates, device_);
      if (us < best.us) best = {all, block, us};
    }
    if (best.steps.size() == launch.steps.size()) return false;
    launch = std::move(best);
    return true;
  }

  // The kernel of a step with blocks of this size, where that is possible.
  const std::optional<Kernel>& with_block(size_t i, int block) {
    const auto [found, is_new] = rebuilt_.try_emplace({i, block});
    if (!is_new) return found->second;
    const Kernel& kernel = std::get<Kernel>(steps_[i].step);
    if (kernel.block == block) {
      found->second = kernel;
      return found->second;
    }
    KernelRequest request = *steps_[i].request;
    request.block = block;
    std::variant<BuiltKernel, KernelCut> built = builder_.build(request);
    BuiltKernel* const again = std::get_if<BuiltKernel>(&built);
    if (again == nullptr || again->kernel.block != block) return found->second;
    again->kernel.why_not_larger = kernel.why_not_larger;
    found->second = std::move(again->kernel);
    return found->second;
  }

  void merge(const Launch& launch) {
    if (launch.steps.size() < 2) return;
    const size_t host = launch.steps.front();
    for (const size_t i : launch.steps) {
      steps_[i].step = *with_block(i, launch.block);
      if (i == host) continue;
      add_parts(host, i);
      gone_.insert(i);
    }
  }

  void add_parts(size_t host, size_t guest) {
    Kernel& kernel = std::get<Kernel>(steps_[host].step);
    Kernel& other = std::get<Kernel>(steps_[guest].step);
    const int64_t read_again = join_reads(host, guest);
    for (Part& part : other.parts) {
      for (Stage& stage : part.stages) {
        if (stage.counter >= 0) stage.counter += kernel.counters;
      }
      kernel.parts.push_back(std::move(part));
    }
    kernel.counters += other.counters;
    kernel.places.merge(other.places);
    kernel.shared_bytes = std::max(kernel.shared_bytes, other.shared_bytes);
    kernel.bytes.compulsory += other.bytes.compulsory - read_again;
    kernel.bytes.bytes += other.bytes.bytes;
    kernel.bytes.requested += other.bytes.requested;
    kernel.estimate.registers = std::max(kernel.estimate.registers, other.estimate.registers);
    kernel.estimate.memory_us += other.estimate.memory_us;
    kernel.estimate.instruction_us += other.estimate.instruction_us;
    kernel.estimate.floor_us = std::max(kernel.estimate.floor_us, other.estimate.floor_us);
    kernel.estimate.barrier_us = std::max(kernel.estimate.barrier_us, other.estimate.barrier_us);
    std::set<SourceId> sources(kernel.sources.begin(), kernel.sources.end());
    sources.insert(other.sources.begin(), other.sources.end());
    kernel.sources.assign(sources.begin(), sources.end());
  }

  // Adds the guest's reads to the host's. Returns the bytes that both read: slices of one tensor
  // have none in common.
  int64_t join_reads(size_t host, size_t guest) {
    int64_t again = 0;
    for (const auto& [value, bytes] : steps_[guest].read_bytes) {
      int64_t& known = steps_[host].read_bytes[value];
      const AccessValue& tensor = plan_.graph.value(value);
      const int64_t total = byte_count(tensor);
      again += std::max<int64_t>(known + bytes - total, 0);
      known = std::min(known + bytes, total);
    }
    return again;
  }

  std::vector<PlannedStep> left() {
    std::vector<PlannedStep> left;
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (gone_.count(i) == 0) left.push_back(std::move(steps_[i]));
    }
    return left;
  }

  const Plan& plan_;
  KernelBuilder& builder_;
  const DeviceModel& device_;
  std::vector<PlannedStep> steps_;
  std::vector<StepBuffers> used_;
  std::map<int, std::vector<Launch>> launches_;                      // by level
  std::map<std::pair<size_t, int>, std::optional<Kernel>> rebuilt_;  // by step and block
  std::set<size_t> gone_;
};

}  // namespace

std::vector<PlannedStep> pack_kernels(const Plan& plan, KernelBuilder& builder,
                                      const DeviceModel& device, std::vector<PlannedStep> steps) {
  return Packer(plan, builder, device, std::move(steps)).run();
}

}  // namespace stitch
