#include "planner/make_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

#include "graph/error.h"
#include "planner/absorb/absorb.h"
#include "planner/absorb/absorb_copies.h"
#include "planner/absorb/assembly.h"
#include "planner/absorb/matrix_layout.h"
#include "planner/absorb/sliced_products.h"
#include "planner/absorb/value_order.h"
#include "planner/access/regions.h"
#include "planner/cost/launch.h"
#include "planner/device/device_model.h"
#include "planner/fusion/chain_merge.h"
#include "planner/fusion/epilogue.h"
#include "planner/fusion/packing.h"
#include "planner/fusion/prologue.h"
#include "planner/fusion/region_search.h"
#include "planner/fusion/sibling_merge.h"
#include "planner/fusion/step_builder.h"
#include "planner/fusion/work_items.h"
#include "planner/kernel/contraction_kernel.h"
#include "planner/kernel/kernel_builder.h"
#include "planner/plan/naming.h"
#include "planner/plan/plan_buffers.h"
#include "planner/report/kernel_facts.h"
#include "planner/report/traffic_notes.h"

namespace stitch {
namespace {

class Planner {
 public:
  // `graph`: as it was built; absorbed here, as the options want it.
  Planner(AccessGraph graph, const PlanOptions& options, const DeviceModel& device,
          JointKernels& joints, const PlanDecisions* decided = nullptr)
      : options_(options), device_(device), joints_(joints), decided_(decided) {
    plan_.graph = std::move(graph);
    plan_.device = device.name;
    plan_.architecture = device.architecture;
    absorb();
  }

  // What was decided goes to `decisions` where that is not null.
  Plan run(PlanDecisions* decisions = nullptr) {
    require_known_kinds();
    const FusionMode sets = decided_ == nullptr ? options_.fusion : FusionMode::kStitch;
    std::vector<WorkItem> items = find_work_items(
        plan_.graph, choices_,
        {sets, &device_, options_.max_fusions, options_.only_regions_of, options_.techniques});
    PlanBuffers buffers(plan_);
    for (const PartInside& part : parts_) buffers.place_inside(part);
    KernelBuilder builder(plan_, buffers, device_);
    StepBuilder steps(plan_.graph, builder, device_);
    if (options_.fusion == FusionMode::kStitch && options_.techniques.has(Technique::kSearch)) {
      search_.emplace(plan_.graph, device_);
    }
    if (decided_ != nullptr) {
      DecidedItems taken = apply_decisions(plan_.graph, choices_, items, *decided_);
      for (const DecidedItems::Item& kernel : taken.kernels) build_decided(kernel, steps);
      items = std::move(taken.others);
      regions_anew_ = taken.regions_anew;
    }
    for (size_t i = 0; i < items.size(); ++i) {
      const size_t before = steps_.size();
      plan_item(items[i], i, buffers, steps);
      if (!items[i].stays_alone) continue;
      for (size_t s = before; s < steps_.size(); ++s) steps_[s].request.reset();
    }
    if (sets == FusionMode::kXla || decided_ != nullptr)
      steps_ = in_launch_order(plan_, std::move(steps_));
    if (options_.fusion != FusionMode::kNone && decided_ == nullptr) merge_kernels(builder);
    if (decisions != nullptr) decisions->kernels = decided_kernels(plan_.graph, steps_);
    if (options_.fusion != FusionMode::kNone) pack(builder);
    if (decisions != nullptr) note_decisions(*decisions);
    for (PlannedStep& planned : steps_) {
      if (Kernel* const kernel = std::get_if<Kernel>(&planned.step)) set_launch(*kernel, device_);
      plan_.steps.push_back(std::move(planned.step));
    }
    name_kernels();
    buffers.lay_out();
    for (std::string& note : traffic_notes(plan_)) plan_.notes.push_back(std::move(note));
    return std::move(plan_);
  }

  int regions_anew() const { return regions_anew_; }

  // Whether independent regions that read the same inputs are planned as one (regions.h).
  bool joins_regions() const {
    if (options_.fusion != FusionMode::kStitch || !options_.techniques.has(Technique::kSiblings)) {
      return false;
    }
    const std::vector<Region> regions = depth_regions(plan_.graph);
    return join_siblings(plan_.graph, regions).size() != regions.size();
  }

 private:
  void merge_kernels(KernelBuilder& builder) {
    if (options_.fusion == FusionMode::kStitch && options_.techniques.has(Technique::kChains)) {
      steps_ = merge_chains(plan_, builder, device_, std::move(steps_), joints_);
    }
    if (options_.techniques.has(Technique::kSiblings)) {
      steps_ = merge_siblings(plan_, builder, device_, std::move(steps_));
    }
  }

  void pack(KernelBuilder& builder) {
    if (options_.techniques.has(Technique::kPacking)) {
      steps_ = pack_kernels(plan_, builder, device_, std::move(steps_));
    }
  }

  // Layouts go into contractions before regions are cut (stitching.md 7a).
  void absorb() {
    if (options_.fusion == FusionMode::kStitch && options_.techniques.has(Technique::kProducts)) {
      split_sliced_products(plan_.graph, [this](AccessNodeId node) {
        return !is_tiled_contraction(plan_.graph, plan_.graph.node(node));
      });
      set_depths(plan_.graph);
    }
    switch (options_.contractions) {
      case ContractionMode::kLibrary:
        for (ContractionChoice& choice :
             absorb_layouts(plan_.graph, device_, library_decision(), has_epilogues())) {
          const AccessNodeId node = choice.node;
          choices_.emplace(node, std::move(choice));
        }
        break;
      case ContractionMode::kOwn:
        write_copies_directly(plan_.graph);
        break;
    }
    if (options_.techniques.has(Technique::kMatrixLayout)) {
      lay_out_matrices(plan_.graph, [this](AccessNodeId node) {
        return !is_library(node) && !is_tiled_contraction(plan_.graph, plan_.graph.node(node));
      });
    }
    if (options_.fusion == FusionMode::kStitch && options_.techniques.has(Technique::kValueOrder)) {
      choose_value_orders(plan_.graph, [this](AccessNodeId node) { return is_library(node); });
    }
    if (options_.fusion == FusionMode::kStitch) parts_ = assemble_in_place(plan_.graph);
    set_depths(plan_.graph);
    plan_.regions = static_cast<int>(depth_regions(plan_.graph).size());
    if (options_.fusion != FusionMode::kStitch) return;
    if (has_epilogues()) {
      const EpilogueOptions options = {[this](AccessNodeId node) { return has_own_kernel(node); },
                                       options_.max_fusions, options_.only_regions_of};
      take_epilogues(plan_.graph, options);
      take_prologues(plan_.graph, options);
    }
    sink_to_readers(plan_.graph);
  }

  bool has_epilogues() const {
    return options_.fusion == FusionMode::kStitch && options_.techniques.has(Technique::kEpilogues);
  }

  LibraryDecision library_decision() const {
    if (decided_ == nullptr) return {};
    return [this](const AccessNode& node) -> std::optional<bool> {
      if (node.origin.ordinal < 0) return std::nullopt;
      const auto found = decided_->library.find(name_of_origin(plan_.graph, node));
      return found == decided_->library.end() ? std::nullopt : std::optional(found->second);
    };
  }

  void build_decided(const DecidedItems::Item& kernel, StepBuilder& builder) {
    BuiltSteps built = builder.build(kernel.request);
    for (PlannedStep& step : built.steps) {
      step.decided_launch = kernel.launch;
      steps_.push_back(std::move(step));
    }
    for (const std::string& cut : built.cuts) {
      plan_.notes.push_back(fmt::format("a kernel that is taken over: {}", cut));
    }
  }

  // Behind the packing: kernels of one launch get its number.
  void note_decisions(PlanDecisions& decisions) const {
    decisions.fusion = options_.fusion;
    decisions.techniques = options_.techniques;
    for (const auto& [id, choice] : choices_) {
      const AccessNode& node = plan_.graph.node(id);
      if (node.origin.ordinal < 0) continue;
      decisions.library[name_of_origin(plan_.graph, node)] = choice.library;
    }
    number_launches(plan_, steps_, decisions.kernels);
  }

  bool has_own_kernel(AccessNodeId contraction) const {
    return !is_library(contraction) &&
           is_tiled_contraction(plan_.graph, plan_.graph.node(contraction));
  }

  bool is_library(AccessNodeId contraction) const {
    const auto choice = choices_.find(contraction);
    return choice != choices_.end() && choice->second.library;
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

  void plan_item(const WorkItem& item, size_t number, PlanBuffers& buffers, StepBuilder& builder) {
    const std::vector<AccessNodeId>& nodes = item.request.nodes;
    const AccessNodeId first = item.contraction.valid() ? item.contraction : nodes.front();
    const AccessNode& node = plan_.graph.node(first);
    const auto choice = choices_.find(first);
    if ((nodes.size() == 1 || item.contraction.valid()) && choice != choices_.end()) {
      if (choice->second.library) return add_call(choice->second.layout, buffers);
      plan_.notes.push_back(
          fmt::format("{}: own kernel: {}", describe(node), choice->second.reason));
    }
    if (item.contraction.valid() && !item.request.stored.empty()) {
      steps_.push_back(
          {build_contraction(plan_, buffers, device_, {first, nodes, item.request.stored}),
           std::nullopt,
           {}});
      return;
    }
    BuiltSteps built =
        item.stitched ? build_region(item.request, builder) : builder.build(item.request);
    std::move(built.steps.begin(), built.steps.end(), std::back_inserter(steps_));
    for (const std::string& cut : built.cuts) {
      plan_.notes.push_back(fmt::format("region {}: {}", number, cut));
    }
  }

  // One kernel where nothing can be better, else what the search finds.
  BuiltSteps build_region(const KernelRequest& whole, StepBuilder& builder) {
    BuiltSteps built = builder.build(whole);
    if (!search_ || !may_be_beaten(built.steps, device_)) return built;
    const std::vector<KernelRequest> requests = search_->run(whole);
    if (requests.size() == 1 && requests.front().may_wait == whole.may_wait) return built;
    built = {};
    for (const KernelRequest& request : requests) {
      BuiltSteps part = builder.build(request);
      std::move(part.steps.begin(), part.steps.end(), std::back_inserter(built.steps));
      std::move(part.cuts.begin(), part.cuts.end(), std::back_inserter(built.cuts));
    }
    return built;
  }

  void add_call(const MatmulLayout& layout, PlanBuffers& buffers) {
    for (const MatmulMatrix* matrix : {&layout.a, &layout.b, &layout.d}) buffers.of(matrix->value);
    for (const AccessValueId added : {layout.c.value, layout.bias}) {
      if (added.valid()) buffers.of(added);
    }
    steps_.push_back(
        {LibraryMatmul{layout, plan_.graph.node(layout.node).sources}, std::nullopt, {}});
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

  const PlanOptions& options_;
  const DeviceModel& device_;
  JointKernels& joints_;
  const PlanDecisions* decided_;  // null: nothing is decided yet
  int regions_anew_ = 0;
  Plan plan_;
  std::vector<PartInside> parts_;
  std::vector<PlannedStep> steps_;
  ContractionChoices choices_;
  std::optional<RegionSearch> search_;  // mode stitch
};

// Above, only the mode that is nearest is tried too: planning takes its time.
constexpr size_t kMostNodesForAllModes = 4096;

int64_t moved_bytes(const Plan& plan) {
  int64_t bytes = 0;
  for (const Step& step : plan.steps) {
    if (const Kernel* const kernel = std::get_if<Kernel>(&step)) bytes += kernel->bytes.bytes;
  }
  return bytes;
}

// Faster, or as fast with fewer bytes.
bool is_better(const Plan& plan, const Plan& best) {
  constexpr double kRounding = 1e-9;
  const double us = predicted_us(plan), best_us = predicted_us(best);
  if (std::abs(us - best_us) > kRounding * best_us) return us < best_us;
  return moved_bytes(plan) < moved_bytes(best);
}

size_t library_calls(const Plan& plan) {
  return static_cast<size_t>(
      std::count_if(plan.steps.begin(), plan.steps.end(),
                    [](const Step& step) { return !std::holds_alternative<Kernel>(step); }));
}

// What mode stitch tries beside its search, likely ones first.
std::vector<PlanOptions> other_starts(const Graph& graph, const PlanOptions& options,
                                      bool joins_regions) {
  std::vector<PlanOptions> starts(joins_regions ? 3 : 2, options);
  starts[0].techniques.leave_out(Technique::kSearch);
  starts[1].techniques.leave_out(Technique::kProducts);
  if (joins_regions) starts[2].techniques.leave_out(Technique::kSiblings);
  for (const FusionMode mode :
       {FusionMode::kAStitch, FusionMode::kFusionStitching, FusionMode::kXla}) {
    starts.push_back(options);
    starts.back().fusion = mode;
    if (graph.node_count() > kMostNodesForAllModes) break;
  }
  return starts;
}

}  // namespace

double predicted_us(const Plan& plan) {
  double us = 0;
  for (const Step& step : plan.steps) {
    if (const Kernel* const kernel = std::get_if<Kernel>(&step)) us += kernel->estimate.total_us;
  }
  return us;
}

namespace {

const DeviceModel& model_of(const PlanOptions& options) {
  return options.device_model ? *options.device_model
                              : find_device(options.device, options.architecture);
}

Plan best_plan(const Graph& graph, const PlanOptions& options, PlanDecisions* decisions) {
  const DeviceModel& device = model_of(options);
  const AccessGraph built = build_access_graph(graph);
  JointKernels joints;
  Planner first(built, options, device, joints);
  const bool joins_regions = first.joins_regions();
  Plan best = first.run(decisions);
  const bool may_choose = options.fusion == FusionMode::kStitch && options.best_of_modes &&
                          options.max_fusions == INT64_MAX && options.only_regions_of.empty();
  if (!may_choose) return best;
  for (const PlanOptions& start : other_starts(graph, options, joins_regions)) {
    PlanDecisions own;
    Plan plan = Planner(built, start, device, joints).run(decisions == nullptr ? nullptr : &own);
    if (library_calls(plan) != library_calls(best) || !is_better(plan, best)) continue;
    plan.regions = best.regions;
    best = std::move(plan);
    if (decisions != nullptr) *decisions = std::move(own);
  }
  return best;
}

}  // namespace

Plan make_plan(const Graph& graph, const PlanOptions& options) {
  return best_plan(graph, options, nullptr);
}

DecidedPlan make_decided_plan(const Graph& graph, const PlanOptions& options) {
  DecidedPlan result;
  result.plan = best_plan(graph, options, &result.decisions);
  return result;
}

RebuiltPlan rebuild_plan(const Graph& graph, const PlanOptions& options,
                         const PlanDecisions& decisions) {
  PlanOptions own = options;
  own.fusion = decisions.fusion;
  own.techniques = decisions.techniques;
  JointKernels joints;
  Planner planner(build_access_graph(graph), own, model_of(options), joints, &decisions);
  RebuiltPlan result;
  result.plan = planner.run();
  result.regions_anew = planner.regions_anew();
  return result;
}

}  // namespace stitch
