#include "emit_cuda/program/launch_program.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/error.h"

namespace stitch {

namespace {

constexpr uint64_t kAlignment = 256;
// Split-k algorithms of cuBLASLt want scratch; the heuristic takes what there is.
constexpr uint64_t kLibraryScratchBytes = uint64_t{4} << 20;
constexpr uint64_t kCounterBytes = 4;

uint64_t align_up(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// Turns the steps of a plan into those of the launcher.
class ProgramBuilder {
 public:
  ProgramBuilder(const ProgramInput& input, WeightSegments& weights)
      : input_(input), weights_(weights) {
    for (size_t u = 0; u < input.cubins.units.size(); ++u)
      for (const std::string& function : input.cubins.units[u].kernels)
        unit_of_[function] = static_cast<uint32_t>(u);
    for (const KernelSource& kernel : input.kernels) by_name_[kernel.name] = &kernel;
    for (const Buffer& buffer : input.plan.buffers) by_value_.emplace(buffer.value, &buffer);
  }

  runtime::ArchitectureProgram build() {
    program_.architecture = architecture_number(input_.plan.architecture);
    program_.unit_count = static_cast<uint32_t>(input_.cubins.units.size());
    program_.workspace_alignment = kAlignment;
    lay_out_workspace();
    for (const Step& step : input_.plan.steps) {
      runtime::ProgramItem item;
      if (const auto* kernel = std::get_if<Kernel>(&step)) {
        item.steps.emplace_back(launch(*kernel));
        for (const Kernel& twin : kernel->twin) item.twin.emplace_back(launch(twin));
      } else {
        item.steps.emplace_back(call(std::get<LibraryMatmul>(step)));
      }
      program_.items.push_back(std::move(item));
    }
    return std::move(program_);
  }

 private:
  void lay_out_workspace() {
    uint64_t end = align_up(static_cast<uint64_t>(input_.plan.arena_bytes));
    const bool calls =
        std::any_of(input_.plan.steps.begin(), input_.plan.steps.end(),
                    [](const Step& step) { return std::holds_alternative<LibraryMatmul>(step); });
    if (calls) {
      library_scratch_ = {runtime::BufferKind::kWorkspace, 0, end, kLibraryScratchBytes};
      end += kLibraryScratchBytes;
    }
    program_.counters.offset = end;
    for (const KernelSource& kernel : input_.kernels) {
      counters_[kernel.name] = end;
      end += static_cast<uint64_t>(kernel.counter_words) * kCounterBytes;
    }
    program_.counters.bytes = end - program_.counters.offset;
    program_.workspace_bytes = end;
  }

  // The buffer from its element `first` on.
  runtime::BufferRef reference(const Buffer& buffer, int64_t first) {
    runtime::BufferRef ref = reference(buffer);
    const auto skipped = static_cast<uint64_t>(first * size_bytes(buffer.dtype));
    ref.offset += skipped;
    ref.bytes -= skipped;
    return ref;
  }

  runtime::BufferRef reference(const Buffer& buffer) {
    const auto bytes = static_cast<uint64_t>(buffer.bytes);
    const auto index = static_cast<uint32_t>(buffer.index);
    const auto offset = static_cast<uint64_t>(buffer.offset);
    switch (buffer.kind) {
      case BufferKind::kInput:
        return {runtime::BufferKind::kInput, index, offset, bytes};
      case BufferKind::kOutput:
        return {runtime::BufferKind::kOutput, index, offset, bytes};
      case BufferKind::kConstant:
        return {runtime::BufferKind::kWeights, weights_.segment_of(input_.plan, buffer), 0, bytes};
      case BufferKind::kArena:
      case BufferKind::kScratch:
        return {runtime::BufferKind::kWorkspace, 0, offset, bytes};
    }
    throw InternalError("a buffer of unknown kind");
  }

  runtime::KernelLaunch launch(const Kernel& kernel) {
    const KernelSource& source = *by_name_.at(kernel.name);
    runtime::KernelLaunch launch;
    launch.function = input_.compiled.function_of.at(kernel.name);
    launch.unit = unit_of_.at(launch.function);
    launch.grid = {static_cast<uint32_t>(source.grid_x), static_cast<uint32_t>(source.grid_y), 1};
    launch.block = {static_cast<uint32_t>(source.block), 1, 1};
    launch.dynamic_shared_bytes = static_cast<uint32_t>(source.shared_bytes);
    launch.cluster_size = static_cast<uint32_t>(source.cluster);
    launch.cooperative = source.cooperative;
    if (source.cooperative)
      launch.min_coresident_blocks = static_cast<uint32_t>(source.grid_x * source.grid_y);
    for (const KernelParameter& parameter : source.parameters) {
      if (parameter.buffer.valid())
        launch.arguments.emplace_back(
            reference(input_.plan.buffers[parameter.buffer.index], parameter.first));
      else
        launch.arguments.emplace_back(
            runtime::BufferRef{runtime::BufferKind::kWorkspace, 0, counters_.at(kernel.name),
                               static_cast<uint64_t>(source.counter_words) * kCounterBytes});
    }
    launch.source_nodes = source.nodes;
    return launch;
  }

  runtime::MatrixLayout matrix(const MatmulMatrix& matrix) {
    const Buffer& buffer = *by_value_.at(matrix.value);
    runtime::MatrixLayout layout;
    layout.buffer = reference(buffer, matrix.offset);
    layout.type = element_type(buffer.dtype);
    layout.order =
        matrix.column_major ? runtime::MatrixOrder::kColumnMajor : runtime::MatrixOrder::kRowMajor;
    layout.leading_dimension = matrix.leading_dimension;
    return layout;
  }

  runtime::MatmulCall call(const LibraryMatmul& matmul) {
    const MatmulLayout& layout = matmul.layout;
    runtime::MatmulCall call;
    for (SourceId source : matmul.sources)
      call.source_nodes.push_back(input_.plan.graph.graph->source(source).name);
    call.name = call.source_nodes.empty() ? "matmul" : call.source_nodes.front();
    call.m = layout.m;
    call.n = layout.n;
    call.k = layout.k;
    for (const MatmulBatch& batch : layout.batch)
      call.batch.push_back(
          {batch.count, batch.stride_a, batch.stride_b, batch.stride_d, batch.stride_c});
    call.a = matrix(layout.a);
    call.b = matrix(layout.b);
    call.d = matrix(layout.d);
    call.alpha = layout.scale;
    if (layout.c.value.valid()) {
      call.c = matrix(layout.c);
      call.beta = 1;
    }
    if (layout.bias.valid()) {
      const Buffer& bias = *by_value_.at(layout.bias);
      const int64_t element = size_bytes(bias.dtype);
      call.epilogue = runtime::Epilogue::kBias;
      call.bias = reference(bias);
      call.bias.offset += static_cast<uint64_t>(layout.bias_offset * element);
      call.bias.bytes = static_cast<uint64_t>(layout.n * element);
    }
    call.compute = layout.accumulate == DType::kF64   ? runtime::ComputeType::kFloat64
                   : layout.accumulate == DType::kI32 ? runtime::ComputeType::kInt32
                                                      : runtime::ComputeType::kFloat32;
    call.workspace = library_scratch_;
    return call;
  }

  const ProgramInput& input_;
  WeightSegments& weights_;
  runtime::ArchitectureProgram program_;
  std::map<std::string, uint32_t> unit_of_;
  std::map<std::string, const KernelSource*> by_name_;
  std::map<AccessValueId, const Buffer*> by_value_;
  std::map<std::string, uint64_t> counters_;
  runtime::BufferRef library_scratch_;
};

runtime::TensorInfo tensor_info(const std::string& name, const ValueType& type) {
  runtime::TensorInfo info;
  info.name = name;
  info.type = element_type(type.dtype);
  info.dims = constant_extents(type.shape);
  info.bytes = static_cast<uint64_t>(element_count(type.shape).constant() * size_bytes(type.dtype));
  return info;
}

}  // namespace

uint32_t WeightSegments::segment_of(const Plan& plan, const Buffer& buffer) {
  const ValueId value = plan.graph.value(buffer.value).graph_value;
  const auto [found, fresh] =
      of_constant_.try_emplace({value, buffer.strides}, static_cast<uint32_t>(segments_.size()));
  if (!fresh) return found->second;
  const Tensor* tensor = plan.graph.graph->constant(value);
  if (tensor == nullptr)
    throw InternalError(fmt::format("buffer '{}' is no constant of the graph", buffer.name));
  segments_.push_back(weight_segment(*tensor, buffer.extents, buffer.strides));
  return found->second;
}

runtime::ArchitectureProgram make_architecture_program(const ProgramInput& input,
                                                       WeightSegments& weights) {
  return ProgramBuilder(input, weights).build();
}

std::vector<runtime::TensorInfo> input_tensors(const Graph& graph) {
  std::vector<runtime::TensorInfo> tensors;
  for (ValueId input : graph.inputs())
    tensors.push_back(tensor_info(graph.value(input).name, graph.type(input)));
  return tensors;
}

std::vector<runtime::TensorInfo> output_tensors(const Graph& graph) {
  std::vector<runtime::TensorInfo> tensors;
  for (const GraphOutput& output : graph.outputs())
    tensors.push_back(tensor_info(output.name, graph.type(output.value)));
  return tensors;
}

runtime::ElementType element_type(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return runtime::ElementType::kBool;
    case DType::kI8:
      return runtime::ElementType::kInt8;
    case DType::kI16:
      return runtime::ElementType::kInt16;
    case DType::kI32:
      return runtime::ElementType::kInt32;
    case DType::kI64:
      return runtime::ElementType::kInt64;
    case DType::kU8:
      return runtime::ElementType::kUint8;
    case DType::kU16:
      return runtime::ElementType::kUint16;
    case DType::kU32:
      return runtime::ElementType::kUint32;
    case DType::kU64:
      return runtime::ElementType::kUint64;
    case DType::kF16:
      return runtime::ElementType::kFloat16;
    case DType::kBF16:
      return runtime::ElementType::kBfloat16;
    case DType::kF32:
      return runtime::ElementType::kFloat32;
    case DType::kF64:
      return runtime::ElementType::kFloat64;
  }
  throw InternalError("unknown dtype");
}

uint32_t architecture_number(const std::string& architecture) {
  return static_cast<uint32_t>(std::stoul(architecture.substr(architecture.find('_') + 1)));
}

}  // namespace stitch
