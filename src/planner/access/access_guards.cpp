#include "planner/access/access_guards.h"

#include <algorithm>
#include <numeric>

#include "planner/access/floor_division.h"

namespace stitch {
namespace {

Guard canonical(IndexPool& pool, Guard guard) {
  const int64_t constant = pool.expr(guard.expr).constant;
  guard.expr = pool.add(guard.expr, -constant);
  guard.low -= constant;
  guard.high -= constant;
  int64_t shared = 0;
  for (const Term& term : pool.expr(guard.expr).terms) {
    shared = std::gcd(shared, term.coefficient);
  }
  if (shared > 1) {
    guard.expr = pool.divide_exactly(guard.expr, shared);
    guard.low = floor_quotient(guard.low + shared - 1, shared);
    guard.high = floor_quotient(guard.high + shared - 1, shared);
  }
  const Range range = pool.range(guard.expr);
  guard.low = std::max(guard.low, range.low);
  guard.high = std::min(guard.high, range.high + 1);
  return guard;
}

}  // namespace

bool require(IndexPool& pool, std::vector<Guard>& guards, Guard guard) {
  guard = canonical(pool, guard);
  for (Guard& known : guards) {
    if (known.expr != guard.expr) continue;
    known.low = std::max(known.low, guard.low);
    known.high = std::min(known.high, guard.high);
    return known.low < known.high;
  }
  if (guard.low >= guard.high) return false;
  const Range range = pool.range(guard.expr);
  if (range.low < guard.low || range.high >= guard.high) guards.push_back(guard);
  return true;
}

}  // namespace stitch
