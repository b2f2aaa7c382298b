// A plan's buffers on the emulated device, and launches of its kernels on them.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "emit_cuda/emit_kernel.h"
#include "emulator/emulated_device.h"
#include "planner/plan/plan.h"

namespace stitch::test {

// Every tensor has memory of its exact size; what lives in the workspace shares one arena.
class PlanOnDevice {
 public:
  // The plan must outlive this.
  PlanOnDevice(const Plan& plan, const Graph& graph, const std::map<std::string, Tensor>& inputs);
  PlanOnDevice(const PlanOnDevice&) = delete;
  PlanOnDevice& operator=(const PlanOnDevice&) = delete;

  // Without waiting for its end; counters of barriers are zero at its start.
  CUresult launch(const LoadedKernels& kernels, const KernelSource& source);
  Tensor output(size_t index) const;

 private:
  CUdeviceptr pointer(BufferId id) const;

  const Plan& plan_;
  std::unique_ptr<DeviceBuffer> arena_;
  std::vector<std::unique_ptr<DeviceBuffer>> own_;
  std::vector<std::unique_ptr<DeviceBuffer>> counters_;
};

}  // namespace stitch::test
