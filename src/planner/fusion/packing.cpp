#include "planner/fusion/packing.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "planner/access/value_size.h"

namespace stitch {
namespace {

// Parts of one kernel; more would make its text long and its dispatch slow.
constexpr size_t kMostParts = 8;

class Packer {
 public:
  Packer(const Plan& plan, KernelBuilder& builder, std::vector<PlannedStep> steps,
         const PackingOptions& options)
      : plan_(plan),
        builder_(builder),
        steps_(std::move(steps)),
        options_(options),
        used_(buffers_of(plan, steps_)) {}

  std::vector<PlannedStep> run() {
    const std::vector<int> levels = step_levels(used_);
    std::map<int, std::vector<size_t>> by_level;
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (steps_[i].request) by_level[levels[i]].push_back(i);
    }
    for (const auto& [level, members] : by_level) pack_level(members);
    return in_launch_order(plan_, left());
  }

 private:
  void pack_level(const std::vector<size_t>& members) {
    std::vector<size_t> open;  // kernels that may still take parts
    for (const size_t i : members) {
      const auto host = std::find_if(open.begin(), open.end(),
                                     [&](size_t candidate) { return may_join(candidate, i); });
      if (host != open.end() && join(*host, i)) continue;
      open.push_back(i);
    }
  }

  bool may_join(size_t host, size_t guest) const {
    const Kernel& a = std::get<Kernel>(steps_[host].step);
    const Kernel& b = std::get<Kernel>(steps_[guest].step);
    if (a.parts.size() + b.parts.size() > kMostParts) return false;
    if (a.cooperative || b.cooperative) return false;  // all blocks of such a kernel are resident
    const bool small = a.bytes.bytes < options_.small_bytes && b.bytes.bytes < options_.small_bytes;
    return small || shares_input(host, guest);
  }

  bool shares_input(size_t a, size_t b) const {
    const std::vector<BufferId>& left = used_[a].reads;
    return std::any_of(left.begin(), left.end(), [&](BufferId buffer) {
      return plan_.buffers[buffer.index].bytes >= options_.small_bytes &&
             std::binary_search(used_[b].reads.begin(), used_[b].reads.end(), buffer);
    });
  }

  // False when the two cannot have one block size.
  bool join(size_t host, size_t guest) {
    const int block = std::max(std::get<Kernel>(steps_[host].step).block,
                               std::get<Kernel>(steps_[guest].step).block);
    if (!give_block(host, block) || !give_block(guest, block)) return false;
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
    std::set<SourceId> sources(kernel.sources.begin(), kernel.sources.end());
    sources.insert(other.sources.begin(), other.sources.end());
    kernel.sources.assign(sources.begin(), sources.end());
    used_[host] = lookup_.of(steps_[host].step);
    gone_.insert(guest);
    return true;
  }

  // Builds a kernel of one part again when its blocks have another size.
  bool give_block(size_t i, int block) {
    Kernel& kernel = std::get<Kernel>(steps_[i].step);
    if (kernel.block == block) return true;
    if (kernel.parts.size() > 1) return false;
    KernelRequest request = *steps_[i].request;
    request.block = block;
    std::variant<BuiltKernel, KernelCut> built = builder_.build(request);
    BuiltKernel* const again = std::get_if<BuiltKernel>(&built);
    if (again == nullptr || again->kernel.block != block) return false;
    again->kernel.why_not_larger = kernel.why_not_larger;
    kernel = std::move(again->kernel);
    return true;
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
  std::vector<PlannedStep> steps_;
  const PackingOptions options_;
  BufferLookup lookup_{plan_};
  std::vector<StepBuffers> used_;
  std::set<size_t> gone_;
};

}  // namespace

std::vector<PlannedStep> pack_kernels(const Plan& plan, KernelBuilder& builder,
                                      std::vector<PlannedStep> steps,
                                      const PackingOptions& options) {
  return Packer(plan, builder, std::move(steps), options).run();
}

}  // namespace stitch
