#include "planner/report/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "planner/cost/cost.h"
#include "planner/device/device_model.h"
#include "planner/report/kernel_facts.h"

namespace stitch {
namespace {

std::string describe(const Plan& plan, const std::vector<SourceId>& sources, Op op) {
  if (sources.empty()) return op == Op::k_bitcast ? "a copy" : std::string(name(op));
  const SourceNode& source = plan.graph.graph->source(sources.front());
  return fmt::format("{} ({})", source.name, source.op_type);
}

// A copy that the planner put in has no source: the first of its kernel stands for it.
std::string describe(const Plan& plan, AccessNodeId id, const Step& step) {
  if (!id.valid() || id.index >= plan.graph.nodes.size()) return "a node";
  const AccessNode& node = plan.graph.node(id);
  const Kernel* const kernel = std::get_if<Kernel>(&step);
  const bool is_inserted = node.sources.empty() && kernel != nullptr;
  return describe(plan, is_inserted ? kernel->sources : node.sources, node.op);
}

// The values that a step leaves in memory and takes from it, each with the node that does so.
struct StepEnds {
  std::map<BufferId, AccessNodeId> writes;
  std::map<BufferId, AccessNodeId> reads;
};

class EdgeFinder {
 public:
  EdgeFinder(const Plan& plan, const DeviceModel& device, std::string_view otherwise)
      : plan_(plan), otherwise_(otherwise), device_(device), holder_(plan.graph.values.size()) {
    for (size_t b = plan.buffers.size(); b-- > 0;) {
      if (plan.buffers[b].value.valid()) holder_[plan.buffers[b].value.index] = BufferId(b);
    }
  }

  std::vector<PlanEdge> run() {
    for (const Step& step : plan_.steps) ends_.push_back(ends_of(step));
    find_users();
    std::vector<PlanEdge> edges;
    for (size_t reader = 0; reader < ends_.size(); ++reader) {
      for (const Link& link : links_[reader]) {
        if (is_weight(link.buffer)) continue;
        edges.push_back(edge(link, reader));
      }
    }
    return edges;
  }

 private:
  struct Link {
    size_t writer;
    BufferId buffer;  // that the writer stores to
    AccessNodeId producer, consumer;
  };

  StepEnds ends_of(const Step& step) const {
    StepEnds ends;
    if (const Kernel* const kernel = std::get_if<Kernel>(&step)) {
      for (const Part& part : kernel->parts) add_part(*kernel, part, ends);
      return ends;
    }
    const MatmulLayout& layout = std::get<LibraryMatmul>(step).layout;
    for (const AccessValueId value :
         {layout.a.value, layout.b.value, layout.c.value, layout.bias}) {
      add_read(value, layout.node, ends);
    }
    if (const BufferId result = holder(layout.d.value); result.valid()) {
      ends.writes.emplace(result, layout.node);
    }
    return ends;
  }

  void add_part(const Kernel& kernel, const Part& part, StepEnds& ends) const {
    for (const Stage& stage : part.stages) {
      for (const Group& group : stage.groups) {
        for (const Root& root : group.roots) {
          if (root.kind != RootKind::kStore) continue;
          ends.writes.emplace(root.buffer, plan_.graph.value(root.value).producer);
        }
        for (const AccessNodeId node : group.nodes) {
          for (const AccessValueId source : sources_of(plan_.graph, plan_.graph.node(node))) {
            if (kernel.places.count(source) == 0) add_read(source, node, ends);
          }
        }
      }
    }
  }

  void add_read(AccessValueId value, AccessNodeId node, StepEnds& ends) const {
    if (const BufferId buffer = holder(value); buffer.valid()) ends.reads.emplace(buffer, node);
  }

  BufferId holder(AccessValueId value) const {
    return value.valid() ? holder_[value.index] : BufferId();
  }

  // Who writes a part of a buffer writes the buffer.
  void find_users() {
    std::map<BufferId, std::vector<Link>> written;
    users_.resize(ends_.size());
    links_.resize(ends_.size());
    for (size_t step = 0; step < ends_.size(); ++step) {
      for (const auto& [buffer, consumer] : ends_[step].reads) {
        for (Link link : written[buffer]) {
          if (link.writer == step) continue;
          link.consumer = consumer;
          links_[step].push_back(link);
          users_[link.writer].insert(step);
        }
      }
      std::sort(links_[step].begin(), links_[step].end(), [](const Link& a, const Link& b) {
        return a.writer != b.writer ? a.writer < b.writer : a.buffer < b.buffer;
      });
      for (const auto& [buffer, producer] : ends_[step].writes) {
        const Link link{step, buffer, producer, {}};
        written[buffer].push_back(link);
        const BufferId whole = plan_.buffers[buffer.index].inside;
        if (whole.valid()) written[whole].push_back(link);
      }
    }
  }

  bool is_weight(BufferId buffer) const {
    return plan_.buffers[buffer.index].kind == BufferKind::kConstant;
  }

  PlanEdge edge(const Link& link, size_t reader) const {
    const Buffer& buffer = plan_.buffers[link.buffer.index];
    PlanEdge edge;
    edge.writer = link.writer;
    edge.reader = reader;
    edge.value = plan_.graph.value(buffer.value).name;
    if (edge.value.empty()) edge.value = buffer.name;
    edge.bytes = buffer.bytes;
    edge.producer = describe(plan_, link.producer, plan_.steps[link.writer]);
    edge.consumer = describe(plan_, link.consumer, plan_.steps[reader]);
    const Kernel* const from = std::get_if<Kernel>(&plan_.steps[link.writer]);
    const Kernel* const to = std::get_if<Kernel>(&plan_.steps[reader]);
    edge.reason = contraction_reason(from, to);
    if (!edge.reason.empty()) return edge;
    edge.reason = cycle_reason(link.writer, reader);
    if (!edge.reason.empty()) return edge;
    edge.reason = kernel_reason(*from, *to, reader);
    edge.cost = {cost(*from, *to, buffer.bytes)};
    return edge;
  }

  static std::string contraction_reason(const Kernel* from, const Kernel* to) {
    if (from == nullptr && to == nullptr) return "both are library calls";
    if (to == nullptr) return "a library call takes its operands from memory";
    if (from == nullptr) {
      return "a library call leaves its result in memory, and takes in no more than a factor, a "
             "bias row and a sum that is stored in any case";
    }
    if (holds_contraction(*from) && holds_contraction(*to)) return "both are contractions";
    if (holds_contraction(*from)) {
      return "own contraction kernels take in element-wise nodes only, where these read a result "
             "at its own index, wait for nothing later and add no bytes";
    }
    if (holds_contraction(*to))
      return "own contraction kernels take in light element-wise nodes of their operands only, "
             "where these load no more than the operand";
    return {};
  }

  bool is_contraction(size_t step) const {
    const Kernel* const kernel = std::get_if<Kernel>(&plan_.steps[step]);
    return kernel == nullptr || holds_contraction(*kernel);
  }

  // A contraction on a way from the writer to the reader: one kernel would wait for itself.
  std::string cycle_reason(size_t writer, size_t reader) const {
    std::set<size_t> leads;  // steps between the two that the reader waits for
    for (size_t step = reader; step-- > writer + 1;) {
      const bool goes_on = std::any_of(users_[step].begin(), users_[step].end(), [&](size_t user) {
        return user == reader || leads.count(user) != 0;
      });
      if (goes_on) leads.insert(step);
    }
    std::set<size_t> reached = {writer};
    for (const size_t step : leads) {
      const bool follows = std::any_of(links_[step].begin(), links_[step].end(),
                                       [&](const Link& l) { return reached.count(l.writer) != 0; });
      if (!follows) continue;
      if (is_contraction(step)) {
        return fmt::format(
            "{} lies between them: it reads what the first computes and the second "
            "reads what it computes",
            step_name(plan_, plan_.steps[step]));
      }
      reached.insert(step);
    }
    return {};
  }

  std::string kernel_reason(const Kernel& from, const Kernel& to, size_t reader) const {
    if (depth(from) != depth(to)) {
      const std::string contraction = nearest_contraction(reader);
      if (!contraction.empty()) {
        return fmt::format("they are of two levels: the second waits for {}, the first does not",
                           contraction);
      }
    }
    if (!to.why_not_larger.empty()) return to.why_not_larger;
    if (!from.why_not_larger.empty()) return from.why_not_larger;
    return std::string(otherwise_);
  }

  int depth(const Kernel& kernel) const {
    int depth = 0;
    for (const Part& part : kernel.parts) {
      for (const Stage& stage : part.stages) {
        for (const Group& group : stage.groups) {
          for (const AccessNodeId node : group.nodes) {
            depth = std::max(depth, plan_.graph.node(node).depth);
          }
        }
      }
    }
    return depth;
  }

  // Among all that the step waits for, the contraction that runs last.
  std::string nearest_contraction(size_t reader) const {
    std::set<size_t> open = {reader};
    while (!open.empty()) {
      const size_t step = *open.rbegin();
      open.erase(step);
      if (step != reader && is_contraction(step)) return step_name(plan_, plan_.steps[step]);
      for (const Link& link : links_[step]) open.insert(link.writer);
    }
    return {};
  }

  EdgeCost cost(const Kernel& from, const Kernel& to, int64_t bytes) const {
    Estimate both = from.estimate;
    both.instruction_us += to.estimate.instruction_us;
    both.barrier_us += to.estimate.barrier_us + device_.barrier_us;
    both.floor_us = std::max(both.floor_us, to.estimate.floor_us);
    const auto moved = static_cast<double>(from.bytes.bytes + to.bytes.bytes);
    const double left = moved > 0 ? std::max(0.0, 1 - 2 * static_cast<double>(bytes) / moved) : 1;
    both.memory_us = (both.memory_us + to.estimate.memory_us) * left;
    finish_estimate(both, device_);
    return {from.estimate.total_us + to.estimate.total_us, both.total_us};
  }

  const Plan& plan_;
  const std::string_view otherwise_;
  const DeviceModel& device_;
  std::vector<BufferId> holder_;  // by value
  std::vector<StepEnds> ends_;    // by step, as below
  std::vector<std::vector<Link>> links_;
  std::vector<std::set<size_t>> users_;
};

// "12,345 B" is hard to read in a line of names.
std::string size_text(int64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  if (bytes < 1'000'000) return fmt::format("{:.1f} kB", static_cast<double>(bytes) / 1e3);
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

// Whose product a call is stands behind it as the node of the edge.
std::string short_name(const Step& step) {
  const Kernel* const kernel = std::get_if<Kernel>(&step);
  return kernel != nullptr ? kernel->name : "library call";
}

}  // namespace

std::vector<PlanEdge> plan_edges(const Plan& plan, const DeviceModel& device,
                                 std::string_view otherwise) {
  return EdgeFinder(plan, device, otherwise).run();
}

std::string step_name(const Plan& plan, const Step& step) {
  if (const Kernel* const kernel = std::get_if<Kernel>(&step)) return kernel->name;
  const AccessNodeId node = std::get<LibraryMatmul>(step).layout.node;
  return fmt::format("the library call of {}", describe(plan, node, step));
}

std::string edge_text(const Plan& plan, const PlanEdge& edge) {
  std::string text =
      fmt::format("{} -> {}: '{}' ({}) from {} to {}: {}", short_name(plan.steps[edge.writer]),
                  short_name(plan.steps[edge.reader]), edge.value, size_text(edge.bytes),
                  edge.producer, edge.consumer, edge.reason);
  for (const EdgeCost& cost : edge.cost) {
    text += fmt::format("; apart {:.1f} us, as one kernel with a barrier of all blocks {:.1f} us",
                        cost.apart_us, cost.stitched_us);
  }
  return text;
}

}  // namespace stitch
