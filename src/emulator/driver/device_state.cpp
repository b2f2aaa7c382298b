#include "emulator/driver/device_state.h"

#include "emulator/device/source_lines.h"

namespace stitch::emulator {

DeviceState& device_state() {
  static auto* const kState = new DeviceState;  // lives as long as the process: programs may call
  return *kState;                               // the driver from their own exit handlers
}

void DeviceState::keep_reports() {
  for (Report& report : log.take()) {
    report.line = source_line(report.place.site).text;
    report.other_line = source_line(report.other.site).text;
    reports.push_back(std::move(report));
  }
}

KernelCounts& DeviceState::counts_of(const std::string& kernel) {
  for (KernelCounts& counts : kernels)
    if (counts.name == kernel) return counts;
  kernels.emplace_back().name = kernel;
  return kernels.back();
}

Stream* DeviceState::stream(CUstream handle) {
  if (handle == nullptr || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD)
    return &default_stream;
  return streams.find(handle);
}

Function* DeviceState::function(const void* handle) const {
  for (const auto& [key, module] : modules)
    for (const auto& [name, function] : module->functions())
      if (function.get() == handle) return function.get();
  return nullptr;
}

}  // namespace stitch::emulator
