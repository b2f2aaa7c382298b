#include "planner/access/index_expr.h"

#include <random>

#include "planner/access/floor_division.h"
#include "support/catch.h"

using namespace stitch;

namespace {

// The value of an expression at one assignment of the atoms, straight from its definition.
int64_t value_at(const IndexPool& pool, ExprId id, const std::vector<int64_t>& assignment) {
  const Expr& e = pool.expr(id);
  int64_t sum = e.constant;
  for (const Term& term : e.terms) {
    int64_t factor = 0;
    switch (term.kind) {
      case FactorKind::kAtom:
        factor = assignment[term.atom.index];
        break;
      case FactorKind::kFloorDiv:
        factor = floor_quotient(value_at(pool, term.inner, assignment), term.operand);
        break;
      case FactorKind::kMod:
        factor = floor_remainder(value_at(pool, term.inner, assignment), term.operand);
        break;
      case FactorKind::kMin:
        factor = std::min(value_at(pool, term.inner, assignment), term.operand);
        break;
      case FactorKind::kMax:
        factor = std::max(value_at(pool, term.inner, assignment), term.operand);
        break;
      case FactorKind::kRead:
        FAIL("no reads here");
    }
    sum += term.coefficient * factor;
  }
  return sum;
}

std::vector<std::vector<int64_t>> all_assignments(const std::vector<int64_t>& extents) {
  std::vector<std::vector<int64_t>> all = {{}};
  for (int64_t extent : extents) {
    std::vector<std::vector<int64_t>> longer;
    for (const auto& shorter : all) {
      for (int64_t i = 0; i < extent; ++i) {
        longer.push_back(shorter);
        longer.back().push_back(i);
      }
    }
    all = std::move(longer);
  }
  return all;
}

// An expression beside its value at every assignment.
struct Tabulated {
  ExprId expr;
  std::vector<int64_t> values;
};

}  // namespace

TEST_CASE("a flat index is taken apart again by division and remainder") {
  IndexPool pool;
  const ExprId head = pool.of(pool.add_atom(12, "head"));
  const ExprId lane = pool.of(pool.add_atom(64, "lane"));
  const ExprId flat = pool.linearise({head, lane}, {12, 64});
  CHECK(pool.floordiv(flat, 64) == head);
  CHECK(pool.mod(flat, 64) == lane);
  CHECK(pool.to_string(flat) == "head*64 + lane");
  CHECK(pool.delinearise(flat, {12, 64}) == std::vector<ExprId>{head, lane});
}

TEST_CASE("a quotient keeps only the terms that can carry") {
  IndexPool pool;
  const ExprId a = pool.of(pool.add_atom(5, "a"));
  const ExprId b = pool.of(pool.add_atom(12, "b"));
  const ExprId c = pool.of(pool.add_atom(2, "c"));
  const ExprId e = pool.add(pool.weighted_sum({a, b, c}, {24, 2, 1}), 24);
  CHECK(pool.to_string(pool.floordiv(e, 8)) == "a*3 + ((b) / 4) + 3");
  CHECK(pool.to_string(pool.mod(e, 8)) == "((b) % 4)*2 + c");
  CHECK(pool.floordiv(pool.weighted_sum({a, b}, {6, 4}), 2) == pool.weighted_sum({a, b}, {3, 2}));
}

TEST_CASE("quotient and remainder join again") {
  IndexPool pool;
  const ExprId x = pool.of(pool.add_atom(1000, "x"));
  const ExprId joined = pool.add(pool.scale(pool.floordiv(x, 64), 64), pool.mod(x, 64));
  CHECK(joined == x);
  const auto parts = pool.delinearise(x, {10, 4, 25});
  CHECK(pool.linearise(parts, {10, 4, 25}) == x);
  const ExprId middle = pool.mod(pool.floordiv(x, 8), 8);
  CHECK(pool.add(pool.scale(middle, 8), pool.mod(x, 8)) == pool.mod(x, 64));
}

TEST_CASE("constants leave quotients and bounds") {
  IndexPool pool;
  const ExprId a = pool.of(pool.add_atom(10, "a"));
  const ExprId lane = pool.of(pool.add_atom(64, "lane"));
  CHECK(pool.floordiv(pool.add(pool.scale(a, 64), 70), 64) == pool.add(a, 1));
  CHECK(pool.is_constant(pool.floordiv(pool.subtract(pool.constant(63), lane), 64)));
  CHECK(pool.floordiv(pool.add(pool.scale(a, 64), -1), 64) == pool.add(a, -1));
  CHECK(pool.min(lane, 63) == lane);
  CHECK(pool.max(pool.add(lane, 5), 5) == pool.add(lane, 5));
  CHECK(pool.min(pool.min(lane, 40), 20) == pool.min(lane, 20));
  CHECK(pool.to_string(pool.max(pool.add(lane, -3), 0)) == "max(lane, 3) - 3");
}

TEST_CASE("nested quotients and remainders collapse") {
  IndexPool pool;
  const ExprId x = pool.of(pool.add_atom(5000, "x"));
  CHECK(pool.floordiv(pool.floordiv(x, 6), 7) == pool.floordiv(x, 42));
  CHECK(pool.mod(pool.mod(x, 24), 8) == pool.mod(x, 8));
  CHECK(pool.floordiv(pool.mod(x, 24), 8) == pool.mod(pool.floordiv(x, 8), 3));
  CHECK(pool.floordiv(pool.add(pool.floordiv(x, 6), 3), 7) == pool.floordiv(pool.add(x, 18), 42));
}

TEST_CASE("a quotient joins a remainder that is written without what the divisor divides") {
  IndexPool pool;
  const ExprId vectors = pool.of(pool.add_atom(98));
  const ExprId lane = pool.of(pool.add_atom(16));
  const ExprId pixel = pool.mod(pool.add(pool.scale(vectors, 16), lane), 784);
  const ExprId row = pool.floordiv(pixel, 28), column = pool.mod(pixel, 28);
  CHECK(pool.linearise({row, column}, {28, 28}) == pixel);
}

TEST_CASE("reshape, transpose and slice chains of split heads collapse") {
  IndexPool pool;
  const ExprId token = pool.of(pool.add_atom(128, "token"));
  const ExprId head = pool.of(pool.add_atom(12, "head"));
  const ExprId lane = pool.of(pool.add_atom(64, "lane"));
  // [12,128,64] <- transpose of [128,12,64] <- reshape of columns 768.. of [128,2304]
  const ExprId flat = pool.linearise({token, head, lane}, {128, 12, 64});
  const auto matrix = pool.delinearise(flat, {128, 768});
  CHECK(matrix[0] == token);
  CHECK(pool.to_string(pool.add(matrix[1], 768)) == "head*64 + lane + 768");
}

TEST_CASE("substitution simplifies what it replaces") {
  IndexPool pool;
  const AtomId flat = pool.add_atom(63, "flat");
  const AtomId row = pool.add_atom(7, "row");
  const AtomId column = pool.add_atom(9, "column");
  const ExprId division = pool.add(pool.floordiv(pool.of(flat), 9), pool.mod(pool.of(flat), 9));
  const ExprId replacement = pool.linearise({pool.of(row), pool.of(column)}, {7, 9});
  CHECK(pool.substitute(division, {{flat, replacement}}) ==
        pool.add(pool.of(row), pool.of(column)));
}

TEST_CASE("simplified expressions equal brute force on every assignment") {
  std::mt19937 random(20240917);
  const auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int round = 0; round < 300; ++round) {
    IndexPool pool;
    const std::vector<int64_t> extents = {pick(1, 9), pick(1, 8), pick(2, 7)};
    const auto assignments = all_assignments(extents);
    std::vector<Tabulated> made;
    for (size_t a = 0; a < extents.size(); ++a) {
      Tabulated atom{pool.of(pool.add_atom(extents[a])), {}};
      for (const auto& assignment : assignments) atom.values.push_back(assignment[a]);
      made.push_back(atom);
    }
    for (int step = 0; step < 30; ++step) {
      const Tabulated& left = made[static_cast<size_t>(pick(0, std::ssize(made) - 1))];
      const Tabulated& right = made[static_cast<size_t>(pick(0, std::ssize(made) - 1))];
      const int64_t k =
          std::vector<int64_t>{2, 3, 4, 6, 8, 12, 24, 5}[static_cast<size_t>(pick(0, 7))];
      const int64_t offset = pick(-20, 20);
      const int64_t kind = pick(0, 7);
      Tabulated result;
      switch (kind) {
        case 0:
          result.expr = pool.add(left.expr, right.expr);
          break;
        case 1:
          result.expr = pool.add(pool.scale(left.expr, k), right.expr);
          break;
        case 2:
          result.expr = pool.floordiv(left.expr, k);
          break;
        case 3:
          result.expr = pool.mod(left.expr, k);
          break;
        case 4:
          result.expr = pool.min(left.expr, offset);
          break;
        case 5:
          result.expr = pool.max(left.expr, offset);
          break;
        case 6:
          result.expr = pool.add(left.expr, offset);
          break;
        case 7:
          result.expr = pool.subtract(left.expr, right.expr);
          break;
      }
      for (size_t i = 0; i < assignments.size(); ++i) {
        const int64_t x = left.values[i], y = right.values[i];
        const int64_t all[] = {x + y,
                               x * k + y,
                               floor_quotient(x, k),
                               floor_remainder(x, k),
                               std::min(x, offset),
                               std::max(x, offset),
                               x + offset,
                               x - y};
        result.values.push_back(all[kind]);
      }
      const Range range = pool.range(result.expr);
      for (size_t i = 0; i < assignments.size(); ++i) {
        const int64_t found = value_at(pool, result.expr, assignments[i]);
        INFO("round " << round << " step " << step << ": " << pool.to_string(result.expr));
        if (found != result.values[i]) REQUIRE(found == result.values[i]);
        if (found < range.low || found > range.high) FAIL("the range does not hold the value");
      }
      if (std::abs(range.low) < 100000 && std::abs(range.high) < 100000) made.push_back(result);
    }
    CHECK(made.size() > extents.size());
  }
}
