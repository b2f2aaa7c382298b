// Plan -> CUDA C++ text: one complete unit per kernel, readable as if written by hand, and the
// facts that the launcher needs. Deterministic to the byte.
#pragma once
#include <string>
#include <vector>

#include "planner/plan/plan.h"

namespace stitch {

// One parameter of a kernel, in order.
struct KernelParameter {
  BufferId buffer;  // none: the counters of tickets and barriers, 32-bit, zero at launch
  std::string name;
  bool written = false;
  int64_t first = 0;  // the element of the buffer that the pointer is at
};

struct KernelSource {
  std::string name;
  std::string text;                       // `#include "reduce.cuh"` lines, constants, the kernel
  std::vector<std::string> device_files;  // what it includes, directly or not
  int64_t grid_x = 1, grid_y = 1;
  int block = 256;
  int min_blocks_per_sm = 0;
  int64_t shared_bytes = 0;  // dynamic
  int cluster = 1;
  bool cooperative = false;
  int64_t counter_words = 0;  // unsigned words behind the counters' pointer
  std::vector<KernelParameter> parameters;
  std::vector<std::string> nodes;  // names of the ONNX nodes
};

// Every kernel of the plan in launch order, each followed by its twin.
// InternalError when the plan asks for what cannot be emitted.
std::vector<KernelSource> emit_kernels(const Plan& plan);
KernelSource emit_kernel(const Plan& plan, const Kernel& kernel);

}  // namespace stitch
