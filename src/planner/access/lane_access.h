// How an access moves along the lanes of a vector: what decides whether a thread makes one wide
// access or several narrow ones.
#pragma once
#include "planner/access/index_expr.h"

namespace stitch {

// How an offset moves along the vector's lanes.
enum class LaneAccess : uint8_t { kSame, kContiguous, kScattered };
// kContiguous: coefficient 1 of `lane`, and all else a multiple of `width` elements.
LaneAccess lane_access(const IndexPool& pool, ExprId offset, AtomId lane, int64_t width);

}  // namespace stitch
