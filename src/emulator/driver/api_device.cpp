// Driver API: initialisation, devices and contexts.
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "emulator/driver/entry_point.h"

using stitch::emulator::DeviceModel;
using stitch::emulator::DeviceState;
using stitch::emulator::entry_point;
using stitch::emulator::entry_point_outside_capture;

namespace {

constexpr int kDriverVersion = 13000;
constexpr const char* kDefaultArchitecture = "sm_80";

// The one context there is; its address is the handle.
CUcontext primary_context() {
  static char context;
  return reinterpret_cast<CUcontext>(&context);
}

// The contexts that this thread has made current, the current one last.
thread_local std::vector<CUcontext> context_stack;

CUcontext current_context() { return context_stack.empty() ? nullptr : context_stack.back(); }

int attribute_of(const DeviceModel& m, CUdevice_attribute attribute) {
  switch (static_cast<int>(attribute)) {
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y:
      return stitch::emulator::kMaxThreadsPerBlock;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z:
      return 64;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
      return 0x7fffffff;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z:
      return 65535;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
      return stitch::emulator::kSharedPerBlock;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      return m.shared_opt_in_per_block;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
      return m.shared_per_multiprocessor;
    case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK:
      return m.major >= 8 ? 1024 : 0;
    case CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY:
      return 65536;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
      return 32;
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR:
      return stitch::emulator::kRegistersPerMultiprocessor;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
      return m.clock_khz;
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
      return m.memory_clock_khz;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
      return m.memory_bus_bits;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      return m.multiprocessors;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
      return m.threads_per_multiprocessor;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR:
      return m.blocks_per_multiprocessor;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
      return m.l2_bytes;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      return m.major;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      return m.minor;
    case CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT:
      return 512;
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
    case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
    case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
    case CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED:
      return 1;
    case CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH:
      return m.major >= 9 ? 1 : 0;
    default:  // attributes are an open set: what the device does not have is 0
      return 0;
  }
}

}  // namespace

STITCH_DRIVER_API cuInit(unsigned flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  DeviceState& state = stitch::emulator::device_state();
  const std::lock_guard lock(state.mutex);
  if (state.initialised) return CUDA_SUCCESS;
  if (state.model == nullptr) {
    const char* const wanted = std::getenv("STITCH_EMULATED_DEVICE");
    state.model =
        stitch::emulator::find_device_model(wanted != nullptr ? wanted : kDefaultArchitecture);
    if (state.model == nullptr) return CUDA_ERROR_NO_DEVICE;
  }
  try {
    state.memory = std::make_unique<stitch::emulator::DeviceMemory>(state.model->memory_bytes);
  } catch (const std::bad_alloc&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  state.initialised = true;
  return CUDA_SUCCESS;
}

STITCH_DRIVER_API cuDriverGetVersion(int* version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *version = kDriverVersion;
  return CUDA_SUCCESS;
}

STITCH_DRIVER_API cuDeviceGetCount(int* count) {
  return entry_point([&](DeviceState&) {
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *count = 1;
    return CUDA_SUCCESS;
  });
}

STITCH_DRIVER_API cuDeviceGet(CUdevice* device, int ordinal) {
  return entry_point([&](DeviceState&) {
    if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (ordinal != 0) return CUDA_ERROR_INVALID_DEVICE;
    *device = 0;
    return CUDA_SUCCESS;
  });
}

STITCH_DRIVER_API cuDeviceGetName(char* name, int length, CUdevice device) {
  return entry_point([&](DeviceState& state) {
    if (name == nullptr || length <= 0) return CUDA_ERROR_INVALID_VALUE;
    if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
    const std::string full = "stitchc emulator (" + std::string(state.model->name) + ")";
    std::strncpy(name, full.c_str(), static_cast<std::size_t>(length));
    name[length - 1] = '\0';
    return CUDA_SUCCESS;
  });
}

STITCH_DRIVER_API cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  return entry_point([&](DeviceState& state) {
    if (value == nullptr || static_cast<int>(attribute) < 1) return CUDA_ERROR_INVALID_VALUE;
    if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
    *value = attribute_of(*state.model, attribute);
    return CUDA_SUCCESS;
  });
}

STITCH_DRIVER_API cuDeviceTotalMem(std::size_t* bytes, CUdevice device) {
  return entry_point([&](DeviceState& state) {
    if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
    *bytes = state.model->memory_bytes;
    return CUDA_SUCCESS;
  });
}

STITCH_DRIVER_API cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  return entry_point([&](DeviceState& state) {
    if (uuid == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
    std::memset(uuid->bytes, 0, sizeof uuid->bytes);
    std::memcpy(uuid->bytes, state.model->architecture.data(), state.model->architecture.size());
    return CUDA_SUCCESS;
  });
}

STITCH_DRIVER_API cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  return entry_point([&](DeviceState&) {
    if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
    *context = primary_context();
    return CUDA_SUCCESS;
  });
}

STITCH_DRIVER_API cuDevicePrimaryCtxRelease(CUdevice device) {
  return entry_point(
      [&](DeviceState&) { return device == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE; });
}

STITCH_DRIVER_API cuCtxSetCurrent(CUcontext context) {
  return entry_point([&](DeviceState&) {
    if (context != nullptr && context != primary_context()) return CUDA_ERROR_INVALID_CONTEXT;
    if (!context_stack.empty()) context_stack.pop_back();
    if (context != nullptr) context_stack.push_back(context);
    return CUDA_SUCCESS;
  });
}

STITCH_DRIVER_API cuCtxGetCurrent(CUcontext* context) {
  return entry_point([&](DeviceState&) {
    if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *context = current_context();
    return CUDA_SUCCESS;
  });
}

STITCH_DRIVER_API cuCtxPushCurrent(CUcontext context) {
  return entry_point([&](DeviceState&) {
    if (context != primary_context()) return CUDA_ERROR_INVALID_CONTEXT;
    context_stack.push_back(context);
    return CUDA_SUCCESS;
  });
}

STITCH_DRIVER_API cuCtxPopCurrent(CUcontext* context) {
  return entry_point([&](DeviceState&) {
    if (context_stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
    if (context != nullptr) *context = current_context();
    context_stack.pop_back();
    return CUDA_SUCCESS;
  });
}

STITCH_DRIVER_API cuCtxGetDevice(CUdevice* device) {
  return entry_point([&](DeviceState&) {
    if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (current_context() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    *device = 0;
    return CUDA_SUCCESS;
  });
}

STITCH_DRIVER_API cuCtxSynchronize() {
  return entry_point_outside_capture([](DeviceState&) { return CUDA_SUCCESS; });
}
