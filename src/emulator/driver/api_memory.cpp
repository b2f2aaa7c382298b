// Driver API: allocation, copies and fills.
#include <cstring>
#include <string>

#include "emulator/driver/entry_point.h"

using stitch::emulator::Allocation;
using stitch::emulator::DeviceState;
using stitch::emulator::entry_point;
using stitch::emulator::entry_point_outside_capture;
using stitch::emulator::Report;
using stitch::emulator::ReportKind;
using stitch::emulator::submit;

namespace {

unsigned char* address_of(CUdeviceptr pointer) {
  return reinterpret_cast<unsigned char*>(static_cast<std::uintptr_t>(pointer));
}

CUresult allocate(DeviceState& state, CUdeviceptr* pointer, std::size_t bytes) {
  if (pointer == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  Allocation* const allocation = state.memory->allocate(bytes);
  if (allocation == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  ++state.calls.allocations;
  *pointer = static_cast<CUdeviceptr>(reinterpret_cast<std::uintptr_t>(allocation->begin));
  if (state.settings.check)  // undefined values should look like it: NaN in every type
    std::memset(allocation->begin, 0xff, bytes);
  return CUDA_SUCCESS;
}

void report(DeviceState& state, ReportKind kind, const std::string& message) {
  state.reports.push_back({kind, "", message, {}, {}, {}, {}});
}

CUresult release(DeviceState& state, CUdeviceptr pointer) {
  if (pointer == 0) return CUDA_SUCCESS;
  const Allocation* const allocation = state.memory->find(address_of(pointer));
  const std::string name =
      allocation != nullptr ? allocation->describe(address_of(pointer)) : std::string();
  bool guard_intact = true;
  if (!state.memory->release(address_of(pointer), guard_intact)) return CUDA_ERROR_INVALID_VALUE;
  ++state.calls.frees;
  if (!guard_intact) report(state, ReportKind::kGuardOverwritten, "something wrote around " + name);
  return CUDA_SUCCESS;
}

// The allocation that a copy or fill works on; null, with a report, when it reaches outside.
Allocation* whole(DeviceState& state, const void* address, std::size_t bytes, const char* what) {
  Allocation* const allocation = state.memory->find_whole(address, bytes);
  if (allocation == nullptr) {
    const Allocation* const near = state.memory->find(address);
    report(state, ReportKind::kOutOfBounds,
           std::string(what) + " of " + std::to_string(bytes) + " bytes at " +
               (near != nullptr ? near->describe(address) : "an address that is not allocated"));
  }
  return allocation;
}

std::size_t offset_in(const Allocation& allocation, const void* address) {
  return static_cast<std::size_t>(static_cast<const unsigned char*>(address) - allocation.begin);
}

CUresult copy_to_device(DeviceState& state, CUdeviceptr to, const void* from, std::size_t bytes) {
  Allocation* const target = whole(state, address_of(to), bytes, "a copy to the device");
  if (target == nullptr) return CUDA_ERROR_INVALID_VALUE;
  ++state.calls.copies_to_device;
  std::memcpy(address_of(to), from, bytes);
  if (state.settings.check) target->shadow.define(offset_in(*target, address_of(to)), bytes);
  return CUDA_SUCCESS;
}

CUresult copy_to_host(DeviceState& state, void* to, CUdeviceptr from, std::size_t bytes) {
  const Allocation* const source = whole(state, address_of(from), bytes, "a copy to the host");
  if (source == nullptr) return CUDA_ERROR_INVALID_VALUE;
  ++state.calls.copies_to_host;
  std::memcpy(to, address_of(from), bytes);
  if (!state.settings.check) return CUDA_SUCCESS;
  const std::size_t undefined =
      source->shadow.undefined_bytes(offset_in(*source, address_of(from)), bytes);
  if (undefined != 0)
    report(state, ReportKind::kUndefinedRead,
           "a copy to the host reads " + std::to_string(undefined) +
               " bytes that nothing has written, of " + std::to_string(bytes) + " at " +
               source->describe(address_of(from)));
  return CUDA_SUCCESS;
}

CUresult copy_on_device(DeviceState& state, CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  Allocation* const source = whole(state, address_of(from), bytes, "a copy from the device");
  Allocation* const target = whole(state, address_of(to), bytes, "a copy to the device");
  if (source == nullptr || target == nullptr) return CUDA_ERROR_INVALID_VALUE;
  ++state.calls.copies_on_device;
  std::memmove(address_of(to), address_of(from), bytes);
  if (state.settings.check) {  // undefined bytes stay undefined
    for (std::size_t i = 0; i < bytes; ++i) {
      const bool defined = source->shadow.is_defined(offset_in(*source, address_of(from)) + i, 1);
      const std::size_t place = offset_in(*target, address_of(to)) + i;
      defined ? target->shadow.define(place, 1) : target->shadow.undefine(place, 1);
    }
  }
  return CUDA_SUCCESS;
}

template <class Value>
CUresult fill(DeviceState& state, CUdeviceptr to, Value value, std::size_t count) {
  const std::size_t bytes = count * sizeof(Value);
  if (to % sizeof(Value) != 0) return CUDA_ERROR_INVALID_VALUE;
  Allocation* const target = whole(state, address_of(to), bytes, "a fill");
  if (target == nullptr) return CUDA_ERROR_INVALID_VALUE;
  ++state.calls.memsets;
  for (std::size_t i = 0; i < count; ++i)
    std::memcpy(address_of(to) + i * sizeof(Value), &value, sizeof(Value));
  if (state.settings.check) target->shadow.define(offset_in(*target, address_of(to)), bytes);
  return CUDA_SUCCESS;
}

template <class Value>
CUresult submit_fill(CUdeviceptr to, Value value, std::size_t count, CUstream stream) {
  return entry_point([&](DeviceState& state) {
    return submit(state, stream, CU_GRAPH_NODE_TYPE_MEMSET,
                  [&state, to, value, count] { return fill(state, to, value, count); });
  });
}

}  // namespace

STITCH_DRIVER_API cuMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes) {
  return entry_point([&](DeviceState& state) {
    if (free_bytes == nullptr || total_bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *total_bytes = state.memory->capacity();
    *free_bytes = state.memory->capacity() - state.memory->used_bytes();
    return CUDA_SUCCESS;
  });
}

STITCH_DRIVER_API cuMemAlloc(CUdeviceptr* pointer, std::size_t bytes) {
  return entry_point_outside_capture(
      [&](DeviceState& state) { return allocate(state, pointer, bytes); });
}

STITCH_DRIVER_API cuMemFree(CUdeviceptr pointer) {
  return entry_point_outside_capture([&](DeviceState& state) { return release(state, pointer); });
}

// Stream-ordered allocation during capture would make graph nodes; the emulator has none.
STITCH_DRIVER_API cuMemAllocAsync(CUdeviceptr* pointer, std::size_t bytes, CUstream stream) {
  return entry_point_outside_capture([&](DeviceState& state) {
    if (state.stream(stream) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    return allocate(state, pointer, bytes);
  });
}

STITCH_DRIVER_API cuMemFreeAsync(CUdeviceptr pointer, CUstream stream) {
  return entry_point_outside_capture([&](DeviceState& state) {
    if (state.stream(stream) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    return release(state, pointer);
  });
}

STITCH_DRIVER_API cuMemAllocHost(void** pointer, std::size_t bytes) {
  return entry_point_outside_capture([&](DeviceState&) {
    if (pointer == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    *pointer = ::operator new(bytes);
    return CUDA_SUCCESS;
  });
}

STITCH_DRIVER_API cuMemFreeHost(void* pointer) {
  return entry_point_outside_capture([&](DeviceState&) {
    ::operator delete(pointer);
    return CUDA_SUCCESS;
  });
}

STITCH_DRIVER_API cuMemcpyHtoD(CUdeviceptr to, const void* from, std::size_t bytes) {
  return entry_point_outside_capture(
      [&](DeviceState& state) { return copy_to_device(state, to, from, bytes); });
}

STITCH_DRIVER_API cuMemcpyDtoH(void* to, CUdeviceptr from, std::size_t bytes) {
  return entry_point_outside_capture(
      [&](DeviceState& state) { return copy_to_host(state, to, from, bytes); });
}

STITCH_DRIVER_API cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  return entry_point_outside_capture(
      [&](DeviceState& state) { return copy_on_device(state, to, from, bytes); });
}

STITCH_DRIVER_API cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, std::size_t bytes,
                                    CUstream stream) {
  return entry_point([&](DeviceState& state) {
    return submit(state, stream, CU_GRAPH_NODE_TYPE_MEMCPY,
                  [&state, to, from, bytes] { return copy_to_device(state, to, from, bytes); });
  });
}

STITCH_DRIVER_API cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t bytes,
                                    CUstream stream) {
  return entry_point([&](DeviceState& state) {
    return submit(state, stream, CU_GRAPH_NODE_TYPE_MEMCPY,
                  [&state, to, from, bytes] { return copy_to_host(state, to, from, bytes); });
  });
}

STITCH_DRIVER_API cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes,
                                    CUstream stream) {
  return entry_point([&](DeviceState& state) {
    return submit(state, stream, CU_GRAPH_NODE_TYPE_MEMCPY,
                  [&state, to, from, bytes] { return copy_on_device(state, to, from, bytes); });
  });
}

STITCH_DRIVER_API cuMemsetD8(CUdeviceptr to, unsigned char value, std::size_t count) {
  return submit_fill(to, value, count, nullptr);
}
STITCH_DRIVER_API cuMemsetD16(CUdeviceptr to, unsigned short value, std::size_t count) {
  return submit_fill(to, value, count, nullptr);
}
STITCH_DRIVER_API cuMemsetD32(CUdeviceptr to, unsigned value, std::size_t count) {
  return submit_fill(to, value, count, nullptr);
}
STITCH_DRIVER_API cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t count,
                                  CUstream stream) {
  return submit_fill(to, value, count, stream);
}
STITCH_DRIVER_API cuMemsetD16Async(CUdeviceptr to, unsigned short value, std::size_t count,
                                   CUstream stream) {
  return submit_fill(to, value, count, stream);
}
STITCH_DRIVER_API cuMemsetD32Async(CUdeviceptr to, unsigned value, std::size_t count,
                                   CUstream stream) {
  return submit_fill(to, value, count, stream);
}

STITCH_DRIVER_API cuPointerGetAttribute(void* data, CUpointer_attribute attribute,
                                        CUdeviceptr pointer) {
  return entry_point([&](DeviceState& state) {
    const Allocation* const allocation = state.memory->find_whole(address_of(pointer), 1);
    if (data == nullptr || allocation == nullptr) return CUDA_ERROR_INVALID_VALUE;
    switch (static_cast<int>(attribute)) {
      case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *static_cast<unsigned*>(data) = CU_MEMORYTYPE_DEVICE;
        return CUDA_SUCCESS;
      case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *static_cast<int*>(data) = 0;
        return CUDA_SUCCESS;
      case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        *static_cast<CUdeviceptr*>(data) =
            static_cast<CUdeviceptr>(reinterpret_cast<std::uintptr_t>(allocation->begin));
        return CUDA_SUCCESS;
      case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        *static_cast<std::size_t*>(data) = allocation->bytes;
        return CUDA_SUCCESS;
      default:  // attributes of memory that the emulator does not have
        return CUDA_ERROR_INVALID_VALUE;
    }
  });
}
