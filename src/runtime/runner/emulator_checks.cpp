#include "runtime/runner/emulator_checks.h"

#include <dlfcn.h>

#include <cstdlib>

#include "runtime/launcher_error.h"

namespace stitch::runtime {
namespace {

// Layouts of emulator_control.h, ABI version 1.
struct ControlSettings {
  std::size_t struct_size;
  std::int32_t check;
  std::int32_t count;
  std::int32_t order;
  std::uint64_t seed;
  std::uint32_t host_threads;
};

struct ControlReport {
  std::size_t struct_size;
  const char* kind;
  const char* kernel;
  const char* text;
  const char* line;
  const char* other_line;
  std::int64_t block;
  std::int64_t thread;
  std::int64_t other_block;
  std::int64_t other_thread;
};

struct ControlCounters {
  std::size_t struct_size;
  const char* kernel;
  std::uint64_t launches, blocks, threads;
  double host_seconds;
  std::uint64_t block_barriers, cluster_barriers, releases, shuffles, votes, products, matrix_loads,
      atomics, async_copies;
  std::uint64_t load_requests, load_sectors, load_bytes;
  std::uint64_t store_requests, store_sectors, store_bytes;
  std::uint64_t vector_requests;
  std::uint64_t shared_requests, shared_wavefronts, shared_ideal_wavefronts;
  std::uint64_t remote_requests;
  std::uint64_t distinct_load_bytes, distinct_store_bytes, scratch_bytes, read_back_bytes;
};

template <typename Function>
void find(void* library, const char* symbol, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, symbol));
}

const void* pointer(CUdeviceptr address) {
  return reinterpret_cast<const void*>(static_cast<std::uintptr_t>(address));
}

}  // namespace

EmulatorControl::EmulatorControl(const std::string& driver_file) {
  void* library = dlopen(driver_file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr || dlsym(library, "stitch_emulator_abi_version") == nullptr) return;
  find(library, "stitch_emulator_select_device", select_device_);
  find(library, "stitch_emulator_configure", configure_);
  find(library, "stitch_emulator_register_range", register_range_);
  find(library, "stitch_emulator_discard", discard_);
  find(library, "stitch_emulator_check_outputs", check_outputs_);
  find(library, "stitch_emulator_check_leaks", check_leaks_);
  find(library, "stitch_emulator_report_count", report_count_);
  find(library, "stitch_emulator_report", report_);
  find(library, "stitch_emulator_clear_reports", clear_reports_);
  find(library, "stitch_emulator_launch_count", launch_count_);
  find(library, "stitch_emulator_launch", launch_);
  find(library, "stitch_emulator_reset_counters", reset_counters_);
}

void EmulatorControl::select_device(const std::string& architecture) const {
  if (select_device_(architecture.c_str()) == 0) return;
  throw LauncherError(Status::kNoDevice,
                      "the emulator cannot present itself as '" + architecture +
                          "': there is no such device, or another is in use in this process");
}

void EmulatorControl::configure(const EmulatorSettings& settings) const {
  ControlSettings control = {};
  control.struct_size = sizeof(control);
  control.check = settings.check ? 1 : 0;
  control.count = settings.count ? 1 : 0;
  control.order = static_cast<std::int32_t>(settings.order);
  control.seed = settings.seed;
  if (configure_(&control) != 0) {
    throw LauncherError(Status::kInvalidArgument, "the emulator refused its settings");
  }
}

void EmulatorControl::register_range(CUdeviceptr begin, std::size_t bytes, const std::string& name,
                                     Role role) const {
  if (bytes == 0) return;
  if (register_range_(pointer(begin), bytes, name.c_str(), static_cast<std::int32_t>(role)) != 0) {
    throw LauncherError(Status::kInternal, "the emulator knows no memory of '" + name + "'");
  }
}

void EmulatorControl::discard(CUdeviceptr begin, std::size_t bytes) const {
  if (bytes > 0) discard_(pointer(begin), bytes);
}

void EmulatorControl::check_outputs() const { check_outputs_(); }

std::vector<EmulatorReport> EmulatorControl::reports() const { return reports_from(0); }

std::vector<EmulatorReport> EmulatorControl::leaks() const {
  const std::size_t before = report_count_();
  check_leaks_();
  return reports_from(before);
}

std::vector<EmulatorReport> EmulatorControl::reports_from(std::size_t first) const {
  std::vector<EmulatorReport> reports;
  const std::size_t count = report_count_();
  for (std::size_t number = first; number < count; ++number) {
    ControlReport report = {};
    report.struct_size = sizeof(report);
    if (report_(number, &report) == 0) reports.push_back({report.kind, report.kernel, report.text});
  }
  return reports;
}

void EmulatorControl::clear_reports() const { clear_reports_(); }

std::vector<LaunchCounts> EmulatorControl::launch_counts() const {
  std::vector<LaunchCounts> all;
  const std::size_t count = launch_count_();
  for (std::size_t number = 0; number < count; ++number) {
    ControlCounters from = {};
    from.struct_size = sizeof(from);
    if (launch_(number, &from) != 0) continue;
    LaunchCounts counts;
    counts.function = from.kernel;
    counts.blocks = from.blocks;
    counts.host_seconds = from.host_seconds;
    counts.block_barriers = from.block_barriers;
    counts.cluster_barriers = from.cluster_barriers;
    counts.releases = from.releases;
    counts.warp_exchanges = from.shuffles + from.votes;
    counts.atomics = from.atomics;
    counts.products = from.products;
    counts.global_requests = from.load_requests + from.store_requests;
    counts.vector_requests = from.vector_requests;
    counts.sectors = from.load_sectors + from.store_sectors;
    counts.sector_bytes = from.load_bytes + from.store_bytes;
    counts.shared_requests = from.shared_requests + from.remote_requests + from.matrix_loads;
    counts.shared_wavefronts = from.shared_wavefronts;
    counts.shared_ideal_wavefronts = from.shared_ideal_wavefronts;
    counts.read_bytes = from.distinct_load_bytes;
    counts.written_bytes = from.distinct_store_bytes;
    counts.read_back_bytes = from.read_back_bytes;
    all.push_back(std::move(counts));
  }
  return all;
}

void EmulatorControl::reset_counters() const { reset_counters_(); }

}  // namespace stitch::runtime
