// Many graphs through planner, emitter and emulator with one call of the host compiler: the kernels
// of all plans become one image.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "emit_cuda/emit_kernel.h"
#include "graph/graph.h"
#include "graph/tensor.h"
#include "planner/make_plan.h"

namespace stitch::test {

// Kernels without contractions, and those of them that request more than 5 % more or fewer bytes
// than predicted.
struct RequestCounts {
  int kernels = 0;
  std::vector<std::string> off;
};

struct BatchCase {
  std::string name;
  Graph graph;
  std::map<std::string, Tensor> inputs;
  Plan plan;  // refers to the graph
  std::vector<KernelSource> sources;
  // Filled by run_batch.
  std::vector<Tensor> outputs;
  std::vector<std::string> faults;  // of the checker, and of bytes beyond those predicted
  int kernels = 0;                  // without scratch
  int exact_kernels = 0;            // of these, whose bytes are those predicted
  RequestCounts plain;              // kernels whose addresses are known
  RequestCounts choosing;           // those that choose what they read: by data, or by position
};

struct BatchItem {
  std::string name;
  Graph graph;
  std::map<std::string, Tensor> inputs;
  PlanOptions options;
};

// Plans and emits; checks that the plan is valid and comes back from its text. Null where no kernel
// is known for an op of the graph, or where a library call would be needed.
std::unique_ptr<BatchCase> plan_case(BatchItem item);

// Compiles the kernels of all cases and runs each on the emulator with every check, threads in an
// order drawn from `seed`.
void run_batch(const std::vector<std::unique_ptr<BatchCase>>& cases, uint64_t seed);

// Whether the bytes of nearly all kernels are those predicted.
bool bytes_are_as_predicted(const std::vector<std::unique_ptr<BatchCase>>& cases);

// Requested bytes: those of every plain kernel are within 5 % of the plan's. A kernel that chooses
// does not read the side that is not taken, and the compiler splits and joins requests of its
// branches: most are within.
void check_requested_bytes(const std::vector<std::unique_ptr<BatchCase>>& cases);

}  // namespace stitch::test
