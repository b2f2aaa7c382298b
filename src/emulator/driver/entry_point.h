// How every function of the driver API begins and ends: one caller at a time, only after cuInit,
// and no exception leaves.
#pragma once
#include <cuda.h>

#include <exception>
#include <new>

#include "emulator/driver/device_state.h"

#define STITCH_DRIVER_API extern "C" __attribute__((visibility("default"))) CUresult

namespace stitch::emulator {

template <class Body>
CUresult entry_point(Body body) {
  DeviceState& state = device_state();
  const std::lock_guard lock(state.mutex);
  if (!state.initialised) return CUDA_ERROR_NOT_INITIALIZED;
  try {
    return body(state);
  } catch (const std::bad_alloc&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  } catch (const std::exception& failure) {
    state.reports.push_back({ReportKind::kUsage, "", failure.what(), {}, {}, {}, {}});
    return CUDA_ERROR_UNKNOWN;
  }
}

// Spoils every capture that a call which is not allowed during one would disturb. True when there
// was one.
bool disturb_captures(DeviceState& state);

// The same for calls that CUDA does not allow while a stream captures, in the global mode for any
// thread, in the thread-local mode for the one that captures.
template <class Body>
CUresult entry_point_outside_capture(Body body) {
  return entry_point([&](DeviceState& state) {
    return disturb_captures(state) ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : body(state);
  });
}

// Runs work now, or records it as a node when the stream captures.
CUresult submit(DeviceState& state, CUstream stream, CUgraphNodeType type, Work work);

}  // namespace stitch::emulator
