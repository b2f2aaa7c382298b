#include "emit_cuda/planned_kernels.h"

#include <map>

#include "emit_cuda/plan_on_device.h"
#include "emulator/emulated_device.h"
#include "graph/evaluate.h"
#include "graph/text_form.h"
#include "support/catch.h"
#include "support/make_tensor.h"
#include "support/matches_tensor.h"

namespace stitch::test {
namespace {

PlanOptions options_for(FusionMode fusion) {
  PlanOptions options;
  options.architecture = "sm_80";
  options.fusion = fusion;
  options.contractions = ContractionMode::kOwn;
  options.best_of_modes = false;  // the mode's own plan
  return options;
}

std::map<std::string, Tensor> random_inputs(const Graph& graph, uint32_t seed) {
  std::map<std::string, Tensor> inputs;
  for (const ValueId id : graph.inputs()) {
    std::vector<int64_t> extents;
    for (const Dim& dim : graph.type(id).shape) extents.push_back(dim.constant());
    inputs[graph.value(id).name] = random_tensor(graph.type(id).dtype, extents, seed++);
  }
  return inputs;
}

}  // namespace

std::vector<KernelSource> emitted(const std::string& graph_text, FusionMode fusion) {
  const Graph graph = parse_graph(graph_text);
  const Plan plan = make_plan(graph, options_for(fusion));
  return emit_kernels(plan);
}

void check_on_emulator(const std::string& graph_text) {
  check_on_emulator(graph_text, FusionMode::kNone);
  check_on_emulator(graph_text, FusionMode::kStitch);
}

void check_on_emulator(const std::string& graph_text, FusionMode fusion, uint32_t seed) {
  const Graph graph = parse_graph(graph_text);
  const std::map<std::string, Tensor> inputs = random_inputs(graph, seed);
  // A kernel per node rounds every value as the native evaluation does.
  const std::vector<Tensor> expected = evaluate(
      graph, inputs,
      fusion == FusionMode::kNone ? EvaluationPrecision::kNative : EvaluationPrecision::kF64);
  const Plan plan = make_plan(graph, options_for(fusion));
  const std::vector<KernelSource> sources = emit_kernels(plan);
  std::vector<SourceText> units;
  for (const KernelSource& source : sources) units.push_back({source.name + ".cu", source.text});
  start({.check = true});
  const LoadedKernels kernels(units);
  PlanOnDevice device(plan, graph, inputs);
  size_t next = 0;
  for (const Step& step : plan.steps) {
    REQUIRE(std::holds_alternative<Kernel>(step));
    INFO(sources[next].text);
    REQUIRE_DRIVER(device.launch(kernels, sources[next]));
    REQUIRE_DRIVER(cuCtxSynchronize());
    for (const ReportView& report : reports())
      FAIL(report.kind << ": " << report.text << "\n" << report.line);
    next += 1 + std::get<Kernel>(step).twin.size();
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    INFO("fusion " << (fusion == FusionMode::kNone ? "none" : "stitch") << ", output "
                   << graph.outputs()[i].name << "\n"
                   << sources.back().text);
    CHECK_THAT(device.output(i), matches_tensor(expected[i]));
  }
}

size_t occurrences(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + part.size())) {
    ++count;
  }
  return count;
}

}  // namespace stitch::test
