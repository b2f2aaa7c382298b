#include "spills.h"

#include <fmt/format.h>

namespace stitch {

std::vector<Spill> spills_of(const PlannedArchitecture& planned) {
  std::vector<Spill> spills;
  const auto& resources = planned.compiled.architectures.front().resources;
  for (const KernelSource& kernel : planned.kernels) {
    const KernelResources& found = resources.at(planned.compiled.function_of.at(kernel.name));
    if (found.spill_bytes > 0) spills.push_back({kernel.name, found.registers, found.spill_bytes});
  }
  return spills;
}

std::string spill_text(const Spill& spill, const std::string& architecture) {
  return fmt::format(
      "kernel '{}' for {} spills {} bytes per thread to local memory: it keeps more than its {} "
      "registers hold, and is slower than predicted",
      spill.kernel, architecture, spill.bytes, spill.registers);
}

}  // namespace stitch
