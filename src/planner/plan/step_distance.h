// Elements of a row that lie elsewhere in it and yet are the reading thread's own: a row in
// register arrays is read at them too.
//
// 128 columns, 8 threads per row, vectors of 8: a step of the loop is 64 columns, and the thread
// that has column c has columns c + 64 and c - 64 as well (rotary embeddings read both halves).
#pragma once
#include <cstdint>
#include <optional>
#include <span>

#include "planner/access/index_expr.h"
#include "planner/plan/plan.h"

namespace stitch {

// By how many columns (`columns` row-major) `index` lies behind `own`, both over the dims of a
// value with these atoms; none where that is no constant or another dim differs.
std::optional<int64_t> column_distance(IndexPool& pool, std::span<const AtomId> atoms,
                                       std::span<const ExprId> own, std::span<const ExprId> index,
                                       std::span<const AtomId> columns);

// The same in steps of a thread; none where another thread has the element.
std::optional<int64_t> step_distance(IndexPool& pool, const GroupMapping& mapping,
                                     std::span<const AtomId> atoms, std::span<const ExprId> own,
                                     std::span<const ExprId> index);

}  // namespace stitch
