#include "runtime/inference.h"

#include <algorithm>

#include "runtime/launcher_error.h"
#include "runtime/program_check.h"

namespace STITCH_RUNTIME_NAMESPACE {
namespace {

std::size_t most_arguments(const Model& model) {
  std::size_t most = 0;
  for (const BoundStep& step : model.steps()) {
    if (const auto* kernel = std::get_if<BoundKernel>(&step)) {
      most = std::max(most, kernel->launch->arguments.size());
    }
  }
  return most;
}

[[noreturn]] void fail(const std::string& text) {
  throw LauncherError(Status::kInvalidArgument, text);
}

template <typename Pointer>
void check_tensors(const char* role, const std::vector<TensorInfo>& tensors,
                   Pointer const* pointers) {
  if (pointers == nullptr && !tensors.empty()) fail(std::string(role) + "s is null");
  for (std::size_t number = 0; number < tensors.size(); ++number) {
    if (tensors[number].bytes == 0) continue;
    const std::string title =
        std::string(role) + " " + std::to_string(number) + " ('" + tensors[number].name + "')";
    if (pointers[number] == nullptr) fail(title + " is null");
    if (reinterpret_cast<std::uintptr_t>(pointers[number]) % kCallerAlignment != 0) {
      fail(title + " is not aligned to 16 bytes");
    }
  }
}

}  // namespace

Inference::Inference(const Model& model) : model_(model), arguments_(most_arguments(model)) {
  matmul_of_step_.resize(model.steps().size(), nullptr);
  for (std::size_t step = 0; step < model.steps().size(); ++step) {
    if (const auto* matmul = std::get_if<BoundMatmul>(&model.steps()[step])) {
      matmuls_.emplace_back(*model.cublas(), *matmul->call, &matmul->algorithm);
      matmul_of_step_[step] = &matmuls_.back();
    }
  }
}

void Inference::enqueue(const InferenceBuffers& buffers, CUstream stream, StepObserver* observer) {
  check(buffers);
  DeviceMemory memory;
  memory.inputs = buffers.inputs;
  memory.outputs = buffers.outputs;
  memory.workspace = device_address(buffers.workspace);
  memory.weights = weights_ != 0 ? weights_ : model_.weights();
  memory.weights_segments = &model_.program().weights_segments;
  const Driver& driver = model_.driver();
  const CurrentContext current(driver, model_.context());
  const ByteRange counters = model_.architecture().counters;
  if (counters.bytes > 0) {
    driver.check(driver.memset_async(memory.workspace + counters.offset, 0, counters.bytes, stream),
                 "cuMemsetD8Async", "zeroing barrier counters");
  }
  for (std::size_t step = 0; step < model_.steps().size(); ++step) {
    if (observer != nullptr) observer->before(step);
    run(step, memory, stream);
    if (observer != nullptr) observer->after(step);
  }
}

void Inference::check(const InferenceBuffers& buffers) const {
  check_tensors("input", model_.program().inputs, buffers.inputs);
  check_tensors("output", model_.program().outputs, buffers.outputs);
  const ArchitectureProgram& architecture = model_.architecture();
  if (architecture.workspace_bytes == 0) return;
  if (buffers.workspace_bytes < architecture.workspace_bytes) {
    fail("the workspace has " + std::to_string(buffers.workspace_bytes) + " bytes, " +
         std::to_string(architecture.workspace_bytes) + " are needed");
  }
  if (buffers.workspace == nullptr) fail("the workspace is null");
  if (reinterpret_cast<std::uintptr_t>(buffers.workspace) % architecture.workspace_alignment != 0) {
    fail("the workspace is not aligned to " + std::to_string(architecture.workspace_alignment) +
         " bytes");
  }
}

void Inference::run(std::size_t step, const DeviceMemory& memory, CUstream stream) {
  const Driver& driver = model_.driver();
  const BoundStep& bound = model_.steps()[step];
  if (const auto* kernel = std::get_if<BoundKernel>(&bound)) {
    LaunchAttributes attributes(*kernel->launch);
    const LaunchConfig config = attributes.config(*kernel->launch, stream);
    const CUresult result =
        driver.launch(&config, kernel->function, arguments_.pack(*kernel->launch, memory), nullptr);
    if (result != kCudaSuccess) {
      driver.check(result, "cuLaunchKernelEx",
                   "launching kernel '" + kernel->launch->function + "'");
    }
  } else if (matmul_of_step_[step] != nullptr) {
    matmul_of_step_[step]->run(memory, stream);
  } else {
    const Memset& memset = **std::get_if<const Memset*>(&bound);
    driver.check(driver.memset_async(memory.address(memset.buffer), memset.value,
                                     memset.buffer.bytes, stream),
                 "cuMemsetD8Async", "setting a buffer");
  }
}

const std::vector<std::string>* source_nodes(const BoundStep& step) {
  if (const auto* kernel = std::get_if<BoundKernel>(&step)) return &kernel->launch->source_nodes;
  if (const auto* matmul = std::get_if<BoundMatmul>(&step)) return &matmul->call->source_nodes;
  return nullptr;
}

const char* bound_step_name(const BoundStep& step) {
  if (const auto* kernel = std::get_if<BoundKernel>(&step)) {
    return kernel->launch->function.c_str();
  }
  if (const auto* matmul = std::get_if<BoundMatmul>(&step)) return matmul->call->name.c_str();
  return "memset";
}

}  // namespace STITCH_RUNTIME_NAMESPACE
