#include "planner/plan/step_distance.h"

#include <algorithm>

namespace stitch {

std::optional<int64_t> column_distance(IndexPool& pool, std::span<const AtomId> atoms,
                                       std::span<const ExprId> own, std::span<const ExprId> index,
                                       std::span<const AtomId> columns) {
  int64_t distance = 0;
  for (size_t a = 0; a < atoms.size(); ++a) {
    if (index[a] == own[a]) continue;
    const auto column = std::find(columns.begin(), columns.end(), atoms[a]);
    int64_t moved = 0;
    if (column == columns.end() || !pool.is_constant(pool.subtract(index[a], own[a]), &moved)) {
      return std::nullopt;
    }
    for (auto inner = column + 1; inner != columns.end(); ++inner)
      moved *= pool.atom(*inner).extent;
    distance += moved;
  }
  return distance;
}

std::optional<int64_t> step_distance(IndexPool& pool, const GroupMapping& mapping,
                                     std::span<const AtomId> atoms, std::span<const ExprId> own,
                                     std::span<const ExprId> index) {
  const std::optional<int64_t> distance = column_distance(pool, atoms, own, index, mapping.columns);
  if (!distance || *distance == 0) return distance;
  const int64_t span = static_cast<int64_t>(mapping.threads) * mapping.vector;
  if (!mapping.unrolled || *distance % span != 0) return std::nullopt;
  return *distance / span;
}

}  // namespace stitch
