#include "planner/make_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <unordered_map>
#include <utility>

#include "graph/error.h"
#include "planner/absorb.h"
#include "planner/absorb_copies.h"
#include "planner/assembly.h"
#include "planner/contraction_kernel.h"
#include "planner/cost.h"
#include "planner/device_model.h"
#include "planner/kernel_builder.h"
#include "planner/kernel_facts.h"
#include "planner/kernel_structure.h"
#include "planner/launch.h"
#include "planner/naming.h"
#include "planner/packing.h"
#include "planner/plan_buffers.h"
#include "planner/regions.h"
#include "planner/sibling_merge.h"
#include "planner/step_order.h"
#include "planner/traffic_notes.h"
#include "planner/xla_fusion.h"

namespace stitch {
namespace {

// Of the bytes of a cut: what has to be saved before a detour through shared memory is taken, whose
// accesses are no vectors.
constexpr int64_t kLeastSavedShare = 16;

// Nodes that are planned together: a region, a part of one, or one node.
struct WorkItem {
  std::vector<AccessNodeId> nodes;       // topological
  bool stitched = true;                  // may take in the contraction that heads it
  std::optional<KernelRequest> request;  // what it stores and may do; none: all that others read
};

class Planner {
 public:
  Planner(const Graph& graph, const PlanOptions& options, const DeviceModel& device)
      : options_(options), device_(device) {
    plan_.graph = build_access_graph(graph);
    plan_.device = device.name;
    plan_.architecture = device.architecture;
    absorb();
    node_count_ = plan_.graph.nodes.size();
  }

  Plan run() {
    require_known_kinds();
    std::vector<WorkItem> items = work_items();
    if (options_.fusion == FusionMode::kXla) {
      is_stored_ = read_by_anybody();
    } else {
      items = in_launch_order(std::move(items));
      find_readers(items);
    }
    PlanBuffers buffers(plan_);
    for (const PartInside& part : parts_) buffers.place_inside(part);
    KernelBuilder builder(plan_, buffers, device_);
    for (size_t i = 0; i < items.size(); ++i) plan_item(items[i], i, buffers, builder);
    if (options_.fusion == FusionMode::kXla)
      steps_ = stitch::in_launch_order(plan_, std::move(steps_));
    if (options_.fusion != FusionMode::kNone) {
      steps_ = merge_siblings(plan_, builder, device_, std::move(steps_));
      steps_ = pack_kernels(plan_, builder, std::move(steps_));
    }
    for (PlannedStep& planned : steps_) {
      if (Kernel* const kernel = std::get_if<Kernel>(&planned.step)) set_launch(*kernel, device_);
      plan_.steps.push_back(std::move(planned.step));
    }
    name_kernels();
    buffers.lay_out();
    for (std::string& note : traffic_notes(plan_)) plan_.notes.push_back(std::move(note));
    return std::move(plan_);
  }

 private:
  // Layouts go into contractions before regions are cut (stitching.md 7a).
  void absorb() {
    switch (options_.contractions) {
      case ContractionMode::kLibrary:
        for (ContractionChoice& choice : absorb_layouts(plan_.graph, device_)) {
          const AccessNodeId node = choice.node;
          choices_.emplace(node, std::move(choice));
        }
        break;
      case ContractionMode::kOwn:
        write_copies_directly(plan_.graph);
        break;
    }
    if (options_.fusion == FusionMode::kStitch) parts_ = assemble_in_place(plan_.graph);
    set_depths(plan_.graph);
    plan_.regions = static_cast<int>(depth_regions(plan_.graph).size());
    if (options_.fusion == FusionMode::kStitch) sink_to_readers(plan_.graph);
  }

  void require_known_kinds() const {
    for (const AccessNode& node : plan_.graph.nodes) {
      switch (node.kind) {
        case AccessKind::kElementwise:
        case AccessKind::kIndex:
        case AccessKind::kReduce:
        case AccessKind::kArgReduce:
        case AccessKind::kContraction:
        case AccessKind::kAssembly:
          break;
        case AccessKind::kScan:
        case AccessKind::kSort:
        case AccessKind::kScatter:
          throw ModelError(fmt::format("{} has no kernel yet", describe(node)));
      }
    }
  }

  std::string describe(const AccessNode& node) const {
    if (node.sources.empty()) return std::string(name(node.op));
    const SourceNode& source = plan_.graph.graph->source(node.sources.front());
    return fmt::format("{} ({})", source.name, source.op_type);
  }

  std::vector<WorkItem> work_items() {
    std::vector<WorkItem> items;
    int64_t fusions = 0;
    const std::vector<bool> outside = read_outside_of_regions();
    for (const Region& region : depth_regions(plan_.graph)) {
      const bool may_fuse = region.nodes.size() < 2 || fusions++ < options_.max_fusions;
      switch (may_fuse ? options_.fusion : FusionMode::kNone) {
        case FusionMode::kNone:
          for (const AccessNodeId node : region.nodes) items.push_back({{node}, false, {}});
          break;
        case FusionMode::kXla:
          for (KernelRequest& kernel : fuse_like_xla(plan_.graph, region.nodes, outside)) {
            items.push_back({kernel.nodes, false, std::move(kernel)});
          }
          break;
        case FusionMode::kAStitch:
        case FusionMode::kStitch:
          items.push_back({region.nodes, true, {}});
          break;
      }
    }
    add_contractions(items);
    return items;
  }

  // What kernels of one node store where kernels overlap.
  std::vector<bool> read_by_anybody() const {
    std::vector<bool> read(plan_.graph.values.size(), false);
    for (size_t n = 0; n < node_count_; ++n) {
      for (const AccessValueId source : sources_of(plan_.graph, plan_.graph.nodes[n])) {
        read[source.index] = true;
      }
    }
    for (const AccessOutput& output : plan_.graph.outputs) read[output.value.index] = true;
    return read;
  }

  // By value: whether a node of no region or of another one reads it, or it is an output.
  std::vector<bool> read_outside_of_regions() const {
    std::vector<size_t> region_of(node_count_, kNoRegion);
    const std::vector<Region> regions = depth_regions(plan_.graph);
    for (size_t r = 0; r < regions.size(); ++r) {
      for (const AccessNodeId node : regions[r].nodes) region_of[node.index] = r;
    }
    std::vector<bool> outside(plan_.graph.values.size(), false);
    for (size_t n = 0; n < node_count_; ++n) {
      for (const AccessValueId source : sources_of(plan_.graph, plan_.graph.nodes[n])) {
        const AccessNodeId producer = plan_.graph.value(source).producer;
        if (producer.valid() &&
            (region_of[n] == kNoRegion || region_of[producer.index] != region_of[n])) {
          outside[source.index] = true;
        }
      }
    }
    for (const AccessOutput& output : plan_.graph.outputs) outside[output.value.index] = true;
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
      for (const AccessNodeId node : items[i].nodes) {
        owner[node.index] = items[i].stitched ? i : kSeveral;
      }
    }
    std::vector<size_t> reader(plan_.graph.values.size(), kNobody);
    for (size_t n = 0; n < node_count_; ++n) {
      const AccessKind kind = plan_.graph.nodes[n].kind;
      const bool has_no_region = kind == AccessKind::kContraction || kind == AccessKind::kAssembly;
      const size_t by = has_no_region ? kSeveral : owner[n];
      for (const AccessValueId source : sources_of(plan_.graph, plan_.graph.nodes[n])) {
        size_t& known = reader[source.index];
        known = known == kNobody || known == by ? by : kSeveral;
      }
    }
    for (const AccessOutput& output : plan_.graph.outputs) reader[output.value.index] = kSeveral;
    for (size_t n = 0; n < node_count_; ++n) {
      const AccessNode& node = plan_.graph.nodes[n];
      if (node.kind != AccessKind::kContraction) continue;
      const size_t by = reader[node.results.front().index];
      if (by < items.size() && is_sum_of_products(AccessNodeId(n)) && may_head(node, items[by])) {
        std::vector<AccessNodeId>& nodes = items[by].nodes;
        nodes.insert(std::lower_bound(nodes.begin(), nodes.end(), AccessNodeId(n)),
                     AccessNodeId(n));
      } else {
        items.push_back({{AccessNodeId(n)}, false, {}});
      }
    }
  }

  bool is_sum_of_products(AccessNodeId id) const {
    const auto choice = choices_.find(id);
    if (choice != choices_.end() && choice->second.library) return false;
    return !is_tiled_contraction(plan_.graph, plan_.graph.node(id));
  }

  // What every thread computes by itself must not be asked for again by each point of a window.
  bool may_head(const AccessNode& contraction, const WorkItem& item) const {
    if (!is_inline_reduce(plan_.graph, contraction)) return true;
    return std::none_of(item.nodes.begin(), item.nodes.end(), [&](AccessNodeId id) {
      const AccessNode& node = plan_.graph.node(id);
      return is_reduce(node) && is_inline_reduce(plan_.graph, node);
    });
  }

  // Nodes of items that compute what the node reads: of an assembly, all its parts.
  std::vector<AccessNodeId> producers_of(const AccessNode& node) const {
    std::vector<AccessNodeId> producers;
    for (const AccessValueId source : sources_of(plan_.graph, node)) {
      const AccessNodeId producer = plan_.graph.value(source).producer;
      if (!producer.valid()) continue;
      if (plan_.graph.node(producer).kind != AccessKind::kAssembly) {
        producers.push_back(producer);
        continue;
      }
      const std::vector<AccessNodeId> parts = producers_of(plan_.graph.node(producer));
      producers.insert(producers.end(), parts.begin(), parts.end());
    }
    return producers;
  }

  // Kahn's algorithm; ties go to the item with the smallest first node.
  std::vector<WorkItem> in_launch_order(std::vector<WorkItem> items) const {
    std::sort(items.begin(), items.end(), [](const WorkItem& a, const WorkItem& b) {
      return a.nodes.front() < b.nodes.front();
    });
    std::vector<size_t> owner(node_count_, 0);
    for (size_t i = 0; i < items.size(); ++i) {
      for (const AccessNodeId node : items[i].nodes) owner[node.index] = i;
    }
    std::vector<std::set<size_t>> users(items.size());
    std::vector<size_t> waits(items.size(), 0);
    for (size_t n = 0; n < node_count_; ++n) {
      if (plan_.graph.nodes[n].kind == AccessKind::kAssembly) continue;
      for (const AccessNodeId producer : producers_of(plan_.graph.nodes[n])) {
        if (owner[producer.index] == owner[n]) continue;
        if (users[owner[producer.index]].insert(owner[n]).second) ++waits[owner[n]];
      }
    }
    std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
    for (size_t i = 0; i < items.size(); ++i) {
      if (waits[i] == 0) ready.push(i);
    }
    std::vector<WorkItem> ordered;
    while (!ready.empty()) {
      const size_t i = ready.top();
      ready.pop();
      ordered.push_back(items[i]);
      for (const size_t user : users[i]) {
        if (--waits[user] == 0) ready.push(user);
      }
    }
    if (ordered.size() != items.size()) throw InternalError("kernels of a plan form a cycle");
    return ordered;
  }

  void find_readers(const std::vector<WorkItem>& items) {
    std::vector<size_t> owner(node_count_, 0);
    for (size_t i = 0; i < items.size(); ++i) {
      for (const AccessNodeId node : items[i].nodes) owner[node.index] = i;
    }
    is_stored_.assign(plan_.graph.values.size(), false);
    for (size_t n = 0; n < node_count_; ++n) {
      const bool assembles = plan_.graph.nodes[n].kind == AccessKind::kAssembly;
      for (const AccessValueId source : sources_of(plan_.graph, plan_.graph.nodes[n])) {
        const AccessNodeId producer = plan_.graph.value(source).producer;
        if (!producer.valid()) continue;
        if (assembles || owner[producer.index] != owner[n]) is_stored_[source.index] = true;
      }
    }
    for (const AccessOutput& output : plan_.graph.outputs) is_stored_[output.value.index] = true;
  }

  void plan_item(const WorkItem& item, size_t number, PlanBuffers& buffers,
                 KernelBuilder& builder) {
    const AccessNodeId first = item.nodes.front();
    const AccessNode& node = plan_.graph.node(first);
    const auto choice = choices_.find(first);
    if (item.nodes.size() == 1 && choice != choices_.end()) {
      if (choice->second.library) return add_call(choice->second.layout, buffers);
      plan_.notes.push_back(
          fmt::format("{}: own kernel: {}", describe(node), choice->second.reason));
    }
    if (item.nodes.size() == 1 && node.kind == AccessKind::kContraction &&
        is_tiled_contraction(plan_.graph, node)) {
      steps_.push_back({build_contraction(plan_, buffers, device_, first), std::nullopt, {}});
      return;
    }
    if (item.request) return plan_request(*item.request, builder, number);
    KernelRequest request;
    request.nodes = item.nodes;
    request.grid = options_.fusion == FusionMode::kAStitch ? GridBarriers::kAlways
                                                           : GridBarriers::kWhereFaster;
    for (const AccessNodeId member : item.nodes) {
      for (const AccessValueId result : plan_.graph.node(member).results) {
        if (is_stored_[result.index]) request.stored.push_back(result);
      }
    }
    plan_request(request, builder, number);
  }

  void add_call(const MatmulLayout& layout, PlanBuffers& buffers) {
    for (const MatmulMatrix* matrix : {&layout.a, &layout.b, &layout.d}) buffers.of(matrix->value);
    if (layout.bias.valid()) buffers.of(layout.bias);
    steps_.push_back(
        {LibraryMatmul{layout, plan_.graph.node(layout.node).sources}, std::nullopt, {}});
  }

  void plan_request(const KernelRequest& request, KernelBuilder& builder, size_t number,
                    const std::string& why_not_larger = {}) {
    if (request.stored.empty() || writes_nothing(request)) return;
    std::variant<BuiltKernel, KernelCut> built = builder.build(request);
    if (BuiltKernel* const done = std::get_if<BuiltKernel>(&built)) {
      done->kernel.why_not_larger = why_not_larger;
      steps_.push_back({std::move(done->kernel), request, std::move(done->read_bytes)});
      return;
    }
    const KernelCut& cut = std::get<KernelCut>(built);
    const auto first = static_cast<std::ptrdiff_t>(steps_.size());
    for (const KernelRequest& piece : cut.pieces) {
      plan_request(piece, builder, number, cut.reason);
    }
    if (request.may_be_in_shared && replace_by_shared(request, builder, first)) return;
    plan_.notes.push_back(
        fmt::format("region {}: cut in {}: {}", number, cut.pieces.size(), cut.reason));
  }

  // Takes one kernel that keeps everything in shared memory for the steps from `first` on, where
  // that is possible, saves traffic and takes no longer.
  bool replace_by_shared(KernelRequest request, KernelBuilder& builder, std::ptrdiff_t first) {
    request.in_shared = true;
    std::variant<BuiltKernel, KernelCut> built = builder.build(request);
    BuiltKernel* const together = std::get_if<BuiltKernel>(&built);
    if (together == nullptr) return false;
    std::vector<PlannedStep> apart(std::make_move_iterator(steps_.begin() + first),
                                   std::make_move_iterator(steps_.end()));
    steps_.resize(static_cast<size_t>(first));
    int64_t bytes = 0;
    for (const PlannedStep& step : apart) bytes += std::get<Kernel>(step.step).bytes.bytes;
    const bool saves = (bytes - together->kernel.bytes.bytes) * kLeastSavedShare >= bytes;
    if (saves && predicted_us(together->kernel, device_) <= level_by_level_us(apart)) {
      steps_.push_back({std::move(together->kernel), request, std::move(together->read_bytes)});
      return true;
    }
    std::move(apart.begin(), apart.end(), std::back_inserter(steps_));
    return false;
  }

  // As if what is independent were packed.
  double level_by_level_us(const std::vector<PlannedStep>& steps) const {
    const std::vector<int> levels = step_levels(buffers_of(plan_, steps));
    std::map<int, std::vector<const Kernel*>> by_level;
    for (size_t i = 0; i < steps.size(); ++i) {
      by_level[levels[i]].push_back(&std::get<Kernel>(steps[i].step));
    }
    double us = 0;
    for (const auto& [level, kernels] : by_level) us += packed_us(kernels, device_);
    return us;
  }

  // Tensors without elements need no kernel.
  bool writes_nothing(const KernelRequest& request) const {
    return std::all_of(request.stored.begin(), request.stored.end(), [&](AccessValueId value) {
      const std::vector<int64_t>& extents = plan_.graph.value(value).extents;
      return std::find(extents.begin(), extents.end(), 0) != extents.end();
    });
  }

  void name_kernels() {
    int number = 0;
    for (Step& step : plan_.steps) {
      if (Kernel* const kernel = std::get_if<Kernel>(&step)) {
        kernel->name = name_of(*kernel, number);
        int twin_number = 0;
        for (Kernel& twin : kernel->twin) {
          twin.name = kernel->name + "_twin";
          if (kernel->twin.size() > 1) twin.name += std::to_string(++twin_number);
        }
      }
      ++number;
    }
  }

  std::string name_of(const Kernel& kernel, int number) const {
    if (!kernel.sources.empty()) return kernel_name(number, *plan_.graph.graph, kernel.sources);
    const AccessValueId copied = copied_value(plan_.graph, kernel);
    return copy_kernel_name(number, copied.valid() ? plan_.graph.value(copied).name : "");
  }

  static constexpr size_t kNoRegion = static_cast<size_t>(-1);
  const PlanOptions& options_;
  const DeviceModel& device_;
  Plan plan_;
  size_t node_count_ = 0;  // before kernels cloned any
  std::vector<PartInside> parts_;
  std::vector<bool> is_stored_;
  std::vector<PlannedStep> steps_;
  std::unordered_map<AccessNodeId, ContractionChoice> choices_;
};

}  // namespace

Plan make_plan(const Graph& graph, const PlanOptions& options) {
  return Planner(graph, options, find_device(options.device, options.architecture)).run();
}

}  // namespace stitch
