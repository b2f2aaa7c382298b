#include "emit_cuda/planned_kernels.h"

#include <cstring>
#include <map>
#include <memory>

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

// Device memory of every buffer of a plan: inputs and constants filled, one arena.
class PlanMemory {
 public:
  PlanMemory(const Plan& plan, const Graph& graph, const std::map<std::string, Tensor>& inputs)
      : plan_(plan) {
    for (const Buffer& buffer : plan.buffers) {
      arena_bytes_ = std::max(
          arena_bytes_, buffer.kind == BufferKind::kArena || buffer.kind == BufferKind::kScratch
                            ? buffer.offset + buffer.bytes
                            : 0);
    }
    arena_ =
        std::make_unique<DeviceBuffer>(static_cast<size_t>(std::max<int64_t>(arena_bytes_, 4)));
    for (const Buffer& buffer : plan.buffers) {
      std::vector<unsigned char> bytes(static_cast<size_t>(std::max<int64_t>(buffer.bytes, 1)));
      if (buffer.kind == BufferKind::kInput) {
        const ValueId id = graph.inputs()[static_cast<size_t>(buffer.index)];
        const Tensor& tensor = inputs.at(graph.value(id).name);
        std::memcpy(bytes.data(), tensor.bytes().data(), tensor.bytes().size());
      } else if (buffer.kind == BufferKind::kConstant) {
        const Tensor* tensor = plan.graph.constant(buffer.value);
        REQUIRE(tensor != nullptr);
        std::memcpy(bytes.data(), tensor->bytes().data(), tensor->bytes().size());
      }
      own_.emplace_back(
          new DeviceBuffer(DeviceBuffer::holding(bytes)));  // neither copied nor moved
    }
  }
  CUdeviceptr pointer(const KernelParameter& parameter) const {
    const Buffer& buffer = plan_.buffers[parameter.buffer.index];
    const auto skipped = static_cast<CUdeviceptr>(parameter.first * size_bytes(buffer.dtype));
    if (buffer.kind == BufferKind::kArena || buffer.kind == BufferKind::kScratch) {
      return arena_->pointer() + static_cast<CUdeviceptr>(buffer.offset) + skipped;
    }
    BufferId whole = parameter.buffer;
    while (plan_.buffers[whole.index].inside.valid()) whole = plan_.buffers[whole.index].inside;
    const int64_t inside = buffer.offset - plan_.buffers[whole.index].offset;
    return own_[whole.index]->pointer() + static_cast<CUdeviceptr>(inside) + skipped;
  }
  std::vector<unsigned char> bytes(size_t buffer) const {
    return own_[buffer]->read<unsigned char>();
  }

 private:
  const Plan& plan_;
  int64_t arena_bytes_ = 0;
  std::unique_ptr<DeviceBuffer> arena_;
  std::vector<std::unique_ptr<DeviceBuffer>> own_;
};

void launch(const LoadedKernels& kernels, const KernelSource& source, const PlanMemory& memory) {
  std::vector<unsigned> zeros(static_cast<size_t>(std::max<int64_t>(source.counter_words, 1)), 0u);
  const DeviceBuffer counters = DeviceBuffer::holding(zeros);
  std::vector<CUdeviceptr> pointers;
  for (const KernelParameter& parameter : source.parameters) {
    pointers.push_back(parameter.buffer.valid() ? memory.pointer(parameter) : counters.pointer());
  }
  std::vector<void*> arguments;
  for (CUdeviceptr& pointer : pointers) arguments.push_back(&pointer);
  Shape shape;
  shape.grid = static_cast<unsigned>(source.grid_x);
  shape.grid_y = static_cast<unsigned>(source.grid_y);
  shape.block = static_cast<unsigned>(source.block);
  shape.shared_bytes = static_cast<unsigned>(source.shared_bytes);
  shape.cooperative = source.cooperative;
  INFO(source.text);
  REQUIRE_DRIVER(kernels.launch(source.name.c_str(), shape, arguments));
  REQUIRE_DRIVER(cuCtxSynchronize());
  for (const ReportView& report : reports())
    FAIL(report.kind << ": " << report.text << "\n" << report.line);
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
  const PlanMemory memory(plan, graph, inputs);
  size_t next = 0;
  for (const Step& step : plan.steps) {
    REQUIRE(std::holds_alternative<Kernel>(step));
    launch(kernels, sources[next], memory);
    next += 1 + std::get<Kernel>(step).twin.size();
  }
  for (size_t b = 0; b < plan.buffers.size(); ++b) {
    const Buffer& buffer = plan.buffers[b];
    if (buffer.kind != BufferKind::kOutput || buffer.inside.valid()) continue;
    Tensor actual(buffer.dtype, buffer.extents);
    const std::vector<unsigned char> bytes = memory.bytes(b);
    REQUIRE(bytes.size() >= actual.bytes().size());
    std::memcpy(actual.mutable_bytes().data(), bytes.data(), actual.bytes().size());
    INFO("fusion " << (fusion == FusionMode::kNone ? "none" : "stitch") << ", output "
                   << graph.outputs()[static_cast<size_t>(buffer.index)].name << "\n"
                   << sources.back().text);
    CHECK_THAT(actual, matches_tensor(expected[static_cast<size_t>(buffer.index)]));
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
