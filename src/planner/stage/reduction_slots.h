// Shared memory in which the partial results of a reduction meet.
#pragma once
#include "planner/plan/plan.h"

namespace stitch {

// Bytes that a reduce root needs under the stage's mapping: one state per warp and row where
// lanes share a row, one per thread and row where lanes run along the rows; 0 when shuffles or one
// thread suffice.
int64_t slot_bytes(const Root& root, const AccessGraph& graph, const StageMapping& mapping,
                   const GroupMapping& group);

// Gives slots to the stage's reduces behind `start` bytes: groups alternate between two areas, so
// that one barrier per group is enough. Returns the end of the shared memory used.
int64_t assign_slots(const AccessGraph& graph, Stage& stage, int64_t start);

}  // namespace stitch
