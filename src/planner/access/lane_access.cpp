#include "planner/access/lane_access.h"

#include <algorithm>

namespace stitch {

LaneAccess lane_access(const IndexPool& pool, ExprId offset, AtomId lane, int64_t width) {
  const std::vector<AtomId> atoms = pool.atoms_of(offset);
  if (!lane.valid() || !std::binary_search(atoms.begin(), atoms.end(), lane)) {
    return LaneAccess::kSame;
  }
  const Expr& e = pool.expr(offset);
  if (e.constant % width != 0) return LaneAccess::kScattered;
  bool contiguous = false;
  for (const Term& term : e.terms) {
    if (term.kind == FactorKind::kAtom && term.atom == lane) {
      contiguous = term.coefficient == 1;
    } else if (term.coefficient % width != 0) {
      return LaneAccess::kScattered;
    } else if (term.inner.valid()) {
      const std::vector<AtomId> inner = pool.atoms_of(term.inner);
      if (std::binary_search(inner.begin(), inner.end(), lane)) return LaneAccess::kScattered;
    }
  }
  return contiguous ? LaneAccess::kContiguous : LaneAccess::kScattered;
}

}  // namespace stitch
