// Bytes that planned kernels request from global memory: 32 times the sectors of all requests of
// all warps (docs/emulator.md). Exact up to sampling and to indices that tensors hold.
#pragma once
#include "planner/plan/plan.h"

namespace stitch {

// Sets ByteCounts::requested of every kernel that holds no contraction, twins included. A plan as
// make_plan gives it holds KernelTraffic's estimate: going through warps takes three times as long
// as planning, and no choice between kernels needs it.
void count_requested_bytes(Plan& plan);

}  // namespace stitch
