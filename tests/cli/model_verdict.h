// Verification of a model inside of a test: everything that `stitchc verify` would complain about.
#pragma once
#include <filesystem>
#include <string>

#include "planner/make_plan.h"

namespace stitch {

struct VerdictOptions {
  FusionMode fusion = FusionMode::kStitch;
  ContractionMode contractions = ContractionMode::kLibrary;
};

// Compiles the model for sm_80, runs all its data sets on the emulator with every check, and
// compares the outputs by the rules of docs/numerics.md. Empty when it passes, else one line per
// fault.
std::string verify_faults(const std::filesystem::path& model, const VerdictOptions& options = {});

}  // namespace stitch
