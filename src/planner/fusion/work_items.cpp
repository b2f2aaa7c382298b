#include "planner/fusion/work_items.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "graph/error.h"
#include "planner/access/regions.h"
#include "planner/fusion/fusion_stitching.h"
#include "planner/fusion/kernel_trials.h"
#include "planner/fusion/part_order.h"
#include "planner/fusion/xla_fusion.h"
#include "planner/kernel/contraction_kernel.h"
#include "planner/structure/kernel_structure.h"

namespace stitch {
namespace {

constexpr size_t kNoRegion = static_cast<size_t>(-1);

class ItemFinder {
 public:
  ItemFinder(const AccessGraph& graph, const ContractionChoices& choices,
             const WorkItemOptions& options)
      : graph_(graph), choices_(choices), options_(options), node_count_(graph.nodes.size()) {}

  std::vector<WorkItem> run() {
    std::vector<WorkItem> items = sets();
    add_contractions(items);
    for (WorkItem& item : items) limit(item.request);
    if (options_.fusion == FusionMode::kXla) {
      store(items, read_by_anybody());
      return items;
    }
    items = in_launch_order(std::move(items));
    store(items, read_by_others(items));
    return items;
  }

 private:
  std::vector<WorkItem> sets() {
    std::vector<WorkItem> items;
    int64_t fusions = 0;
    std::vector<Region> regions = depth_regions(graph_);
    if (options_.fusion == FusionMode::kStitch && options_.techniques.has(Technique::kSiblings)) {
      regions = join_siblings(graph_, regions);
    }
    std::vector<bool> outside;
    if (options_.fusion == FusionMode::kXla || options_.fusion == FusionMode::kFusionStitching) {
      outside = read_outside_of(regions);
    }
    for (const Region& region : regions) {
      const bool is_left_out = !is_asked_for(region.nodes);
      const bool may_fuse =
          !is_left_out && (region.nodes.size() < 2 || fusions++ < options_.max_fusions);
      switch (may_fuse ? options_.fusion : FusionMode::kNone) {
        case FusionMode::kNone:
          for (const AccessNodeId node : region.nodes) {
            items.push_back(set_of({node}, false));
            items.back().stays_alone = is_left_out;
          }
          break;
        case FusionMode::kXla:
          for (KernelRequest& kernel : fuse_like_xla(graph_, region.nodes, outside)) {
            items.push_back({std::move(kernel), false, false, {}});
          }
          break;
        case FusionMode::kFusionStitching:
          for (std::vector<AccessNodeId>& nodes : fastest_patterns(region, outside)) {
            items.push_back(set_of(std::move(nodes), false));
          }
          break;
        case FusionMode::kAStitch:
        case FusionMode::kStitch:
          items.push_back(set_of(region.nodes, true));
          break;
      }
    }
    return items;
  }

  // The latency evaluator decides between the ends of the beam search.
  FusionPatterns fastest_patterns(const Region& region, const std::vector<bool>& outside) {
    std::vector<FusionPatterns> ends =
        find_fusion_patterns(graph_, region.nodes, outside, *options_.device);
    if (ends.size() == 1) return std::move(ends.front());
    if (!trials_) trials_.emplace(graph_, *options_.device);
    std::optional<PlanScore> best_score;
    size_t best = 0;
    for (size_t e = 0; e < ends.size(); ++e) {
      const PlanScore own = score_of(ends[e], outside);
      if (best_score && !is_better(own, *best_score)) continue;
      best_score = own;
      best = e;
    }
    return std::move(ends[best]);
  }

  // As kernels that pass all between them through memory.
  PlanScore score_of(const FusionPatterns& patterns, const std::vector<bool>& outside) {
    std::vector<size_t> owner(node_count_, 0);
    for (size_t p = 0; p < patterns.size(); ++p) {
      for (const AccessNodeId node : patterns[p]) owner[node.index] = p + 1;
    }
    std::vector<bool> stored = outside;
    for (const std::vector<AccessNodeId>& nodes : patterns) {
      for (const AccessNodeId node : nodes) {
        for (const AccessValueId source : sources_of(graph_, graph_.node(node))) {
          const AccessNodeId producer = graph_.value(source).producer;
          if (producer.valid() && owner[producer.index] != owner[node.index]) {
            stored[source.index] = true;
          }
        }
      }
    }
    std::vector<WorkItem> items;
    for (const std::vector<AccessNodeId>& nodes : patterns) items.push_back(set_of(nodes, false));
    store(items, stored);
    std::vector<const TrialKernel*> kernels;
    for (const WorkItem& item : items) {
      for (const TrialKernel& kernel : trials_->kernels(item.request)) kernels.push_back(&kernel);
    }
    return score(kernels, *options_.device);
  }

  bool is_asked_for(const std::vector<AccessNodeId>& nodes) const {
    const std::vector<AccessNodeId>& only = options_.only_regions_of;
    return only.empty() ||
           std::find_first_of(nodes.begin(), nodes.end(), only.begin(), only.end()) != nodes.end();
  }

  WorkItem set_of(std::vector<AccessNodeId> nodes, bool stitched) const {
    WorkItem item;
    item.request.nodes = std::move(nodes);
    switch (options_.fusion) {
      case FusionMode::kXla:
      case FusionMode::kFusionStitching:
        item.request.forbid_waits();
        break;
      case FusionMode::kAStitch:
        item.request.grid = GridBarriers::kAlways;
        item.request.may_cluster = false;
        break;
      case FusionMode::kNone:
      case FusionMode::kStitch:
        break;
    }
    item.stitched = stitched;
    return item;
  }

  void limit(KernelRequest& request) const {
    request.techniques = options_.techniques;
    if (!options_.techniques.has(Technique::kSharedRows)) request.may_be_in_shared = false;
    if (!options_.techniques.has(Technique::kClusterScope)) request.may_cluster = false;
    if (!options_.techniques.has(Technique::kGridScope)) request.forbid_grid_waits();
  }

  // What an item stores where nothing else is said.
  void store(std::vector<WorkItem>& items, const std::vector<bool>& stored) const {
    for (WorkItem& item : items) {
      if (!item.request.stored.empty()) continue;
      for (const AccessNodeId node : item.request.nodes) {
        for (const AccessValueId result : graph_.node(node).results) {
          if (stored[result.index]) item.request.stored.push_back(result);
        }
      }
    }
  }

  // What kernels of one node store where kernels overlap.
  std::vector<bool> read_by_anybody() const {
    std::vector<bool> read(graph_.values.size(), false);
    for (size_t n = 0; n < node_count_; ++n) {
      for (const AccessValueId source : sources_of(graph_, graph_.nodes[n])) {
        read[source.index] = true;
      }
    }
    for (const AccessOutput& output : graph_.outputs) read[output.value.index] = true;
    return read;
  }

  // By value: whether a node of no region or of another one reads it, or it is an output.
  std::vector<bool> read_outside_of(const std::vector<Region>& regions) const {
    std::vector<size_t> region_of(node_count_, kNoRegion);
    for (size_t r = 0; r < regions.size(); ++r) {
      for (const AccessNodeId node : regions[r].nodes) region_of[node.index] = r;
    }
    std::vector<bool> outside(graph_.values.size(), false);
    for (size_t n = 0; n < node_count_; ++n) {
      for (const AccessValueId source : sources_of(graph_, graph_.nodes[n])) {
        const AccessNodeId producer = graph_.value(source).producer;
        if (producer.valid() &&
            (region_of[n] == kNoRegion || region_of[producer.index] != region_of[n])) {
          outside[source.index] = true;
        }
      }
    }
    for (const AccessOutput& output : graph_.outputs) outside[output.value.index] = true;
    return outside;
  }

  // A contraction that is no matter of tiles (matrix times vector, depthwise) is a sum of products
  // like any reduce: it heads the region that alone reads it. No cycle: all it reads has a smaller
  // depth than that region.
  void add_contractions(std::vector<WorkItem>& items) const {
    constexpr size_t kNobody = static_cast<size_t>(-1);
    constexpr size_t kSeveral = static_cast<size_t>(-2);
    std::vector<size_t> owner(node_count_, kNobody);
    for (size_t i = 0; i < items.size(); ++i) {
      for (const AccessNodeId node : items[i].request.nodes) {
        owner[node.index] = items[i].stitched ? i : kSeveral;
      }
    }
    std::vector<size_t> reader(graph_.values.size(), kNobody);
    for (size_t n = 0; n < node_count_; ++n) {
      const AccessNode& node = graph_.nodes[n];
      const bool has_no_region = node.kind == AccessKind::kContraction ||
                                 node.kind == AccessKind::kAssembly || node.computed_with.valid();
      const size_t by = has_no_region ? kSeveral : owner[n];
      for (const AccessValueId source : sources_of(graph_, node)) {
        size_t& known = reader[source.index];
        known = known == kNobody || known == by ? by : kSeveral;
      }
    }
    for (const AccessOutput& output : graph_.outputs) reader[output.value.index] = kSeveral;
    std::vector<std::vector<AccessNodeId>> epilogues(node_count_);
    for (size_t n = 0; n < node_count_; ++n) {
      const AccessNodeId with = graph_.nodes[n].computed_with;
      if (with.valid()) epilogues[with.index].emplace_back(n);
    }
    const size_t regions = items.size();
    for (size_t n = 0; n < node_count_; ++n) {
      const AccessNode& node = graph_.nodes[n];
      if (node.kind != AccessKind::kContraction) continue;
      const size_t by = reader[node.results.front().index];
      const bool multiplies = is_sum_of_products(AccessNodeId(n));
      if (options_.techniques.has(Technique::kProducts) && by < regions && multiplies &&
          may_head(node, items[by])) {
        std::vector<AccessNodeId>& nodes = items[by].request.nodes;
        nodes.insert(std::lower_bound(nodes.begin(), nodes.end(), AccessNodeId(n)),
                     AccessNodeId(n));
      } else {
        std::vector<AccessNodeId> nodes = std::move(epilogues[n]);
        nodes.insert(std::lower_bound(nodes.begin(), nodes.end(), AccessNodeId(n)),
                     AccessNodeId(n));
        items.push_back(set_of(std::move(nodes), false));
        items.back().stays_alone = !is_asked_for({AccessNodeId(n)});
        if (!multiplies && !is_library(AccessNodeId(n))) {
          items.back().contraction = AccessNodeId(n);
        }
      }
    }
  }

  bool is_library(AccessNodeId id) const {
    const auto choice = choices_.find(id);
    return choice != choices_.end() && choice->second.library;
  }

  bool is_sum_of_products(AccessNodeId id) const {
    return !is_library(id) && !is_tiled_contraction(graph_, graph_.node(id));
  }

  // What every thread computes by itself must not be asked for again by each point of a window.
  bool may_head(const AccessNode& contraction, const WorkItem& item) const {
    if (!is_inline_reduce(graph_, contraction)) return true;
    return std::none_of(item.request.nodes.begin(), item.request.nodes.end(), [&](AccessNodeId id) {
      const AccessNode& node = graph_.node(id);
      return is_reduce(node) && is_inline_reduce(graph_, node);
    });
  }

  // Nodes of items that compute what the node reads: of an assembly, all its parts.
  std::vector<AccessNodeId> producers_of(const AccessNode& node) const {
    std::vector<AccessNodeId> producers;
    for (const AccessValueId source : sources_of(graph_, node)) {
      const AccessNodeId producer = graph_.value(source).producer;
      if (!producer.valid()) continue;
      if (graph_.node(producer).kind != AccessKind::kAssembly) {
        producers.push_back(producer);
        continue;
      }
      const std::vector<AccessNodeId> parts = producers_of(graph_.node(producer));
      producers.insert(producers.end(), parts.begin(), parts.end());
    }
    return producers;
  }

  // Ties go to the item with the smallest first node.
  std::vector<WorkItem> in_launch_order(std::vector<WorkItem> items) const {
    std::sort(items.begin(), items.end(), [](const WorkItem& a, const WorkItem& b) {
      return a.request.nodes.front() < b.request.nodes.front();
    });
    std::vector<size_t> owner(node_count_, 0);
    for (size_t i = 0; i < items.size(); ++i) {
      for (const AccessNodeId node : items[i].request.nodes) owner[node.index] = i;
    }
    PartOrder order(items.size());
    for (size_t n = 0; n < node_count_; ++n) {
      if (graph_.nodes[n].kind == AccessKind::kAssembly) continue;
      for (const AccessNodeId producer : producers_of(graph_.nodes[n])) {
        order.add_use(owner[producer.index], owner[n]);
      }
    }
    std::vector<WorkItem> ordered;
    for (const size_t i : order.run()) ordered.push_back(std::move(items[i]));
    if (ordered.size() != items.size()) throw InternalError("kernels of a plan form a cycle");
    return ordered;
  }

  // Items share no nodes: what other items and assemblies read, and outputs.
  std::vector<bool> read_by_others(const std::vector<WorkItem>& items) const {
    std::vector<size_t> owner(node_count_, 0);
    for (size_t i = 0; i < items.size(); ++i) {
      for (const AccessNodeId node : items[i].request.nodes) owner[node.index] = i;
    }
    std::vector<bool> stored(graph_.values.size(), false);
    for (size_t n = 0; n < node_count_; ++n) {
      const bool assembles = graph_.nodes[n].kind == AccessKind::kAssembly;
      for (const AccessValueId source : sources_of(graph_, graph_.nodes[n])) {
        const AccessNodeId producer = graph_.value(source).producer;
        if (!producer.valid()) continue;
        if (assembles || owner[producer.index] != owner[n]) stored[source.index] = true;
      }
    }
    for (const AccessOutput& output : graph_.outputs) stored[output.value.index] = true;
    return stored;
  }

  const AccessGraph& graph_;
  const ContractionChoices& choices_;
  const WorkItemOptions& options_;
  const size_t node_count_;
  std::optional<KernelTrials> trials_;
};

}  // namespace

std::vector<WorkItem> find_work_items(const AccessGraph& graph, const ContractionChoices& choices,
                                      const WorkItemOptions& options) {
  return ItemFinder(graph, choices, options).run();
}

}  // namespace stitch
