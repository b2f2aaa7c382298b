// Runs a model or a bundle once on the emulator, which counts, and joins the counts with what the
// bundle's manifest says of each kernel.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "compile_flags.h"
#include "console.h"
#include "frontend/import_onnx.h"
#include "kernel_profile.h"

namespace stitch {

struct ProfileRequest {
  std::filesystem::path target;     // a model folder, an ONNX file, or a bundle
  std::string data;                 // of a model: one data set; empty: the first beside it
  std::vector<std::string> inputs;  // of a bundle: "ids=ids.npy"
  std::string architecture;         // of a bundle: "sm_90" among several; empty: the first
  ImportOptions import;
  CompileFlags compile;  // of a model; the first architecture is run
  uint64_t seed = 1;     // of inputs that are drawn
};

struct ModelProfile {
  std::string architecture;  // "sm_80"
  std::string device;        // "a100": whose bandwidth and occupancy
  double dram_gbps = 0;
  std::string inputs;  // where they come from: "test_data_set_0", "drawn from seed 1", "given"
  std::vector<KernelProfile> kernels;  // in launch order; own contractions included
  int64_t contractions = 0;
  double host_seconds = 0;  // that the emulator took

  std::vector<KernelProfile> memory_intensive() const;
};

// ModelError when there is no model, or the bundle has no image for the emulator that can count.
ModelProfile profile_model(const ProfileRequest& request, Console& console);

}  // namespace stitch
