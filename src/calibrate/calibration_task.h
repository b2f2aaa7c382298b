// What the three groups of measurements share: the device, how much to do, and where results go.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "calibrate/measuring_device.h"
#include "planner/device/calibration.h"

namespace stitch {

// On a GPU all of it is used; the emulated one is a program, on which less says as much.
struct MeasuringEffort {
  int repetitions = 31;
  int multiprocessors = 1;  // that the measuring kernels fill
  int64_t l2_bytes = 0;     // footprints are multiples of it
  int rounds = 1024;        // of the loops that count instructions
  int copies = 2;           // beyond the first, of what does not fit L2
};

struct CalibrationTask {
  MeasuringDevice& device;
  const DeviceModel& model;  // as shipped
  MeasuringEffort effort;
  Calibration result = {};
  std::vector<std::string_view> unresolved = {};  // values that were not told from zero

  Measured time_unit(const MeasuringDevice::Work& work) const {
    return device.time_unit(work, effort.repetitions);
  }
  // Leaves out what was not told from zero: the shipped value stays in use.
  void add_value(std::string_view name, const Measured& measured);
  void add_sample(std::string_view curve, double place, double number);
};

// launch_us, floor_us, barrier_us, ticket_us, reduce_us.
void measure_overheads(CalibrationTask& task);
// dram_latency_us, l2_gbps, reachable_share, share_of_one_sm, bytes_in_flight_per_thread.
void measure_memory(CalibrationTask& task);
// full_rate_threads and the cycles per instruction of each class.
void measure_instructions(CalibrationTask& task);

}  // namespace stitch
