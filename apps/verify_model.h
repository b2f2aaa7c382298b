// Compiles a model, runs it on the emulator through the generated launcher, and compares every
// output with the fp64 evaluation and the recorded outputs.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "compile_flags.h"
#include "console.h"
#include "frontend/import_onnx.h"
#include "output_check.h"
#include "plan_counts.h"

namespace stitch {

struct VerifyRequest {
  std::filesystem::path target;  // a model folder, or an ONNX file
  std::string data;              // one data set's folder name; empty: all of them
  ImportOptions import;
  CompileFlags compile;  // the first architecture is run
  bool checks = true;    // races, bounds, undefined reads, barriers
  uint64_t seed = 1;     // of the order of threads, and of inputs where there is no data set
};

struct DataSetVerdict {
  std::string name;
  std::vector<OutputVerdict> outputs;
  std::vector<std::string> reports;  // of the checker, one line each
  bool passed() const;
};

struct VerifyResult {
  std::vector<DataSetVerdict> data_sets;
  PlanCounts counts;               // of the plan for the first data set's shapes
  std::vector<std::string> leaks;  // of the checker, after everything was closed
  bool passed() const;
  size_t report_count() const;
};

// Compiles once per distinct set of input shapes, with dims bound from the data set's inputs.
// ModelError when the target has no model or the data set does not fit it.
VerifyResult verify_model(const VerifyRequest& request, Console& console);

}  // namespace stitch
