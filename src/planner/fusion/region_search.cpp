#include "planner/fusion/region_search.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "planner/cost/cost.h"
#include "planner/fusion/region_signature.h"

namespace stitch {
namespace {

// Nodes built in trials: for each node of the graph, and at least; for each node of one region.
constexpr int64_t kBuiltPerNode = 5;
constexpr int64_t kBuiltAtLeast = 8000;
constexpr int64_t kBuiltPerOwnNode = 400;
// Nodes that are put into requests in the time of building one.
constexpr int64_t kArrangedPerBuilt = 16;
// Larger regions are not put together from single nodes.
constexpr size_t kMostNodesApart = 48;

// Per multiprocessor, of a kernel that takes all of the bandwidth.
constexpr int kManyBlocks = 8;
// Of the bytes of two kernels: what they read both.
constexpr int64_t kLeastSharedShare = 64;
// Of the bound: so near to it, nothing else is tried.
constexpr double kSettledShare = 1.01;

struct Candidate {
  RegionPartition partition;
  PlanScore score;
};

std::vector<size_t> joined(const std::vector<size_t>& a, const std::vector<size_t>& b) {
  std::vector<size_t> both;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

std::vector<size_t> without(const std::vector<size_t>& a, const std::vector<size_t>& b) {
  std::vector<size_t> left;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(left));
  return left;
}

bool contains(const std::vector<size_t>& sorted, size_t n) {
  return std::binary_search(sorted.begin(), sorted.end(), n);
}

class Search {
 public:
  Search(KernelTrials& trials, const RegionNodes& region, int64_t most_effort)
      : trials_(trials),
        region_(region),
        most_effort_(most_effort),
        built_before_(trials.built_nodes()) {}

  // In nodes built on trial.
  int64_t effort() const {
    return trials_.built_nodes() - built_before_ + arranged_nodes_ / kArrangedPerBuilt;
  }

  RegionPartition run() {
    std::vector<RegionPartition> from = starts();
    Candidate best = *scored(from.front());
    for (RegionPartition& start : from) {
      std::optional<Candidate> plan = scored(std::move(start));
      if (!plan || is_out_of_budget()) continue;
      improve(*plan);
      if (is_better(plan->score, best.score)) best = *std::move(plan);
    }
    return best.partition;
  }

 private:
  // The region as one, first, and every node alone.
  std::vector<RegionPartition> starts() const {
    const size_t count = region_.size() <= kMostNodesApart ? 2 : 1;
    std::vector<RegionPartition> starts(count);
    starts.front().emplace_back();
    for (size_t n = 0; n < region_.size(); ++n) {
      starts.front().front().owned.push_back(n);
      if (count > 1) starts.back().push_back({{n}, {}});
    }
    return starts;
  }

  std::optional<Candidate> scored(RegionPartition partition) {
    arranged_nodes_ += static_cast<int64_t>(region_.size());
    const std::vector<KernelRequest> requests = requests_of(region_, partition);
    if (requests.empty()) return std::nullopt;
    std::vector<const TrialKernel*> kernels;
    for (const KernelRequest& request : requests) {
      for (const TrialKernel& kernel : trials_.kernels(request)) kernels.push_back(&kernel);
    }
    return Candidate{std::move(partition), score(kernels, trials_.device())};
  }

  bool is_out_of_budget() const { return effort() >= most_effort_; }

  bool try_instead(Candidate& plan, RegionPartition partition) {
    if (is_out_of_budget()) return false;
    std::optional<Candidate> other = scored(std::move(partition));
    if (!other || !is_better(other->score, plan.score)) return false;
    plan = *std::move(other);
    return true;
  }

  void improve(Candidate& plan) {
    bool changed = true;
    while (changed && !is_out_of_budget()) {
      changed = join_best(plan);
      if (!changed) {
        changed = forbid_waits(plan) || move_nodes(plan) || split_parts(plan) || repeat_nodes(plan);
      }
    }
  }

  // Joins the two parts that gain most, if any do.
  bool join_best(Candidate& plan) {
    std::optional<Candidate> best;
    for (size_t a = 0; a < plan.partition.size(); ++a) {
      for (const size_t b : neighbours(plan.partition, a)) {
        if (b < a || is_out_of_budget()) continue;
        std::optional<Candidate> other = scored(with_joined(plan.partition, a, b));
        if (!other || !is_better(other->score, plan.score)) continue;
        if (!best || is_better(other->score, best->score)) best = std::move(other);
      }
    }
    if (!best) return false;
    plan = *std::move(best);
    return true;
  }

  static RegionPartition with_joined(RegionPartition partition, size_t a, size_t b) {
    RegionPart& part = partition[a];
    part.owned = joined(part.owned, partition[b].owned);
    part.repeated = without(joined(part.repeated, partition[b].repeated), part.owned);
    part.may_wait = part.may_wait && partition[b].may_wait;
    partition.erase(partition.begin() + static_cast<std::ptrdiff_t>(b));
    return partition;
  }

  // Parts that read each other's values, or the same values.
  std::set<size_t> neighbours(const RegionPartition& partition, size_t part) const {
    std::vector<size_t> owner(region_.size());
    for (size_t p = 0; p < partition.size(); ++p) {
      for (const size_t n : partition[p].owned) owner[n] = p;
    }
    std::set<size_t> found;
    std::set<AccessValueId> read;
    for (const size_t n : partition[part].owned) {
      for (const size_t other : region_.producers(n)) {
        found.insert(owner[other]);
        for (const size_t sibling : region_.readers(other)) found.insert(owner[sibling]);
      }
      for (const size_t other : region_.readers(n)) found.insert(owner[other]);
      read.insert(region_.outside(n).begin(), region_.outside(n).end());
    }
    for (size_t n = 0; n < region_.size(); ++n) {
      const std::vector<AccessValueId>& own = region_.outside(n);
      if (std::any_of(own.begin(), own.end(),
                      [&](AccessValueId v) { return read.count(v) != 0; })) {
        found.insert(owner[n]);
      }
    }
    found.erase(part);
    return found;
  }

  // Kernels whose blocks wait are packed with no others.
  bool forbid_waits(Candidate& plan) {
    for (size_t p = 0; p < plan.partition.size(); ++p) {
      if (!plan.partition[p].may_wait) continue;
      RegionPartition partition = plan.partition;
      partition[p].may_wait = false;
      if (try_instead(plan, std::move(partition))) return true;
    }
    return false;
  }

  // Single nodes, to the part of a neighbour.
  bool move_nodes(Candidate& plan) {
    bool changed = false;
    for (size_t n = 0; n < region_.size(); ++n) {
      const std::vector<size_t> around = joined(region_.producers(n), region_.readers(n));
      for (const size_t other : around) {
        const size_t from = owner_of(plan.partition, n), to = owner_of(plan.partition, other);
        if (from == to) continue;
        RegionPartition partition = plan.partition;
        partition[to].owned = joined(partition[to].owned, {n});
        partition[to].repeated = without(partition[to].repeated, {n});
        partition[from].owned = without(partition[from].owned, {n});
        if (partition[from].owned.empty()) {
          partition.erase(partition.begin() + static_cast<std::ptrdiff_t>(from));
        }
        changed = try_instead(plan, std::move(partition)) || changed;
      }
    }
    return changed;
  }

  static size_t owner_of(const RegionPartition& partition, size_t n) {
    size_t p = 0;
    while (!contains(partition[p].owned, n)) ++p;
    return p;
  }

  // In front of a node, and behind it: with all of its part that it needs, or that needs it.
  bool split_parts(Candidate& plan) {
    for (size_t n = 0; n < region_.size(); ++n) {
      const size_t p = owner_of(plan.partition, n);
      for (const bool behind : {true, false}) {
        const std::vector<size_t> own = reached(plan.partition[p].owned, n, behind);
        if (own.size() == plan.partition[p].owned.size()) continue;
        RegionPartition partition = plan.partition;
        partition.push_back({own, {}});
        partition[p].owned = without(partition[p].owned, own);
        for (const size_t part : {p, partition.size() - 1}) {
          RegionPartition repeating = partition;
          repeating[part].repeated = joined(repeating[part].repeated, crossing(partition, part));
          if (repeating[part].repeated == partition[part].repeated) continue;
          if (try_instead(plan, std::move(repeating))) return true;
        }
        if (try_instead(plan, std::move(partition))) return true;
      }
    }
    return false;
  }

  // Nodes of the set that lead to `n`, or that `n` leads to; `n` with them.
  std::vector<size_t> reached(const std::vector<size_t>& set, size_t n, bool upwards) const {
    std::set<size_t> found = {n};
    std::vector<size_t> open = {n};
    while (!open.empty()) {
      const size_t next = open.back();
      open.pop_back();
      for (const size_t other : upwards ? region_.producers(next) : region_.readers(next)) {
        if (contains(set, other) && found.insert(other).second) open.push_back(other);
      }
    }
    return {found.begin(), found.end()};
  }

  // What crosses a border is computed behind it again, with the element-wise nodes before it.
  bool repeat_nodes(Candidate& plan) {
    for (size_t n = 0; n < region_.size(); ++n) {
      for (const size_t reader : region_.readers(n)) {
        const size_t from = owner_of(plan.partition, n), to = owner_of(plan.partition, reader);
        if (from == to || contains(plan.partition[to].repeated, n)) continue;
        if (region_.node(n).kind != AccessKind::kElementwise) continue;
        RegionPartition partition = plan.partition;
        RegionPart& part = partition[to];
        part.repeated = without(joined(part.repeated, chain(n)), part.owned);
        if (try_instead(plan, std::move(partition))) return true;
      }
    }
    return false;
  }

  // The element-wise nodes of other parts that lead to what the part reads.
  std::vector<size_t> crossing(const RegionPartition& partition, size_t part) const {
    const std::vector<size_t>& own = partition[part].owned;
    std::vector<size_t> found;
    for (const size_t n : own) {
      for (const size_t source : region_.producers(n)) {
        if (contains(own, source)) continue;
        if (region_.node(source).kind != AccessKind::kElementwise) continue;
        found = joined(found, chain(source));
      }
    }
    return without(found, own);
  }

  // The element-wise nodes that lead to `n`, up to results of reduces.
  std::vector<size_t> chain(size_t n) const {
    std::set<size_t> found = {n};
    std::vector<size_t> open = {n};
    while (!open.empty()) {
      const size_t next = open.back();
      open.pop_back();
      for (const size_t other : region_.producers(next)) {
        if (region_.node(other).kind != AccessKind::kElementwise) continue;
        if (found.insert(other).second) open.push_back(other);
      }
    }
    return {found.begin(), found.end()};
  }

  KernelTrials& trials_;
  const RegionNodes& region_;
  const int64_t most_effort_;
  const int64_t built_before_;
  int64_t arranged_nodes_ = 0;
};

bool is_settled(const PlannedStep& step, const DeviceModel& device) {
  const Kernel& kernel = std::get<Kernel>(step.step);
  StageWork work;
  work.blocks = device.sm_count * kManyBlocks;
  work.resident_blocks = kManyBlocks;
  work.bytes = static_cast<double>(kernel.bytes.compulsory);
  Estimate bound;
  add_stage_cost(bound, device, work);
  bound.floor_us = std::max(bound.floor_us, kernel.estimate.floor_us);
  finish_estimate(bound, device);
  const bool is_plain = kernel.parts.front().stages.size() == 1 && !step.request->in_shared;
  if (is_plain) bound.total_us += device.launch_us;
  return predicted_us(kernel, device) <= bound.total_us * kSettledShare;
}

// Reading one another's results, or much of the same.
bool have_something_in_common(const PlannedStep& a, const PlannedStep& b) {
  int64_t shared = 0;
  for (const auto& [value, bytes] : b.read_bytes) {
    const std::vector<AccessValueId>& stored = a.request->stored;
    if (std::find(stored.begin(), stored.end(), value) != stored.end()) return true;
    const auto found = a.read_bytes.find(value);
    if (found != a.read_bytes.end()) shared += std::min(bytes, found->second);
  }
  const int64_t all = std::get<Kernel>(a.step).bytes.bytes + std::get<Kernel>(b.step).bytes.bytes;
  return shared * kLeastSharedShare >= all;
}

}  // namespace

bool may_be_beaten(std::span<const PlannedStep> steps, const DeviceModel& device) {
  for (size_t i = 0; i < steps.size(); ++i) {
    if (!is_settled(steps[i], device)) return true;
    for (size_t j = i + 1; j < steps.size(); ++j) {
      if (have_something_in_common(steps[i], steps[j])) return true;
    }
  }
  return false;
}

RegionSearch::RegionSearch(const AccessGraph& graph, const DeviceModel& device)
    : trials_(graph, device),
      left_(std::max(static_cast<int64_t>(graph.nodes.size()) * kBuiltPerNode, kBuiltAtLeast)) {}

std::vector<KernelRequest> RegionSearch::run(const KernelRequest& whole) {
  const RegionNodes region(trials_.graph(), whole);
  const auto [known, is_new] = known_.try_emplace(signature_of(trials_.graph(), region));
  if (is_new) {
    const int64_t own = static_cast<int64_t>(region.size()) * kBuiltPerOwnNode;
    Search search(trials_, region, std::min(left_, own));
    known->second = search.run();
    left_ -= search.effort();
  }
  std::vector<KernelRequest> requests = requests_of(region, known->second);
  return requests.empty() ? std::vector<KernelRequest>{whole} : requests;
}

}  // namespace stitch
