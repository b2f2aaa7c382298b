#include "planner/fusion/fusion_stitching.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "planner/access/value_size.h"
#include "planner/fusion/part_order.h"

namespace stitch {
namespace {

constexpr size_t kCandidates = 3;  // per node (k of the paper)
constexpr size_t kBeam = 3;
constexpr size_t kSmallGroup = 2;  // consumers whose patterns are combined in every way

// Positions in the region, ascending, and what the pattern saves in microseconds.
struct Pattern {
  std::vector<size_t> nodes;
  double score = 0;
};

class Explorer {
 public:
  Explorer(const AccessGraph& graph, const std::vector<AccessNodeId>& region,
           const std::vector<bool>& needed, const DeviceModel& device)
      : graph_(graph), region_(region), needed_(needed), device_(device) {
    std::unordered_map<AccessValueId, size_t> producer;
    for (size_t n = 0; n < region.size(); ++n) {
      sources_.push_back(sources_of(graph, graph.node(region[n])));
      for (const AccessValueId source : sources_.back()) readers_[source].push_back(n);
      for (const AccessValueId result : graph.node(region[n]).results) producer[result] = n;
    }
    consumers_.resize(region.size());
    producers_.resize(region.size());
    for (size_t n = 0; n < region.size(); ++n) {
      for (const AccessValueId source : sources_[n]) {
        const auto found = producer.find(source);
        if (found == producer.end()) continue;
        consumers_[found->second].push_back(n);
        producers_[n].push_back(found->second);
      }
    }
  }

  std::vector<FusionPatterns> run() {
    candidates_.resize(region_.size());
    for (size_t n = region_.size(); n-- > 0;) {
      std::vector<Pattern> found = reduce(n, 0, consumers_[n].size());
      std::erase_if(found, [](const Pattern& pattern) { return pattern.nodes.size() < 2; });
      candidates_[n] = std::move(found);
    }
    std::vector<FusionPatterns> ends;
    for (std::vector<Pattern>& patterns : search()) {
      ends.push_back(partition(without_cycles(std::move(patterns))));
    }
    return ends;
  }

 private:
  // PatternReduction: patterns that begin with node `n` and reach into some of its consumers.
  std::vector<Pattern> reduce(size_t n, size_t first, size_t last) {
    const std::vector<size_t>& consumers = consumers_[n];
    std::vector<Pattern> found;
    if (last - first > kSmallGroup) {
      const size_t middle = first + (last - first) / 2;
      const std::vector<Pattern> left = reduce(n, first, middle), right = reduce(n, middle, last);
      found = left;
      found.insert(found.end(), right.begin(), right.end());
      for (const Pattern& a : left) {
        for (const Pattern& b : right) add(found, join(a.nodes, b.nodes));
      }
      return best(std::move(found));
    }
    found.push_back({{n}, 0});
    for (size_t c = first; c < last; ++c) {
      const std::vector<Pattern> before = found;
      for (const Pattern& pattern : before) {
        add(found, join(pattern.nodes, {consumers[c]}));
        for (const Pattern& next : candidates_[consumers[c]]) {
          add(found, join(pattern.nodes, next.nodes));
        }
      }
    }
    return best(std::move(found));
  }

  void add(std::vector<Pattern>& patterns, std::vector<size_t> nodes) const {
    if (!is_convex(nodes)) return;
    const double score = delta(nodes);
    patterns.push_back({std::move(nodes), score});
  }

  // Delta evaluator: bytes that no longer pass through memory, and launches.
  double delta(const std::vector<size_t>& nodes) const {
    std::map<AccessValueId, int64_t> reads;
    for (const size_t n : nodes) {
      for (const AccessValueId source : sources_[n]) ++reads[source];
    }
    std::set<AccessValueId> results;
    double bytes = 0;
    for (const size_t n : nodes) {
      for (const AccessValueId result : graph_.node(region_[n]).results) {
        results.insert(result);
        const auto found = reads.find(result);
        if (found == reads.end()) continue;
        const auto all = static_cast<int64_t>(readers_.at(result).size());
        const bool gone = !needed_[result.index] && found->second == all;
        bytes += static_cast<double>((found->second + (gone ? 1 : 0)) * bytes_of(result));
      }
    }
    for (const auto& [value, count] : reads) {
      if (results.count(value) != 0) continue;
      bytes += static_cast<double>((count - 1) * bytes_of(value));
    }
    return bytes / device_.dram_gbps / 1e3 +
           static_cast<double>(nodes.size() - 1) * device_.launch_us;
  }

  int64_t bytes_of(AccessValueId id) const { return byte_count(graph_.value(id)); }

  // No path leaves the set and comes back.
  bool is_convex(const std::vector<size_t>& nodes) const {
    std::vector<size_t> open;
    for (const size_t n : nodes) {
      for (const size_t c : consumers_[n]) {
        if (c < nodes.back() && !std::binary_search(nodes.begin(), nodes.end(), c)) {
          open.push_back(c);
        }
      }
    }
    std::set<size_t> seen;
    while (!open.empty()) {
      const size_t n = open.back();
      open.pop_back();
      if (!seen.insert(n).second) continue;
      for (const size_t c : consumers_[n]) {
        if (std::binary_search(nodes.begin(), nodes.end(), c)) return false;
        if (c < nodes.back()) open.push_back(c);
      }
    }
    return true;
  }

  static std::vector<size_t> join(const std::vector<size_t>& a, const std::vector<size_t>& b) {
    std::vector<size_t> both;
    std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
    return both;
  }

  // The highest scores, each set once; ties go to the smaller nodes.
  static std::vector<Pattern> best(std::vector<Pattern> patterns) {
    std::sort(patterns.begin(), patterns.end(), [](const Pattern& a, const Pattern& b) {
      return a.score != b.score ? a.score > b.score : a.nodes < b.nodes;
    });
    patterns.erase(
        std::unique(patterns.begin(), patterns.end(),
                    [](const Pattern& a, const Pattern& b) { return a.nodes == b.nodes; }),
        patterns.end());
    if (patterns.size() > kCandidates) patterns.resize(kCandidates);
    return patterns;
  }

  struct Beam {
    std::vector<Pattern> patterns;
    std::vector<bool> taken;
    double score = 0;
  };

  // Beam search over disjoint candidates, producers first.
  std::vector<std::vector<Pattern>> search() const {
    std::vector<Beam> beams = {{{}, std::vector<bool>(region_.size(), false), 0}};
    for (size_t n = 0; n < region_.size(); ++n) {
      if (candidates_[n].empty()) continue;
      std::vector<Beam> next = beams;
      for (const Beam& beam : beams) {
        for (const Pattern& pattern : candidates_[n]) {
          if (std::any_of(pattern.nodes.begin(), pattern.nodes.end(),
                          [&](size_t node) { return beam.taken[node]; })) {
            continue;
          }
          Beam longer = beam;
          for (const size_t node : pattern.nodes) longer.taken[node] = true;
          longer.score += pattern.score;
          longer.patterns.push_back(pattern);
          next.push_back(std::move(longer));
        }
      }
      std::stable_sort(next.begin(), next.end(),
                       [](const Beam& a, const Beam& b) { return a.score > b.score; });
      if (next.size() > kBeam) next.resize(kBeam);
      beams = std::move(next);
    }
    std::vector<std::vector<Pattern>> ends;
    for (Beam& beam : beams) ends.push_back(std::move(beam.patterns));
    return ends;
  }

  // Disjoint convex patterns can wait for each other: the cheapest goes until none does.
  std::vector<Pattern> without_cycles(std::vector<Pattern> patterns) const {
    while (waits_for_itself(patterns)) {
      patterns.erase(
          std::min_element(patterns.begin(), patterns.end(),
                           [](const Pattern& a, const Pattern& b) { return a.score < b.score; }));
    }
    return patterns;
  }

  std::vector<size_t> owners(const std::vector<Pattern>& patterns) const {
    std::vector<size_t> owner(region_.size());
    for (size_t n = 0; n < region_.size(); ++n) owner[n] = patterns.size() + n;
    for (size_t p = 0; p < patterns.size(); ++p) {
      for (const size_t n : patterns[p].nodes) owner[n] = p;
    }
    return owner;
  }

  bool waits_for_itself(const std::vector<Pattern>& patterns) const {
    const std::vector<size_t> owner = owners(patterns);
    PartOrder order(patterns.size() + region_.size());
    for (size_t n = 0; n < region_.size(); ++n) {
      for (const size_t p : producers_[n]) order.add_use(owner[p], owner[n]);
    }
    return order.has_cycle();
  }

  FusionPatterns partition(const std::vector<Pattern>& patterns) const {
    const std::vector<size_t> owner = owners(patterns);
    std::map<size_t, std::vector<AccessNodeId>> sets;
    for (size_t n = 0; n < region_.size(); ++n) sets[owner[n]].push_back(region_[n]);
    FusionPatterns result;
    for (auto& [key, nodes] : sets) result.push_back(std::move(nodes));
    return result;
  }

  const AccessGraph& graph_;
  const std::vector<AccessNodeId>& region_;
  const std::vector<bool>& needed_;
  const DeviceModel& device_;
  std::vector<std::vector<AccessValueId>> sources_;
  std::unordered_map<AccessValueId, std::vector<size_t>> readers_;
  std::vector<std::vector<size_t>> consumers_, producers_;
  std::vector<std::vector<Pattern>> candidates_;
};

}  // namespace

std::vector<FusionPatterns> find_fusion_patterns(const AccessGraph& graph,
                                                 const std::vector<AccessNodeId>& region,
                                                 const std::vector<bool>& needed,
                                                 const DeviceModel& device) {
  return Explorer(graph, region, needed, device).run();
}

}  // namespace stitch
