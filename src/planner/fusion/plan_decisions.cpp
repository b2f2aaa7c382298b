#include "planner/fusion/plan_decisions.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>
#include <variant>

namespace stitch {

NodeName name_of_origin(const AccessGraph& graph, const AccessNode& node) {
  const SourceId source = node.origin.source;
  return fmt::format("{} {} {}", name(node.op),
                     source.valid() ? graph.graph->source(source).name : "", node.origin.ordinal);
}

std::vector<NodeName> node_names(const AccessGraph& graph) {
  std::vector<NodeName> names;
  std::map<std::string, int> inserted;
  for (const AccessNode& node : graph.nodes) {
    if (node.origin.ordinal >= 0) {
      names.push_back(name_of_origin(graph, node));
      continue;
    }
    std::string of;
    for (const AccessValueId source : sources_of(graph, node)) {
      of += fmt::format(" {}", graph.value(source).name);
    }
    names.push_back(fmt::format("inserted {}{} {}", name(node.op), of, inserted[of]++));
  }
  return names;
}

std::vector<DecidedKernel> decided_kernels(const AccessGraph& graph,
                                           std::span<const PlannedStep> steps) {
  const std::vector<NodeName> names = node_names(graph);
  std::vector<DecidedKernel> kernels;
  for (size_t s = 0; s < steps.size(); ++s) {
    if (!steps[s].request) continue;
    DecidedKernel kernel;
    kernel.launch = static_cast<int>(s);
    kernel.how = *steps[s].request;
    for (const AccessNodeId node : kernel.how.nodes) kernel.nodes.push_back(names[node.index]);
    for (const AccessValueId value : kernel.how.stored) {
      const AccessValue& stored = graph.value(value);
      kernel.stored.push_back({names[stored.producer.index], stored.result});
    }
    kernel.how.nodes.clear();
    kernel.how.stored.clear();
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

void number_launches(const Plan& plan, std::span<const PlannedStep> packed,
                     std::vector<DecidedKernel>& kernels) {
  const std::vector<NodeName> names = node_names(plan.graph);
  std::map<std::pair<NodeName, int>, int> launch_of;  // by stored value
  for (size_t s = 0; s < packed.size(); ++s) {
    const Kernel* const kernel = std::get_if<Kernel>(&packed[s].step);
    if (kernel == nullptr) continue;
    for (const Part& part : kernel->parts) {
      for (const Stage& stage : part.stages) {
        for (const Group& group : stage.groups) {
          for (const Root& root : group.roots) {
            if (root.kind != RootKind::kStore) continue;
            const AccessValue& value = plan.graph.value(plan.buffers[root.buffer.index].value);
            if (!value.producer.valid()) continue;
            launch_of[{names[value.producer.index], value.result}] = static_cast<int>(s);
          }
        }
      }
    }
  }
  for (DecidedKernel& kernel : kernels) {
    for (const DecidedValue& value : kernel.stored) {
      const auto found = launch_of.find({value.node, value.result});
      if (found != launch_of.end()) kernel.launch = found->second;
    }
  }
}

std::string decisions_text(const PlanDecisions& decisions) {
  std::string text;
  for (const auto& [node, library] : decisions.library) {
    text += fmt::format("{} by {}\n", node, library ? "library" : "own kernel");
  }
  std::map<int, std::vector<std::string>> launches;
  for (const DecidedKernel& kernel : decisions.kernels) {
    std::vector<NodeName> nodes = kernel.nodes;
    std::sort(nodes.begin(), nodes.end());
    launches[kernel.launch].push_back(fmt::format(
        "  {}{}{}: {}\n", kernel.how.may_wait ? "" : "waits for nobody ",
        kernel.how.in_shared ? "in shared memory " : "", nodes.size(), fmt::join(nodes, ", ")));
  }
  std::vector<std::string> sorted;
  for (auto& [launch, kernels] : launches) {
    std::sort(kernels.begin(), kernels.end());
    sorted.push_back(fmt::format("launch\n{}", fmt::join(kernels, "")));
  }
  std::sort(sorted.begin(), sorted.end());
  return text + fmt::format("{}", fmt::join(sorted, ""));
}

namespace {

constexpr size_t kNone = static_cast<size_t>(-1);

class DecisionApplier {
 public:
  DecisionApplier(const AccessGraph& graph, const ContractionChoices& choices,
                  const std::vector<WorkItem>& items, const PlanDecisions& decisions)
      : graph_(graph), items_(items), owner_(graph.nodes.size(), kNone) {
    for (size_t i = 0; i < items.size(); ++i) {
      const bool free = is_free(items[i], choices);
      is_free_.push_back(free);
      is_anew_.push_back(false);
      if (!free) continue;
      for (const AccessNodeId node : items[i].request.nodes) owner_[node.index] = i;
    }
    find_kernels(decisions);
  }

  DecidedItems run() {
    while (drop_what_does_not_fit()) {
    }
    if (has_cycle()) {
      for (size_t i = 0; i < items_.size(); ++i) is_anew_[i] = is_free_[i];
      kernels_.clear();
    }
    DecidedItems result;
    for (Candidate& kernel : kernels_) {
      if (kernel.fits) result.kernels.push_back(std::move(kernel.item));
    }
    for (size_t i = 0; i < items_.size(); ++i) {
      if (is_free_[i] && !is_anew_[i]) continue;
      result.others.push_back(items_[i]);
      result.regions_anew += is_anew_[i];
    }
    return result;
  }

 private:
  struct Candidate {
    DecidedItems::Item item;
    std::set<size_t> from;  // items
    bool fits = true;
  };

  // Whose nodes the decisions distribute.
  static bool is_free(const WorkItem& item, const ContractionChoices& choices) {
    if (item.contraction.valid()) return false;
    if (item.request.nodes.size() > 1) return true;
    const auto choice = choices.find(item.request.nodes.front());
    return choice == choices.end() || !choice->second.library;
  }

  void find_kernels(const PlanDecisions& decisions) {
    const std::vector<NodeName> names = node_names(graph_);
    std::unordered_map<std::string_view, AccessNodeId> by_name;
    for (size_t n = 0; n < names.size(); ++n) {
      if (owner_[n] != kNone) by_name.emplace(names[n], AccessNodeId(n));
    }
    for (const DecidedKernel& decided : decisions.kernels) {
      Candidate kernel;
      kernel.item.request = decided.how;
      kernel.item.launch = decided.launch;
      for (const NodeName& node : decided.nodes) {
        const auto found = by_name.find(node);
        if (found == by_name.end()) {
          kernel.fits = false;
          continue;
        }
        kernel.item.request.nodes.push_back(found->second);
        kernel.from.insert(owner_[found->second.index]);
      }
      for (const DecidedValue& value : decided.stored) {
        const auto found = by_name.find(value.node);
        if (found == by_name.end()) continue;
        kernel.item.request.stored.push_back(
            graph_.node(found->second).results[static_cast<size_t>(value.result)]);
      }
      std::sort(kernel.item.request.nodes.begin(), kernel.item.request.nodes.end());
      kernels_.push_back(std::move(kernel));
    }
    for (const Candidate& kernel : kernels_) {
      if (!kernel.fits) plan_anew(kernel);
    }
  }

  void plan_anew(const Candidate& kernel) {
    for (const size_t item : kernel.from) is_anew_[item] = true;
  }

  // A kernel of nodes that are planned anew goes, and what it leaves behind is planned anew too.
  bool drop_what_does_not_fit() {
    std::vector<bool> covered(graph_.nodes.size(), false), stored(graph_.values.size(), false);
    bool changed = false;
    for (Candidate& kernel : kernels_) {
      if (kernel.fits && std::any_of(kernel.from.begin(), kernel.from.end(),
                                     [&](size_t item) { return is_anew_[item]; })) {
        kernel.fits = false;
        changed = true;
        plan_anew(kernel);
      }
      if (!kernel.fits) continue;
      for (const AccessNodeId node : kernel.item.request.nodes) covered[node.index] = true;
      for (const AccessValueId value : kernel.item.request.stored) stored[value.index] = true;
    }
    for (size_t i = 0; i < items_.size(); ++i) {
      if (!is_free_[i] || is_anew_[i] || is_whole(items_[i].request, covered, stored)) continue;
      is_anew_[i] = true;
      changed = true;
    }
    for (const Candidate& kernel : kernels_) {
      if (!kernel.fits || finds_its_operands(kernel.item.request, stored)) continue;
      plan_anew(kernel);
      changed = true;
    }
    return changed;
  }

  static bool is_whole(const KernelRequest& item, const std::vector<bool>& covered,
                       const std::vector<bool>& stored) {
    return std::all_of(item.nodes.begin(), item.nodes.end(),
                       [&](AccessNodeId node) { return covered[node.index]; }) &&
           std::all_of(item.stored.begin(), item.stored.end(),
                       [&](AccessValueId value) { return stored[value.index]; });
  }

  // Values of other regions are stored by the rule of whole items.
  bool finds_its_operands(const KernelRequest& kernel, const std::vector<bool>& stored) const {
    for (const AccessNodeId node : kernel.nodes) {
      for (const AccessValueId source : sources_of(graph_, graph_.node(node))) {
        const AccessNodeId producer = graph_.value(source).producer;
        if (!producer.valid() || owner_[producer.index] == kNone) continue;
        const bool inside = std::binary_search(kernel.nodes.begin(), kernel.nodes.end(), producer);
        if (!inside && !is_anew_[owner_[producer.index]] && !stored[source.index]) return false;
      }
    }
    return true;
  }

  // Of assemblies: those of all parts.
  void add_producers(const AccessNode& node, std::vector<AccessNodeId>& producers) const {
    for (const AccessValueId source : sources_of(graph_, node)) {
      const AccessNodeId producer = graph_.value(source).producer;
      if (!producer.valid()) continue;
      if (graph_.node(producer).kind == AccessKind::kAssembly) {
        add_producers(graph_.node(producer), producers);
      } else {
        producers.push_back(producer);
      }
    }
  }

  // Kahn's algorithm over kernels and the items that are left.
  bool has_cycle() const {
    std::vector<const KernelRequest*> units;
    for (const Candidate& kernel : kernels_) {
      if (kernel.fits) units.push_back(&kernel.item.request);
    }
    for (size_t i = 0; i < items_.size(); ++i) {
      if (!is_free_[i] || is_anew_[i]) units.push_back(&items_[i].request);
    }
    // The unit that stores what a node computes; a node that nobody stores is inside of its
    // readers.
    std::vector<size_t> unit_of(graph_.nodes.size(), kNone);
    for (size_t u = 0; u < units.size(); ++u) {
      for (const AccessValueId value : units[u]->stored) {
        unit_of[graph_.value(value).producer.index] = u;
      }
    }
    std::vector<std::set<size_t>> users(units.size());
    std::vector<size_t> waits(units.size(), 0);
    for (size_t u = 0; u < units.size(); ++u) {
      for (const AccessNodeId node : units[u]->nodes) {
        std::vector<AccessNodeId> producers;
        add_producers(graph_.node(node), producers);
        for (const AccessNodeId producer : producers) {
          const auto& own = units[u]->nodes;
          if (std::binary_search(own.begin(), own.end(), producer)) continue;
          const size_t from = unit_of[producer.index];
          if (from != kNone && from != u && users[from].insert(u).second) ++waits[u];
        }
      }
    }
    std::vector<size_t> open;
    for (size_t u = 0; u < units.size(); ++u) {
      if (waits[u] == 0) open.push_back(u);
    }
    size_t ordered = 0;
    while (!open.empty()) {
      const size_t u = open.back();
      open.pop_back();
      ++ordered;
      for (const size_t user : users[u]) {
        if (--waits[user] == 0) open.push_back(user);
      }
    }
    return ordered != units.size();
  }

  const AccessGraph& graph_;
  const std::vector<WorkItem>& items_;
  std::vector<size_t> owner_;  // by node: the item whose nodes are distributed
  std::vector<bool> is_free_, is_anew_;
  std::vector<Candidate> kernels_;
};

}  // namespace

DecidedItems apply_decisions(const AccessGraph& graph, const ContractionChoices& choices,
                             const std::vector<WorkItem>& items, const PlanDecisions& decisions) {
  return DecisionApplier(graph, choices, items, decisions).run();
}

}  // namespace stitch
