// The functions of emulator_control.h.
#include <algorithm>
#include <cstring>
#include <string>

#include "emulator/driver/device_state.h"
#include "emulator/driver/report_text.h"
#include "emulator/emulator_control.h"

namespace {

using stitch::emulator::Allocation;
using stitch::emulator::CodePlace;
using stitch::emulator::device_state;
using stitch::emulator::DeviceState;
using stitch::emulator::KernelCounts;
using stitch::emulator::NamedRange;
using stitch::emulator::Order;
using stitch::emulator::RangeRole;
using stitch::emulator::Report;
using stitch::emulator::ReportKind;

// Copies as much of a struct as the caller, who may be older or newer, has room for.
template <class Struct>
void copy_out(Struct* to, Struct from) {
  const std::size_t bytes = std::min(to->struct_size, sizeof(Struct));
  from.struct_size = to->struct_size;
  std::memcpy(to, &from, bytes);
}

void report(DeviceState& state, ReportKind kind, const std::string& message) {
  state.reports.push_back({kind, "", message, {}, {}, {}, {}});
}

std::size_t offset_in(const Allocation& allocation, const void* address) {
  return static_cast<std::size_t>(static_cast<const unsigned char*>(address) - allocation.begin);
}

// The allocation that holds a range, or null.
Allocation* allocation_of(DeviceState& state, const void* begin, std::size_t bytes) {
  return state.memory ? state.memory->find_whole(begin, bytes) : nullptr;
}

void copy_counts(stitch_emulator_kernel_counters* counters, const KernelCounts& k) {
  const auto& e = k.events;
  const auto& t = k.traffic;
  copy_out(counters, {0,
                      k.name.c_str(),
                      k.launches,
                      k.blocks,
                      k.threads,
                      k.host_seconds,
                      e.block_barriers,
                      e.cluster_barriers,
                      e.releases,
                      e.shuffles,
                      e.votes,
                      e.products,
                      e.matrix_loads,
                      e.atomics,
                      e.async_copies,
                      t.load_requests,
                      t.load_sectors,
                      t.load_bytes,
                      t.store_requests,
                      t.store_sectors,
                      t.store_bytes,
                      t.vector_requests,
                      t.shared_requests,
                      t.shared_wavefronts,
                      t.shared_ideal_wavefronts,
                      t.remote_requests,
                      t.distinct_load_bytes,
                      t.distinct_store_bytes,
                      t.scratch_bytes,
                      t.read_back_bytes});
}

}  // namespace

uint32_t stitch_emulator_abi_version(void) { return STITCH_EMULATOR_ABI_VERSION; }

int stitch_emulator_select_device(const char* architecture) {
  DeviceState& state = device_state();
  const std::lock_guard lock(state.mutex);
  const auto* const model = stitch::emulator::find_device_model(architecture);
  if (model == nullptr || (state.initialised && state.model != model)) return 1;
  state.model = model;
  return 0;
}

int stitch_emulator_configure(const stitch_emulator_settings* settings) {
  if (settings == nullptr || settings->struct_size < sizeof *settings) return 1;
  if (settings->order < 0 || settings->order > STITCH_EMULATOR_RANDOM) return 1;
  DeviceState& state = device_state();
  const std::lock_guard lock(state.mutex);
  const bool checked_before = state.settings.check;
  state.settings = {settings->check != 0, settings->count != 0, static_cast<Order>(settings->order),
                    settings->seed, settings->host_threads};
  if (!checked_before && state.settings.check && state.memory)
    for (const auto& [begin, allocation] : state.memory->allocations())
      allocation->shadow.define(0, allocation->bytes);
  return 0;
}

void stitch_emulator_get_settings(stitch_emulator_settings* settings) {
  DeviceState& state = device_state();
  const std::lock_guard lock(state.mutex);
  copy_out(settings, {0, state.settings.check, state.settings.count,
                      static_cast<int32_t>(state.settings.order), state.settings.seed,
                      state.settings.host_threads});
}

int stitch_emulator_register_range(const void* begin, size_t bytes, const char* name,
                                   int32_t role) {
  DeviceState& state = device_state();
  const std::lock_guard lock(state.mutex);
  Allocation* const allocation = allocation_of(state, begin, bytes);
  if (allocation == nullptr || name == nullptr || role < 0 || role > STITCH_EMULATOR_ROLE_COUNTERS)
    return 1;
  allocation->ranges.push_back(
      {name, offset_in(*allocation, begin), bytes, static_cast<RangeRole>(role)});
  return 0;
}

int stitch_emulator_forget_ranges(const void* address) {
  DeviceState& state = device_state();
  const std::lock_guard lock(state.mutex);
  Allocation* const allocation = allocation_of(state, address, 1);
  if (allocation == nullptr) return 1;
  allocation->ranges.clear();
  return 0;
}

int stitch_emulator_discard(const void* begin, size_t bytes) {
  DeviceState& state = device_state();
  const std::lock_guard lock(state.mutex);
  Allocation* const allocation = allocation_of(state, begin, bytes);
  if (allocation == nullptr) return 1;
  allocation->shadow.undefine(offset_in(*allocation, begin), bytes);
  return 0;
}

size_t stitch_emulator_undefined_bytes(const void* begin, size_t bytes) {
  DeviceState& state = device_state();
  const std::lock_guard lock(state.mutex);
  Allocation* const allocation = allocation_of(state, begin, bytes);
  return allocation != nullptr
             ? allocation->shadow.undefined_bytes(offset_in(*allocation, begin), bytes)
             : bytes;
}

void stitch_emulator_check_outputs(void) {
  DeviceState& state = device_state();
  const std::lock_guard lock(state.mutex);
  if (!state.memory || !state.settings.check) return;
  for (const auto& [begin, allocation] : state.memory->allocations())
    for (const NamedRange& range : allocation->ranges) {
      if (range.role != RangeRole::kOutput) continue;
      const std::size_t missing = allocation->shadow.undefined_bytes(range.offset, range.bytes);
      if (missing != 0)
        report(state, ReportKind::kUnwrittenOutput,
               std::to_string(missing) + " of " + std::to_string(range.bytes) +
                   " bytes of output " + range.name + " were never written");
    }
}

void stitch_emulator_check_leaks(void) {
  DeviceState& state = device_state();
  const std::lock_guard lock(state.mutex);
  if (!state.memory) return;
  for (const auto& [begin, allocation] : state.memory->allocations()) {
    report(state, ReportKind::kLeak, allocation->describe(begin) + " was never freed");
    if (!state.memory->guard_intact(*allocation))
      report(state, ReportKind::kGuardOverwritten,
             "something wrote around " + allocation->describe(begin));
  }
}

size_t stitch_emulator_report_count(void) {
  DeviceState& state = device_state();
  const std::lock_guard lock(state.mutex);
  return state.reports.size();
}

int stitch_emulator_report(size_t index, stitch_emulator_report_info* info) {
  DeviceState& state = device_state();
  const std::lock_guard lock(state.mutex);
  if (info == nullptr || index >= state.reports.size()) return 1;
  state.report_texts.resize(state.reports.size());
  const Report& r = state.reports[index];
  std::string& text = state.report_texts[index];
  if (text.empty()) text = stitch::emulator::report_text(r);
  const auto number = [](const CodePlace& place, std::uint32_t value) {
    return place.known ? static_cast<int64_t>(value) : int64_t{-1};
  };
  copy_out(info, {0, stitch::emulator::report_kind_name(r.kind), r.kernel.c_str(), text.c_str(),
                  r.line.c_str(), r.other_line.c_str(), number(r.place, r.place.block),
                  number(r.place, r.place.thread), number(r.other, r.other.block),
                  number(r.other, r.other.thread)});
  return 0;
}

void stitch_emulator_clear_reports(void) {
  DeviceState& state = device_state();
  const std::lock_guard lock(state.mutex);
  state.reports.clear();
  state.report_texts.clear();
}

size_t stitch_emulator_kernel_count(void) {
  DeviceState& state = device_state();
  const std::lock_guard lock(state.mutex);
  return state.kernels.size();
}

int stitch_emulator_kernel(size_t index, stitch_emulator_kernel_counters* counters) {
  DeviceState& state = device_state();
  const std::lock_guard lock(state.mutex);
  if (counters == nullptr || index >= state.kernels.size()) return 1;
  copy_counts(counters, state.kernels[index]);
  return 0;
}

size_t stitch_emulator_launch_count(void) {
  DeviceState& state = device_state();
  const std::lock_guard lock(state.mutex);
  return state.launches.size();
}

int stitch_emulator_launch(size_t index, stitch_emulator_kernel_counters* counters) {
  DeviceState& state = device_state();
  const std::lock_guard lock(state.mutex);
  if (counters == nullptr || index >= state.launches.size()) return 1;
  copy_counts(counters, state.launches[index]);
  return 0;
}

void stitch_emulator_calls(stitch_emulator_call_counters* counters) {
  DeviceState& state = device_state();
  const std::lock_guard lock(state.mutex);
  const auto& c = state.calls;
  copy_out(counters, {0, c.kernel_launches, c.matmuls, c.memsets, c.copies_to_device,
                      c.copies_to_host, c.copies_on_device, c.allocations, c.frees,
                      state.memory ? state.memory->used_bytes() : 0});
}

void stitch_emulator_reset_counters(void) {
  DeviceState& state = device_state();
  const std::lock_guard lock(state.mutex);
  state.kernels.clear();
  state.launches.clear();
  state.calls = {};
}
