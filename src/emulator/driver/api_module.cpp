// Driver API: modules, libraries, functions and their attributes.
#include "emulator/driver/entry_point.h"
#include "emulator/driver/kernel_launch.h"

using stitch::emulator::DeviceState;
using stitch::emulator::entry_point;
using stitch::emulator::entry_point_outside_capture;
using stitch::emulator::Function;
using stitch::emulator::Module;

namespace {

CUresult load_image(DeviceState& state, const void* image, Module*& loaded) {
  if (image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto module = Module::load(image);
  if (!module) return CUDA_ERROR_NO_BINARY_FOR_GPU;  // a cubin or PTX
  loaded = state.modules.add(std::move(module));
  return CUDA_SUCCESS;
}

CUresult find_function(DeviceState& state, const void* handle, const char* name, Function*& found) {
  Module* const module = state.modules.find(handle);
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  found = module->find(name);
  return found != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult get_attribute(const DeviceState& state, const Function& function,
                       CUfunction_attribute attribute, int& value) {
  const auto& record = *function.record;
  switch (static_cast<int>(attribute)) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      value = record.max_block_threads != 0 ? static_cast<int>(record.max_block_threads)
                                            : stitch::emulator::kMaxThreadsPerBlock;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      value = function.max_dynamic_shared;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      value = function.shared_carveout;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
      value = function.non_portable_cluster;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
      value = state.model->major * 10 + state.model->minor;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
      value = static_cast<int>(record.cluster_x);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
      value = static_cast<int>(record.cluster_y);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
      value = static_cast<int>(record.cluster_z);
      return CUDA_SUCCESS;
    default:  // registers, static shared and local memory: unknown on the host, or none
      value = 0;
      return CUDA_SUCCESS;
  }
}

CUresult set_attribute(const DeviceState& state, Function& function, CUfunction_attribute attribute,
                       int value) {
  switch (static_cast<int>(attribute)) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      if (value < 0 || value > state.model->shared_opt_in_per_block)
        return CUDA_ERROR_INVALID_VALUE;
      function.max_dynamic_shared = value;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      if (value < -1 || value > 100) return CUDA_ERROR_INVALID_VALUE;
      function.shared_carveout = value;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
      function.non_portable_cluster = value;
      return CUDA_SUCCESS;
    default:  // the others cannot be set
      return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace

STITCH_DRIVER_API cuModuleLoadData(CUmodule* module, const void* image) {
  return entry_point_outside_capture([&](DeviceState& state) {
    if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Module* loaded = nullptr;
    const CUresult result = load_image(state, image, loaded);
    if (result == CUDA_SUCCESS) *module = reinterpret_cast<CUmodule>(loaded);
    return result;
  });
}

STITCH_DRIVER_API cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned, CUjit_option*,
                                     void**) {
  return cuModuleLoadData(module, image);
}

STITCH_DRIVER_API cuModuleUnload(CUmodule module) {
  return entry_point_outside_capture([&](DeviceState& state) {
    return state.modules.remove(module) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}

STITCH_DRIVER_API cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  return entry_point([&](DeviceState& state) {
    if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Function* found = nullptr;
    const CUresult result = find_function(state, module, name, found);
    if (result == CUDA_SUCCESS) *function = reinterpret_cast<CUfunction>(found);
    return result;
  });
}

STITCH_DRIVER_API cuModuleGetFunctionCount(unsigned* count, CUmodule module) {
  return entry_point([&](DeviceState& state) {
    Module* const found = state.modules.find(module);
    if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *count = static_cast<unsigned>(found->functions().size());
    return CUDA_SUCCESS;
  });
}

STITCH_DRIVER_API cuLibraryLoadData(CUlibrary* library, const void* image, CUjit_option*, void**,
                                    unsigned, CUlibraryOption*, void**, unsigned) {
  return entry_point_outside_capture([&](DeviceState& state) {
    if (library == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Module* loaded = nullptr;
    const CUresult result = load_image(state, image, loaded);
    if (result == CUDA_SUCCESS) *library = reinterpret_cast<CUlibrary>(loaded);
    return result;
  });
}

STITCH_DRIVER_API cuLibraryUnload(CUlibrary library) {
  return cuModuleUnload(reinterpret_cast<CUmodule>(library));
}

STITCH_DRIVER_API cuLibraryGetModule(CUmodule* module, CUlibrary library) {
  return entry_point([&](DeviceState& state) {
    if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (state.modules.find(library) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    *module = reinterpret_cast<CUmodule>(library);
    return CUDA_SUCCESS;
  });
}

STITCH_DRIVER_API cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  return cuModuleGetFunction(reinterpret_cast<CUfunction*>(kernel),
                             reinterpret_cast<CUmodule>(library), name);
}

STITCH_DRIVER_API cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  return entry_point([&](DeviceState& state) {
    if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (state.function(kernel) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    *function = reinterpret_cast<CUfunction>(kernel);
    return CUDA_SUCCESS;
  });
}

STITCH_DRIVER_API cuFuncGetAttribute(int* value, CUfunction_attribute attribute,
                                     CUfunction function) {
  return entry_point([&](DeviceState& state) {
    const Function* const found = state.function(function);
    if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return get_attribute(state, *found, attribute, *value);
  });
}

STITCH_DRIVER_API cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute,
                                     int value) {
  return entry_point([&](DeviceState& state) {
    Function* const found = state.function(function);
    if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    return set_attribute(state, *found, attribute, value);
  });
}

STITCH_DRIVER_API cuKernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel kernel,
                                       CUdevice) {
  return cuFuncGetAttribute(value, attribute, reinterpret_cast<CUfunction>(kernel));
}

STITCH_DRIVER_API cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel,
                                       CUdevice) {
  return cuFuncSetAttribute(reinterpret_cast<CUfunction>(kernel), attribute, value);
}

STITCH_DRIVER_API cuFuncSetCacheConfig(CUfunction function, CUfunc_cache) {
  return entry_point([&](DeviceState& state) {
    return state.function(function) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}

STITCH_DRIVER_API cuFuncLoad(CUfunction function) {
  return entry_point_outside_capture([&](DeviceState& state) {
    return state.function(function) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}

STITCH_DRIVER_API cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function,
                                                              int block_size,
                                                              std::size_t shared_bytes) {
  return entry_point([&](DeviceState& state) {
    const Function* const found = state.function(function);
    if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (blocks == nullptr || block_size <= 0) return CUDA_ERROR_INVALID_VALUE;
    *blocks = stitch::emulator::resident_blocks(*state.model, *found, block_size, shared_bytes);
    return CUDA_SUCCESS;
  });
}

STITCH_DRIVER_API cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, CUfunction function, int block_size, std::size_t shared_bytes, unsigned) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, block_size, shared_bytes);
}

// Clusters are packed into the multiprocessors as if these were one pool; the hardware keeps a
// cluster inside one of its groups of multiprocessors, which can leave a few unused.
STITCH_DRIVER_API cuOccupancyMaxActiveClusters(int* clusters, CUfunction function,
                                               const CUlaunchConfig* config) {
  return entry_point([&](DeviceState& state) {
    const Function* const found = state.function(function);
    if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (clusters == nullptr || config == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (state.model->major < 9) return CUDA_ERROR_NOT_SUPPORTED;
    int size = 1;
    for (unsigned i = 0; i < config->numAttrs; ++i)
      if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
        size = static_cast<int>(config->attrs[i].value.clusterDim.x);
    const auto threads =
        static_cast<int>(config->blockDimX * config->blockDimY * config->blockDimZ);
    const int blocks =
        stitch::emulator::resident_blocks(*state.model, *found, threads, config->sharedMemBytes);
    *clusters = blocks * state.model->multiprocessors / size;
    return CUDA_SUCCESS;
  });
}
