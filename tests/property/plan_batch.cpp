#include "plan_batch.h"

#include <fmt/format.h>

#include <cmath>

#include "emit_cuda/plan_on_device.h"
#include "graph/error.h"
#include "planner/check/plan_validate.h"
#include "planner/plan/plan_text.h"
#include "planner/report/kernel_facts.h"
#include "planner/report/requested_bytes.h"
#include "support/catch.h"

namespace stitch::test {

namespace {

// Names of kernels are unique in an image.
void rename_kernels(Plan& plan, const std::string& prefix) {
  for (Step& step : plan.steps) {
    Kernel& kernel = std::get<Kernel>(step);
    kernel.name = prefix + kernel.name;
    for (Kernel& twin : kernel.twin) twin.name = prefix + twin.name;
  }
}

// A select whose sides are loads, a read in several pieces, an index that a tensor holds; what may
// not depend on what it reads: the place of an extreme value, two equal operands.
bool chooses(const AccessGraph& graph, const AccessNode& node) {
  if (node.op == Op::k_select || node.kind == AccessKind::kArgReduce) return true;
  if (node.operands.size() == 2 && node.operands[0] == node.operands[1]) return true;
  for (const Read& read : node.operands) {
    if (read.pieces.size() > 1) return true;
    for (const ExprId index : read.pieces.front().index)
      if (graph.pool.has_read(index)) return true;
  }
  return false;
}

bool chooses(const AccessGraph& graph, const Kernel& kernel) {
  for (const Part& part : kernel.parts)
    for (const Stage& stage : part.stages)
      for (const Group& group : stage.groups)
        for (const AccessNodeId node : group.nodes)
          if (chooses(graph, graph.node(node))) return true;
  return false;
}

// 32 times the sectors of all requests against the plan's count.
void check_requests(const Kernel& kernel, const stitch_emulator_kernel_counters& counters,
                    BatchCase& batch_case) {
  constexpr double kTolerance = 0.05;
  if (holds_contraction(kernel)) return;
  RequestCounts& counts =
      chooses(batch_case.plan.graph, kernel) ? batch_case.choosing : batch_case.plain;
  ++counts.kernels;
  const auto counted = 32 * static_cast<double>(counters.load_sectors + counters.store_sectors);
  const auto planned = static_cast<double>(kernel.bytes.requested);
  if (std::abs(planned - counted) <= kTolerance * counted) return;
  counts.off.push_back(
      fmt::format("{}: {} bytes are requested, {} were predicted", kernel.name, counted, planned));
}

// What a launch moved, each byte once, against the plan: never more than the compulsory bytes and
// what passes through scratch. Less where an operand is read in part only: the side of a choice
// that is not taken, indices that repeat.
void check_bytes(const Kernel& kernel, BatchCase& batch_case) {
  const stitch_emulator_kernel_counters counters = counters_of(kernel.name);
  const auto moved =
      static_cast<int64_t>(counters.distinct_load_bytes + counters.distinct_store_bytes);
  const auto scratch = static_cast<int64_t>(counters.scratch_bytes);
  if (moved > kernel.bytes.compulsory + scratch)
    batch_case.faults.push_back(
        fmt::format("{}: {} bytes were moved, {} of them scratch at most; {} are compulsory",
                    kernel.name, moved, scratch, kernel.bytes.compulsory));
  check_requests(kernel, counters, batch_case);
  if (scratch != 0) return;
  ++batch_case.kernels;
  batch_case.exact_kernels += moved == kernel.bytes.compulsory ? 1 : 0;
}

void run_case(const LoadedKernels& kernels, BatchCase& batch_case, const Mode& mode) {
  start(mode);
  PlanOnDevice device(batch_case.plan, batch_case.graph, batch_case.inputs);
  size_t next = 0;
  for (const Step& step : batch_case.plan.steps) {
    const Kernel& kernel = std::get<Kernel>(step);
    const CUresult result = device.launch(kernels, batch_case.sources[next]);
    next += 1 + kernel.twin.size();
    for (const ReportView& report : reports())
      batch_case.faults.push_back(report.text + " (" + report.line + ")");
    if (result != CUDA_SUCCESS || cuCtxSynchronize() != CUDA_SUCCESS)
      batch_case.faults.push_back(kernel.name + ": the launch failed");
    if (!batch_case.faults.empty()) return;
    check_bytes(kernel, batch_case);
  }
  for (size_t i = 0; i < batch_case.graph.outputs().size(); ++i)
    batch_case.outputs.push_back(device.output(i));
}

}  // namespace

std::unique_ptr<BatchCase> plan_case(BatchItem item) {
  auto made = std::make_unique<BatchCase>();
  made->name = std::move(item.name);
  made->graph = std::move(item.graph);
  made->inputs = std::move(item.inputs);
  try {
    made->plan = make_plan(made->graph, item.options);
  } catch (const ModelError&) {
    return nullptr;
  }
  for (const Step& step : made->plan.steps)
    if (!std::holds_alternative<Kernel>(step)) return nullptr;
  CHECK(plan_problems(made->plan) == std::vector<std::string>());
  const std::string text = print_plan(made->plan);
  CHECK(print_plan(parse_plan(text, made->graph)) == text);
  count_requested_bytes(made->plan);
  rename_kernels(made->plan, made->name + "_");
  made->sources = emit_kernels(made->plan);
  return made;
}

void run_batch(const std::vector<std::unique_ptr<BatchCase>>& cases, uint64_t seed) {
  std::vector<SourceText> units;
  for (const auto& batch_case : cases)
    for (const KernelSource& source : batch_case->sources)
      units.push_back({source.name + ".cu", source.text});
  const LoadedKernels kernels(build_checked_image(units));
  for (const auto& batch_case : cases)
    run_case(kernels, *batch_case,
             {.check = true, .count = true, .order = STITCH_EMULATOR_RANDOM, .seed = seed});
}

bool bytes_are_as_predicted(const std::vector<std::unique_ptr<BatchCase>>& cases) {
  constexpr double kShare = 0.85;
  int kernels = 0, exact = 0;
  for (const auto& done : cases) {
    kernels += done->kernels;
    exact += done->exact_kernels;
  }
  return exact >= kShare * kernels;
}

void check_requested_bytes(const std::vector<std::unique_ptr<BatchCase>>& cases) {
  constexpr double kShare = 0.6;
  RequestCounts plain, choosing;
  for (const auto& done : cases) {
    for (auto [all, own] :
         {std::pair(&plain, &done->plain), std::pair(&choosing, &done->choosing)}) {
      all->kernels += own->kernels;
      all->off.insert(all->off.end(), own->off.begin(), own->off.end());
    }
  }
  CHECK(plain.off == std::vector<std::string>());
  INFO(fmt::format("{}", fmt::join(choosing.off, "\n")));
  CHECK(static_cast<double>(choosing.off.size()) <= (1 - kShare) * choosing.kernels);
}

}  // namespace stitch::test
