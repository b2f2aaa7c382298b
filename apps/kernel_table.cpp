#include "kernel_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "console.h"
#include "plan_counts.h"
#include "table.h"

namespace stitch {

namespace {

std::string shared_text(const ManifestKernel& kernel) {
  const auto bytes =
      static_cast<long long>(kernel.static_shared_bytes + kernel.dynamic_shared_bytes);
  return bytes == 0 ? "0" : readable_bytes(bytes);
}

std::string ratio(double bytes, double compulsory) {
  return compulsory > 0 ? fmt::format("{:.2f}", bytes / compulsory) : "-";
}

std::string grid_text(const ManifestKernel& kernel) {
  std::string text = with_thousands(kernel.grid[0]);
  for (int axis = 1; axis < 3; ++axis)
    if (kernel.grid[static_cast<size_t>(axis)] > 1 || (axis == 1 && kernel.grid[2] > 1))
      text += fmt::format("x{}", kernel.grid[static_cast<size_t>(axis)]);
  return fmt::format("{} x {}", text, kernel.block);
}

}  // namespace

std::string kernel_table(const ManifestArchitecture& architecture, size_t limit) {
  std::vector<const ManifestKernel*> kernels;
  for (const ManifestKernel& kernel : architecture.kernels)
    if (!kernel.is_twin) kernels.push_back(&kernel);
  // Kernels that hold a contraction are rows of the table, but counted as contractions.
  std::set<std::string> contractions;
  for (const ManifestContraction& call : architecture.contractions)
    if (call.by == "own") contractions.insert(call.name);
  double bytes = 0, compulsory = 0, time = 0;
  int spilling = 0;
  size_t memory_intensive = 0;
  for (const ManifestKernel* kernel : kernels) {
    spilling += kernel->spill_bytes > 0 ? 1 : 0;
    if (contractions.contains(kernel->name)) continue;
    ++memory_intensive;
    bytes += static_cast<double>(kernel->bytes);
    compulsory += static_cast<double>(kernel->compulsory_bytes);
    time += kernel->predicted_us;
  }
  const size_t all = kernels.size();
  if (limit > 0 && limit < all) {
    std::stable_sort(kernels.begin(), kernels.end(),
                     [](const auto* a, const auto* b) { return a->bytes > b->bytes; });
    kernels.resize(limit);
  }
  Table table({{"kernel", Align::kLeft},
               {"nodes"},
               {"stages"},
               {"barriers"},
               {"scopes", Align::kLeft},
               {"grid x block"},
               {"regs"},
               {"spill"},
               {"smem"},
               {"bytes"},
               {"vs min"},
               {"time"}});
  for (const ManifestKernel* kernel : kernels)
    table.add_row(
        {kernel->name, std::to_string(kernel->nodes.size()), std::to_string(kernel->stages),
         std::to_string(kernel->grid_barriers), kernel->scopes, grid_text(*kernel),
         std::to_string(kernel->registers), std::to_string(kernel->spill_bytes),
         shared_text(*kernel), readable_bytes(static_cast<long long>(kernel->bytes)),
         ratio(static_cast<double>(kernel->bytes), static_cast<double>(kernel->compulsory_bytes)),
         fmt::format("{:.1f} us", kernel->predicted_us)});
  std::string text = table.to_string();
  if (kernels.size() < all) text += fmt::format("\n... {} more", all - kernels.size());
  int64_t calls = 0;
  for (const ManifestContraction& contraction : architecture.contractions)
    calls += contraction.calls;
  const auto all_contractions = static_cast<int64_t>(architecture.contractions.size());
  text +=
      fmt::format("\n{} kernels, {}", memory_intensive, contractions_text(all_contractions, calls));
  if (!architecture.contractions.empty())
    text +=
        fmt::format(" ({} by cublasLt, {} own)",
                    architecture.contractions.size() - contractions.size(), contractions.size());
  text += fmt::format("; {} through global memory, {} of the minimum; predicted {:.1f} us on {}",
                      readable_bytes(static_cast<long long>(bytes)), ratio(bytes, compulsory), time,
                      architecture.target);
  if (spilling > 0) text += fmt::format("\n{} kernels spill registers", spilling);
  return text;
}

std::string kernel_details(const ManifestKernel& kernel) {
  std::string text =
      fmt::format("{}: {} ONNX nodes in 1 launch\n", kernel.name, kernel.nodes.size());
  for (const std::string& node : kernel.nodes) text += fmt::format("  {}\n", node);
  text += fmt::format("stages       {}, grid barriers {}, scopes {}\n", kernel.stages,
                      kernel.grid_barriers, kernel.scopes);
  text +=
      fmt::format("launch       {}, shared memory {}\n", grid_text(kernel), shared_text(kernel));
  text += fmt::format("registers    {} per thread, {} bytes spilled\n", kernel.registers,
                      kernel.spill_bytes);
  text += fmt::format(
      "bytes        {} of {} compulsory ({})\n",
      readable_bytes(static_cast<long long>(kernel.bytes)),
      readable_bytes(static_cast<long long>(kernel.compulsory_bytes)),
      ratio(static_cast<double>(kernel.bytes), static_cast<double>(kernel.compulsory_bytes)));
  text += fmt::format("predicted    {:.1f} us (uncalibrated)\n", kernel.predicted_us);
  text += fmt::format("source       {}", kernel.source);
  return text;
}

}  // namespace stitch
