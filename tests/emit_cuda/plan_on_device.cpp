#include "emit_cuda/plan_on_device.h"

#include <algorithm>
#include <cstring>

#include "emit_cuda/bundle/weights_file.h"
#include "support/catch.h"

namespace stitch::test {
namespace {

bool is_in_workspace(const Buffer& buffer) {
  return buffer.kind == BufferKind::kArena || buffer.kind == BufferKind::kScratch;
}

}  // namespace

PlanOnDevice::PlanOnDevice(const Plan& plan, const Graph& graph,
                           const std::map<std::string, Tensor>& inputs)
    : plan_(plan) {
  int64_t arena_bytes = 4;
  for (const Buffer& buffer : plan.buffers)
    if (is_in_workspace(buffer)) arena_bytes = std::max(arena_bytes, buffer.offset + buffer.bytes);
  arena_ = std::make_unique<DeviceBuffer>(static_cast<size_t>(arena_bytes));
  for (const Buffer& buffer : plan.buffers) {
    if (is_in_workspace(buffer)) {
      stitch_emulator_register_range(
          reinterpret_cast<const void*>(arena_->pointer() +
                                        static_cast<CUdeviceptr>(buffer.offset)),
          static_cast<size_t>(buffer.bytes), buffer.name.c_str(),
          buffer.kind == BufferKind::kScratch ? STITCH_EMULATOR_ROLE_SCRATCH
                                              : STITCH_EMULATOR_ROLE_UNKNOWN);
      own_.push_back(nullptr);
      continue;
    }
    std::vector<unsigned char> bytes(static_cast<size_t>(std::max<int64_t>(buffer.bytes, 1)));
    const Tensor* tensor = nullptr;
    if (buffer.kind == BufferKind::kInput) {
      const ValueId id = graph.inputs()[static_cast<size_t>(buffer.index)];
      tensor = &inputs.at(graph.value(id).name);
    } else if (buffer.kind == BufferKind::kConstant) {
      tensor = plan.graph.constant(buffer.value);
      REQUIRE(tensor != nullptr);
    }
    if (tensor == nullptr) {
      own_.push_back(std::make_unique<DeviceBuffer>(bytes.size()));  // undefined until written
      continue;
    }
    const std::vector<std::byte> stored =
        stored_bytes(weight_segment(*tensor, buffer.extents, buffer.strides));
    std::memcpy(bytes.data(), stored.data(), stored.size());
    own_.emplace_back(new DeviceBuffer(DeviceBuffer::holding(bytes)));  // neither copied nor moved
  }
}

CUdeviceptr PlanOnDevice::pointer(BufferId id) const {
  const Buffer& buffer = plan_.buffers[id.index];
  if (is_in_workspace(buffer)) return arena_->pointer() + static_cast<CUdeviceptr>(buffer.offset);
  BufferId whole = id;
  while (plan_.buffers[whole.index].inside.valid()) whole = plan_.buffers[whole.index].inside;
  const int64_t inside = buffer.offset - plan_.buffers[whole.index].offset;
  return own_[whole.index]->pointer() + static_cast<CUdeviceptr>(inside);
}

CUresult PlanOnDevice::launch(const LoadedKernels& kernels, const KernelSource& source) {
  const std::vector<unsigned> zeros(static_cast<size_t>(std::max<int64_t>(source.counter_words, 1)),
                                    0u);
  counters_.emplace_back(new DeviceBuffer(DeviceBuffer::holding(zeros)));
  std::vector<CUdeviceptr> pointers;
  for (const KernelParameter& parameter : source.parameters) {
    if (!parameter.buffer.valid()) {
      pointers.push_back(counters_.back()->pointer());
      continue;
    }
    const int64_t first = parameter.first * size_bytes(plan_.buffers[parameter.buffer.index].dtype);
    pointers.push_back(pointer(parameter.buffer) + static_cast<CUdeviceptr>(first));
  }
  std::vector<void*> arguments;
  for (CUdeviceptr& address : pointers) arguments.push_back(&address);
  test::Shape shape;
  shape.grid = static_cast<unsigned>(source.grid_x);
  shape.grid_y = static_cast<unsigned>(source.grid_y);
  shape.block = static_cast<unsigned>(source.block);
  shape.shared_bytes = static_cast<unsigned>(source.shared_bytes);
  shape.cooperative = source.cooperative;
  shape.cluster = static_cast<unsigned>(source.cluster);
  // As the launcher does: more than a kernel may have without asking.
  constexpr unsigned kSharedBytesWithoutAsking = 48 << 10;
  if (shape.shared_bytes > kSharedBytesWithoutAsking) {
    const CUresult result = cuFuncSetAttribute(kernels.function(source.name.c_str()),
                                               CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                               static_cast<int>(shape.shared_bytes));
    if (result != CUDA_SUCCESS) return result;
  }
  return kernels.launch(source.name.c_str(), shape, arguments);
}

Tensor PlanOnDevice::output(size_t index) const {
  for (size_t b = 0; b < plan_.buffers.size(); ++b) {
    const Buffer& buffer = plan_.buffers[b];
    if (buffer.kind != BufferKind::kOutput || buffer.inside.valid()) continue;
    if (buffer.index != static_cast<int>(index)) continue;
    Tensor tensor(buffer.dtype, buffer.extents);
    const std::vector<unsigned char> bytes = own_[b]->read<unsigned char>();
    REQUIRE(bytes.size() >= tensor.bytes().size());
    std::memcpy(tensor.mutable_bytes().data(), bytes.data(), tensor.bytes().size());
    return tensor;
  }
  FAIL("the plan has no output " << index);
  return {};
}

}  // namespace stitch::test
