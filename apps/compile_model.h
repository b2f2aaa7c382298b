// The trail of `stitchc compile`: ONNX file -> graph -> plan -> kernels -> cubins -> bundle.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "compile_flags.h"
#include "console.h"
#include "emit_cuda/bundle/bundle_contents.h"
#include "emit_cuda/compile/compile_kernels.h"
#include "emit_cuda/emit_kernel.h"
#include "frontend/import_onnx.h"
#include "graph/graph.h"
#include "planner/plan/plan.h"

namespace stitch {

// Wall time of each stage of the trail, milliseconds.
struct StageTimes {
  double import_ms = 0, passes_ms = 0, plan_ms = 0, emit_ms = 0, compile_ms = 0, bundle_ms = 0;
};

struct PlannedArchitecture {
  Plan plan;
  DeviceModel device;  // that it was planned for
  std::vector<KernelSource> kernels;
  CompiledKernels compiled;           // for this architecture alone
  std::vector<std::byte> host_image;  // empty unless asked for
};

// Everything up to the bundle. The plans refer to the graph, so the struct does not move.
struct CompiledModel {
  Graph graph;
  std::vector<std::string> notes;
  std::vector<PlannedArchitecture> architectures;
  StageTimes times;

  CompiledModel() = default;
  CompiledModel(const CompiledModel&) = delete;
  CompiledModel& operator=(const CompiledModel&) = delete;
};

enum class HostImages : uint8_t { kNone, kPlain, kChecked, kBoth };

// Import and passes; the first half of every command.
void import_model(const std::filesystem::path& model, const ImportOptions& options,
                  const CompileFlags& flags, Console& console, CompiledModel& compiled);
// A plan per architecture.
void plan_model(const CompileFlags& flags, Console& console, CompiledModel& compiled);
// Text, cubins and host images of the planned kernels.
void build_kernels(const CompileFlags& flags, HostImages host, Console& console,
                   CompiledModel& compiled);
// What write_bundle wants; spans point into `compiled`.
BundleContents bundle_contents(const CompiledModel& compiled, const std::string& name,
                               const std::string& model_hash, const CompileFlags& flags);

// A C identifier from the model's file name, or `wish` when that is not empty.
std::string bundle_name_for(const std::filesystem::path& model, const std::string& wish);

}  // namespace stitch
