// The manifest's tables of kernels and contractions.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "emit_cuda/program/launch_program.h"
#include "planner/report/kernel_facts.h"

namespace stitch {

namespace {

int stage_count(const Kernel& kernel) {
  size_t stages = 0;
  for (const Part& part : kernel.parts) stages = std::max(stages, part.stages.size());
  return static_cast<int>(stages);
}

// How far values travel: the widest scopes last.
std::string scopes_of(const Kernel& kernel) {
  std::set<int> found;
  const char* const names[] = {"thread", "warp", "block", "cluster", "ticket", "row", "grid"};
  for (const Part& part : kernel.parts) {
    for (const Stage& stage : part.stages) {
      if (stage.before == Separation::kClusterBarrier) found.insert(3);
      if (stage.before == Separation::kTicket) found.insert(4);
      if (stage.before == Separation::kRowBarrier) found.insert(5);
      if (stage.before == Separation::kGridBarrier) found.insert(6);
      for (const Group& group : stage.groups) {
        if (group.block_barrier) found.insert(2);
        for (const Root& root : group.roots) {
          if (root.kind != RootKind::kReduce) continue;
          found.insert(root.slot_offset >= 0 ? 2 : group.mapping.threads > 1 ? 1 : 0);
        }
      }
    }
  }
  for (const auto& [value, places] : kernel.places)
    for (const Place& place : places)
      if (place.kind == PlaceKind::kShared) found.insert(2);
  if (found.empty()) found.insert(0);
  std::string text;
  for (int scope : found) text += (text.empty() ? "" : ", ") + std::string(names[scope]);
  return text;
}

ManifestKernel kernel_entry(const Kernel& kernel, const KernelSource& source,
                            const ProgramInput& input, bool is_twin) {
  ManifestKernel entry;
  entry.name = kernel.name;
  entry.source = fmt::format("{}/{}.cu", input.source_folder, kernel.name);
  entry.nodes = source.nodes;
  entry.stages = stage_count(kernel);
  entry.grid_barriers = waiting_barriers(kernel);
  entry.scopes = scopes_of(kernel);
  entry.grid = {static_cast<uint32_t>(source.grid_x), static_cast<uint32_t>(source.grid_y), 1};
  entry.block = static_cast<uint32_t>(source.block);
  const std::string& function = input.compiled.function_of.at(kernel.name);
  const auto resources = input.cubins.resources.find(function);
  if (resources != input.cubins.resources.end()) {
    entry.registers = resources->second.registers;
    entry.spill_bytes = static_cast<int>(resources->second.spill_bytes);
    entry.static_shared_bytes = static_cast<uint64_t>(resources->second.static_shared_bytes);
  }
  entry.dynamic_shared_bytes = static_cast<uint64_t>(source.shared_bytes);
  entry.bytes = static_cast<uint64_t>(kernel.bytes.bytes);
  entry.compulsory_bytes = static_cast<uint64_t>(kernel.bytes.compulsory);
  entry.requested_bytes = static_cast<uint64_t>(kernel.bytes.requested);
  entry.predicted_us = kernel.estimate.total_us;
  entry.is_twin = is_twin;
  return entry;
}

// Extents of a contraction compiled by us, and who makes it.
ManifestContraction own_contraction(const Kernel& kernel, const Plan& plan,
                                    const std::vector<std::string>& nodes) {
  ManifestContraction entry;
  entry.name = kernel.name;
  entry.nodes = nodes;
  entry.by = "own";
  const auto extent = [&](const std::vector<AtomId>& atoms) {
    int64_t product = 1;
    for (AtomId atom : atoms) product *= plan.graph.pool.atom(atom).extent;
    return product;
  };
  for (const Part& part : kernel.parts) {
    for (const Stage& stage : part.stages) {
      if (stage.mapping.kind != MappingKind::kContraction) continue;
      entry.batch = extent(stage.mapping.block_axes);
      entry.m = extent(stage.contraction.m_axes);
      entry.n = extent(stage.contraction.n_axes);
      entry.k = extent(stage.contraction.k_axes);
      for (const Group& group : stage.groups)
        for (const Root& root : group.roots)
          if (root.kind == RootKind::kContract)
            entry.dtype = long_name(plan.graph.value(root.value).dtype);
    }
  }
  return entry;
}

ManifestContraction library_contraction(const LibraryMatmul& matmul, const Plan& plan) {
  ManifestContraction entry;
  for (SourceId source : matmul.sources)
    entry.nodes.push_back(plan.graph.graph->source(source).name);
  entry.name = entry.nodes.empty() ? "matmul" : entry.nodes.front();
  entry.by = "cublasLt";
  for (const MatmulBatch& batch : matmul.layout.batch) entry.batch *= batch.count;
  entry.calls = matmul.layout.calls();
  entry.m = matmul.layout.m;
  entry.n = matmul.layout.n;
  entry.k = matmul.layout.k;
  entry.dtype = long_name(plan.graph.value(matmul.layout.d.value).dtype);
  return entry;
}

}  // namespace

ManifestArchitecture make_manifest_architecture(const ProgramInput& input) {
  std::map<std::string, const KernelSource*> by_name;
  for (const KernelSource& kernel : input.kernels) by_name[kernel.name] = &kernel;
  ManifestArchitecture architecture;
  architecture.architecture = architecture_number(input.plan.architecture);
  architecture.target = input.plan.device;
  architecture.regions = input.plan.regions;
  for (const Step& step : input.plan.steps) {
    if (const auto* matmul = std::get_if<LibraryMatmul>(&step)) {
      architecture.contractions.push_back(library_contraction(*matmul, input.plan));
      continue;
    }
    const Kernel& kernel = std::get<Kernel>(step);
    const KernelSource& source = *by_name.at(kernel.name);
    architecture.kernels.push_back(kernel_entry(kernel, source, input, false));
    if (holds_contraction(kernel))
      architecture.contractions.push_back(own_contraction(kernel, input.plan, source.nodes));
    for (const Kernel& twin : kernel.twin)
      architecture.kernels.push_back(kernel_entry(twin, *by_name.at(twin.name), input, true));
  }
  return architecture;
}

}  // namespace stitch
