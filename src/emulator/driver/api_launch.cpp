// Driver API: kernel launches.
#include "emulator/driver/entry_point.h"
#include "emulator/driver/kernel_launch.h"

using stitch::emulator::DeviceState;
using stitch::emulator::entry_point;
using stitch::emulator::Function;
using stitch::emulator::LaunchShape;

namespace {

// Attributes that only hint at speed are accepted; those that change the meaning are not ignored.
CUresult apply_attribute(const CUlaunchAttribute& attribute, LaunchShape& shape) {
  switch (static_cast<int>(attribute.id)) {
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
      shape.cooperative = attribute.value.cooperative != 0;
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
      shape.cluster = {attribute.value.clusterDim.x, attribute.value.clusterDim.y,
                       attribute.value.clusterDim.z};
      return shape.cluster.x != 0 && shape.cluster.y != 0 && shape.cluster.z != 0
                 ? CUDA_SUCCESS
                 : CUDA_ERROR_INVALID_VALUE;
    case CU_LAUNCH_ATTRIBUTE_IGNORE:
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      return CUDA_SUCCESS;
    default:  // an attribute of a newer driver
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

// `extra` of the launch functions packs all arguments into one buffer; nobody here needs it.
CUresult launch(CUfunction handle, LaunchShape shape, CUstream stream, void** arguments,
                void** extra) {
  return entry_point([&](DeviceState& state) {
    Function* const function = state.function(handle);
    if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (extra != nullptr && extra[0] != CU_LAUNCH_PARAM_END) return CUDA_ERROR_NOT_SUPPORTED;
    const auto& record = *function->record;
    const bool default_cluster =
        shape.cluster.x == 1 && shape.cluster.y == 1 && shape.cluster.z == 1;
    if (record.cluster_x != 0 && default_cluster)
      shape.cluster = {record.cluster_x, record.cluster_y, record.cluster_z};
    return launch_kernel(state, *function, shape, stream, arguments);
  });
}

}  // namespace

STITCH_DRIVER_API cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                                 unsigned grid_z, unsigned block_x, unsigned block_y,
                                 unsigned block_z, unsigned shared_bytes, CUstream stream,
                                 void** arguments, void** extra) {
  return launch(
      function,
      {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes, {1, 1, 1}, false},
      stream, arguments, extra);
}

STITCH_DRIVER_API cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                                            unsigned grid_z, unsigned block_x, unsigned block_y,
                                            unsigned block_z, unsigned shared_bytes,
                                            CUstream stream, void** arguments) {
  return launch(
      function,
      {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes, {1, 1, 1}, true},
      stream, arguments, nullptr);
}

STITCH_DRIVER_API cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function,
                                   void** arguments, void** extra) {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  LaunchShape shape{{config->gridDimX, config->gridDimY, config->gridDimZ},
                    {config->blockDimX, config->blockDimY, config->blockDimZ},
                    config->sharedMemBytes,
                    {1, 1, 1},
                    false};
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const CUresult result = apply_attribute(config->attrs[i], shape);
    if (result != CUDA_SUCCESS) return result;
  }
  return launch(function, shape, config->hStream, arguments, extra);
}
