#include "spills.h"

#include <fmt/format.h>

#include <algorithm>

#include "planner/cost/launch.h"

namespace stitch {
namespace {

void with_twins(Kernel& kernel, const auto& use) {
  use(kernel);
  for (Kernel& twin : kernel.twin) with_twins(twin, use);
}

}  // namespace

bool give_registers(PlannedArchitecture& planned) {
  const std::vector<Spill> spills = spills_of(planned);
  bool given = false;
  const auto give = [&](Kernel& kernel) {
    const auto found = std::find_if(spills.begin(), spills.end(), [&](const Spill& spill) {
      return spill.kernel == kernel.name;
    });
    if (found == spills.end()) return;
    given |= give_registers(kernel, planned.device, found->registers, found->bytes);
  };
  for (Step& step : planned.plan.steps) {
    if (Kernel* const kernel = std::get_if<Kernel>(&step)) with_twins(*kernel, give);
  }
  return given;
}

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
