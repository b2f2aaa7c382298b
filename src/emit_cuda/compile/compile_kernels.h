// KernelSource texts -> cubins per architecture, compiled by NVRTC in parallel.
#pragma once
#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "emit_cuda/compile/cubin_resources.h"
#include "emit_cuda/compile/nvrtc.h"

namespace stitch {

// One emitted kernel: `#include "x.cuh"` lines, constants and one extern "C" kernel called `name`.
struct KernelText {
  std::string name;
  std::string text;
};

struct CompileOptions {
  std::vector<std::string> architectures;   // "sm_80", ...
  std::vector<VirtualHeader> device_files;  // what the kernels include
  std::filesystem::path cache;              // empty: none
  int jobs = 1;
  // Units that it has in the same words are taken from it; null: none.
  const struct CompiledKernels* earlier = nullptr;
  // Called as units finish, from any thread but one at a time.
  std::function<void(int done, int all)> progress;
};

// A cubin with one or more kernels.
struct CubinUnit {
  std::string name;
  std::vector<std::string> kernels;
  std::vector<std::byte> cubin;
  std::string text;  // what it was compiled from
};

struct ArchitectureCubins {
  std::string architecture;
  std::vector<CubinUnit> units;
  std::map<std::string, KernelResources> resources;  // by function
};

struct CompiledKernels {
  std::vector<ArchitectureCubins> architectures;  // in the order of the options
  // The function that runs a kernel: itself, or an earlier one with the same canonical text.
  std::map<std::string, std::string> function_of;
  std::string nvrtc_version;
  int cached_units = 0;
};

// Kernels with equal canonical text are compiled once. Without a cache several kernels share a unit
// (headers are parsed once per unit); with a cache each is a unit of its own. The result does not
// depend on `jobs`. DeviceError when NVRTC rejects a kernel or does not know an architecture.
CompiledKernels compile_kernels(const std::vector<KernelText>& kernels, const Nvrtc& nvrtc,
                                const CompileOptions& options);

}  // namespace stitch
