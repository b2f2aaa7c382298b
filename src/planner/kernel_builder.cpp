#include "planner/kernel_builder.h"

#include <algorithm>
#include <set>
#include <utility>

#include "planner/coalesce.h"
#include "planner/cost.h"
#include "planner/kernel_structure.h"
#include "planner/stage_builder.h"

namespace stitch {
namespace {

class Building {
 public:
  Building(Plan& plan, PlanBuffers& buffers, const DeviceModel& device,
           const KernelRequest& request)
      : plan_(plan),
        buffers_(buffers),
        device_(device),
        request_(request),
        nodes_(plan.graph, request.nodes) {
    for (const AccessValueId value : request.stored) stored_.push_back(nodes_.clone_of(value));
  }

  std::variant<Kernel, KernelCut> run() {
    for (const AccessNodeId id : nodes_.nodes()) {
      const AccessNode& node = plan_.graph.node(id);
      if (is_reduce(node) && is_inline_reduce(plan_.graph, node)) nodes_.rename_reduced(id);
    }
    coalesce_atoms(nodes_, stored_);
    structure_ = find_structure(nodes_, stored_);
    if (!structure_.reason.empty()) return cut();
    if (structure_.clusters.size() > 1) {
      return KernelCut{one_per_cluster(), "its parts are independent"};
    }
    return assemble();
  }

 private:
  // Level by level: the results of a level's reduces and its stores go through memory, all else is
  // computed again by the levels that need it.
  KernelCut cut() {
    KernelCut result;
    result.reason = structure_.reason;
    int levels = 0;
    for (const Cluster& cluster : structure_.clusters) levels = std::max(levels, cluster.level + 1);
    std::set<AccessValueId> available;
    for (int level = 0; level < levels; ++level) {
      const std::vector<AccessValueId> stored = stored_by(level, available);
      if (stored.empty()) continue;
      result.pieces.push_back(request_for(stored, available));
      available.insert(stored.begin(), stored.end());
    }
    return result;
  }

  // Originals of what the roots of a level leave in memory.
  std::vector<AccessValueId> stored_by(int level, const std::set<AccessValueId>& available) const {
    std::vector<AccessValueId> stored;
    const auto add = [&](AccessValueId clone) {
      const AccessValueId original = nodes_.original_of(clone);
      if (available.count(original) != 0) return;
      if (std::find(stored.begin(), stored.end(), original) == stored.end()) {
        stored.push_back(original);
      }
    };
    for (const StructureRoot& root : structure_.roots) {
      if (structure_.clusters[root.cluster].level != level) continue;
      if (root.kind == RootKind::kStore || is_read_later(root.value, level)) add(root.value);
    }
    return stored;
  }

  bool is_read_later(AccessValueId reduce, int level) const {
    for (const StructureRoot& root : structure_.roots) {
      if (structure_.clusters[root.cluster].level <= level) continue;
      for (const TracedRead& read : root.trace.placed) {
        if (read.value == reduce) return true;
      }
    }
    return false;
  }

  // The nodes that lead to `stored` from what is in memory.
  KernelRequest request_for(const std::vector<AccessValueId>& stored,
                            const std::set<AccessValueId>& available) const {
    std::set<AccessNodeId> needed;
    std::vector<AccessValueId> open = stored;
    while (!open.empty()) {
      const AccessValueId value = open.back();
      open.pop_back();
      const AccessNodeId producer = plan_.graph.value(value).producer;
      if (!producer.valid() || !is_requested(producer) || !needed.insert(producer).second) continue;
      for (const AccessValueId source : sources_of(plan_.graph, plan_.graph.node(producer))) {
        if (available.count(source) == 0) open.push_back(source);
      }
    }
    return {{needed.begin(), needed.end()}, stored};
  }

  bool is_requested(AccessNodeId node) const {
    return std::binary_search(request_.nodes.begin(), request_.nodes.end(), node);
  }

  std::variant<Kernel, KernelCut> assemble() {
    std::unordered_map<AccessValueId, BufferId> stores;
    for (const AccessValueId clone : stored_) {
      stores.emplace(clone, buffers_.of(nodes_.original_of(clone)));
    }
    KernelTraffic traffic(nodes_);
    const StageRequest request = {&stores, &device_, &traffic, request_.block};
    BuiltStage built = build_stage(nodes_, structure_, structure_.clusters.front(), request);
    Kernel kernel;
    kernel.block = built.block;
    kernel.shared_bytes = built.shared_bytes;
    kernel.places = std::move(built.places);
    kernel.bytes = traffic.counts();
    kernel.estimate.registers = built.registers;
    StageWork work;
    work.blocks = built.blocks();
    work.instructions = built.instructions;
    work.reduce_depth = built.reduce_depth;
    work.threads = built.block;
    work.bytes = static_cast<double>(kernel.bytes.bytes);
    work.resident_blocks =
        resident_blocks(device_, {kernel.block, built.registers, kernel.shared_bytes});
    add_stage_cost(kernel.estimate, device_, work);
    Part part;
    part.blocks = built.blocks();
    part.stages.push_back(std::move(built.stage));
    kernel.parts.push_back(std::move(part));
    collect_sources(kernel);
    note_loads();
    return kernel;
  }

  std::vector<KernelRequest> one_per_cluster() const {
    std::vector<KernelRequest> requests;
    for (const Cluster& cluster : structure_.clusters) {
      std::vector<AccessValueId> stored;
      for (const size_t root : cluster.roots) {
        if (structure_.roots[root].kind == RootKind::kStore) {
          stored.push_back(nodes_.original_of(structure_.roots[root].value));
        }
      }
      requests.push_back(request_for(stored, {}));
      requests.back().block = request_.block;
    }
    return requests;
  }

  void collect_sources(Kernel& kernel) const {
    std::set<SourceId> seen;
    for (const AccessNodeId id : nodes_.nodes()) {
      for (const SourceId source : plan_.graph.node(id).sources) seen.insert(source);
    }
    kernel.sources.assign(seen.begin(), seen.end());
  }

  // Whatever is read from memory has a buffer.
  void note_loads() {
    for (const AccessNodeId id : nodes_.nodes()) {
      for (const AccessValueId value : sources_of(plan_.graph, plan_.graph.node(id))) {
        if (!nodes_.producer(value).valid()) buffers_.of(value);
      }
    }
  }

  Plan& plan_;
  PlanBuffers& buffers_;
  const DeviceModel& device_;
  const KernelRequest& request_;
  KernelNodes nodes_;
  std::vector<AccessValueId> stored_;
  KernelStructure structure_;
};

}  // namespace

std::variant<Kernel, KernelCut> KernelBuilder::build(const KernelRequest& request) {
  return Building(plan_, buffers_, device_, request).run();
}

}  // namespace stitch
