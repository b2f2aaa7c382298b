#include "runtime/launch.h"

namespace STITCH_RUNTIME_NAMESPACE {

LaunchAttributes::LaunchAttributes(const KernelLaunch& launch) {
  if (launch.cooperative) {
    attributes_[count_].id = kCooperative;
    attributes_[count_].value.cooperative = 1;
    ++count_;
  }
  if (launch.cluster_size > 1) {
    attributes_[count_].id = kClusterDimension;
    attributes_[count_].value.cluster = {launch.cluster_size, 1, 1};
    ++count_;
  }
}

LaunchConfig LaunchAttributes::config(const KernelLaunch& launch, CUstream stream) {
  LaunchConfig config = {};
  config.grid_x = launch.grid.x;
  config.grid_y = launch.grid.y;
  config.grid_z = launch.grid.z;
  config.block_x = launch.block.x;
  config.block_y = launch.block.y;
  config.block_z = launch.block.z;
  config.shared_bytes = launch.dynamic_shared_bytes;
  config.stream = stream;
  config.attributes = count_ == 0 ? nullptr : attributes_;
  config.attribute_count = count_;
  return config;
}

void** ArgumentBuffer::pack(const KernelLaunch& launch, const DeviceMemory& memory) {
  for (std::size_t number = 0; number < launch.arguments.size(); ++number) {
    const KernelArgument& argument = launch.arguments[number];
    if (const auto* ref = std::get_if<BufferRef>(&argument)) {
      values_[number] = memory.address(*ref);
    } else {
      values_[number] = std::get_if<ScalarValue>(&argument)->bits;
    }
    pointers_[number] = &values_[number];
  }
  return pointers_.data();
}

}  // namespace STITCH_RUNTIME_NAMESPACE
