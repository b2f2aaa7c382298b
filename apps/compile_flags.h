// Flags that say how a model is compiled: architectures, planning, output.
#pragma once
#include <CLI/App.hpp>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "planner/make_plan.h"

namespace stitch {

struct CompileFlags {
  std::vector<std::string> architectures = {"sm_80"};  // "host" adds images for the emulator
  std::string target;                                  // device model instead of the default
  std::string fusion = "stitch";
  std::string contractions = "library";
  std::vector<std::string> without;  // names of techniques
  int64_t max_fusions = -1;          // < 0: no limit
  int jobs = 0;                      // 0: one per core
  std::filesystem::path cuda;
  std::filesystem::path cache;
  std::filesystem::path dump_dir;
  std::vector<std::filesystem::path> plans;         // files to take instead of planning
  std::vector<std::filesystem::path> calibrations;  // files, one for each device
  std::string only_kernel;                          // name or number; empty: all
  bool explain = false;

  // The architectures without "host", in the order given, each once.
  std::vector<std::string> device_architectures() const;
  bool wants_host() const;
  // ModelError, with the nearest name, for a mode that does not exist, and for a calibration of a
  // device that nothing is planned for.
  PlanOptions plan_options(const std::string& architecture) const;
  int job_count() const;
  // With the figures of the file of --calibration that is of this device.
  DeviceModel with_calibration(const DeviceModel& shipped) const;
};

// --arch --target --fusion --contractions --without --max-fusions --only-kernel --plan --dump-dir
// --calibration --explain
void add_planning_flags(CLI::App& command, CompileFlags& flags);
// --jobs --cuda --cache
void add_building_flags(CLI::App& command, CompileFlags& flags);

}  // namespace stitch
