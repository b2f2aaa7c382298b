// Counts of a plan, as tables and --json show them.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "planner/plan/plan.h"

namespace stitch {

struct PlanCounts {
  int64_t kernels = 0;            // memory-intensive: those that hold no contraction
  int64_t contractions = 0;       // matrix products and convolutions, by the library or own kernels
  int64_t contraction_calls = 0;  // of the library, and launches of own kernels: a product with two
                                  // batch strides takes a call for each index of the outer one
  int64_t copies = 0;             // of the kernels, those that only move data
  int64_t grid_barriers = 0;      // row and grid barriers of all kernels
  int64_t regions = 0;            // depth regions after absorption
  int64_t bytes = 0;              // of the memory-intensive kernels, as emulator.md defines them
  int64_t compulsory_bytes = 0;
  double predicted_us = 0;
  std::vector<std::string> notes;  // where the plan was cut, and what is loaded again
};
PlanCounts count_plan(const Plan& plan);

// Bytes as a multiple of the compulsory ones: "1.06".
std::string bytes_ratio(const PlanCounts& counts);

// "17 contractions", with " in 19 calls" where that differs.
std::string contractions_text(int64_t contractions, int64_t calls);

}  // namespace stitch
