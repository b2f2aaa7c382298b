#include "planner/report/warp_sectors.h"

#include <algorithm>
#include <array>

#include "graph/hash.h"

namespace stitch {
namespace {

constexpr int64_t kSectorBytes = 32;
constexpr int64_t kWidestAccess = 16;
// Instances beyond this are sampled. Alignments repeat with periods of a few rows, which so many
// well spread samples meet evenly: the error is about 1 %.
constexpr int64_t kMostInstances = 512;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t extent_or_one(const IndexPool& pool, AtomId atom) {
  return atom.valid() ? pool.atom(atom).extent : 1;
}

int64_t floor_div(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

// The n-th of `samples` numbers below `count`: one in each stretch, at a place that differs from
// stretch to stretch by the golden ratio.
int64_t spread(int64_t n, int64_t samples, int64_t count) {
  const double place = static_cast<double>(n) * 0.6180339887498949;
  const double at =
      static_cast<double>(n) + (place - static_cast<double>(static_cast<int64_t>(place)));
  const auto number =
      static_cast<int64_t>(at * static_cast<double>(count) / static_cast<double>(samples));
  return std::min(number, count - 1);
}

}  // namespace

WarpSectors::WarpSectors(const IndexPool& pool, const Stage& stage, const Group& group,
                         const GroupAccesses& accesses, std::vector<int64_t>& values)
    : pool_(pool),
      mapping_(stage.mapping),
      group_(group.mapping),
      accesses_(accesses),
      values_(values) {
  const GroupCoordinates& c = accesses.coordinates;
  block_ = mapping_.threads_per_row * mapping_.row_threads;
  rows_ = extent_or_one(pool, c.row);
  columns_ = extent_or_one(pool, c.column);
  inner_rows_ = extent_or_one(pool, c.inner);
  if (c.inner.valid()) {
    teams_ = std::max(mapping_.threads_per_row / std::max(group_.threads, 1), 1);
  }
  if (values_.size() < pool.atom_count()) values_.resize(pool.atom_count(), 0);
}

WarpSectors::Extents WarpSectors::extents_of(const GlobalAccess& access) const {
  Extents extents;
  extents.warps = ceil_div(block_, kWarp);
  if (access.lanes && !access.vector) extents.lanes = accesses_.coordinates.width;
  const bool steps = access.level == AccessLevel::kStep && !access.result;
  if (steps) extents.steps = ceil_div(columns_, std::max(group_.threads, 1));
  if (access.level >= AccessLevel::kInnerRow) extents.rounds = ceil_div(inner_rows_, teams_);
  if (access.level >= AccessLevel::kRow && !access.row_sums) {
    if (!mapping_.lanes_along_rows) extents.rows = mapping_.rows_per_thread;
    extents.passes = mapping_.passes;
  }
  for (const AtomId loop : access.loops) extents.loops.push_back(pool_.atom(loop).extent);
  extents.product = extents.warps * extents.lanes * extents.steps * extents.rounds * extents.rows *
                    extents.passes * mapping_.grid_x * mapping_.grid_y;
  for (const int64_t extent : extents.loops) extents.product *= extent;
  return extents;
}

WarpSectors::Instance WarpSectors::take_apart(const GlobalAccess& access, const Extents& extents,
                                              int64_t number) {
  const auto next = [&](int64_t extent) {
    const int64_t part = number % extent;
    number /= extent;
    return part;
  };
  Instance instance;
  for (size_t l = 0; l < access.loops.size(); ++l) set(access.loops[l], next(extents.loops[l]));
  instance.lane = next(extents.lanes);
  instance.step = next(extents.steps);
  instance.warp = next(extents.warps);
  instance.round = next(extents.rounds);
  instance.row = next(extents.rows);
  instance.block = next(mapping_.grid_x);
  instance.pass = next(extents.passes);
  instance.outer = next(mapping_.grid_y);
  return instance;
}

double WarpSectors::sectors(const GlobalAccess& access) {
  const Extents extents = extents_of(access);
  const int64_t samples = std::min(extents.product, kMostInstances);
  if (samples == 0) return 0;
  int64_t sum = 0;
  for (int64_t n = 0; n < samples; ++n) {
    const int64_t number = samples == extents.product ? n : spread(n, samples, extents.product);
    sum += sectors_of(access, take_apart(access, extents, number));
  }
  return static_cast<double>(sum) * static_cast<double>(extents.product) /
         static_cast<double>(samples);
}

int64_t WarpSectors::sectors_of(const GlobalAccess& access, const Instance& instance) {
  std::array<int64_t, kWarp> addresses;
  size_t lanes = 0;
  const int first = static_cast<int>(instance.warp) * kWarp;
  for (int thread = first; thread < std::min(first + kWarp, block_); ++thread) {
    if (!enter(access, instance, thread)) continue;
    addresses[lanes++] = access.base + value_of(access.offset) * access.element_bytes;
  }
  const int64_t bytes = access.element_bytes * (access.vector ? accesses_.coordinates.width : 1);
  int64_t sum = 0;
  for (int64_t part = 0; part < bytes; part += kWidestAccess) {
    const int64_t width = std::min(bytes - part, kWidestAccess);
    std::array<int64_t, 2 * kWarp> sectors;
    size_t count = 0;
    for (size_t i = 0; i < lanes; ++i) {
      const int64_t begin = floor_div(addresses[i] + part, kSectorBytes);
      const int64_t end = floor_div(addresses[i] + part + width - 1, kSectorBytes);
      sectors[count++] = begin;
      if (end != begin) sectors[count++] = end;
    }
    std::sort(sectors.begin(), sectors.begin() + count);
    sum += std::unique(sectors.begin(), sectors.begin() + count) - sectors.begin();
  }
  return sum;
}

// ---- threads ----------------------------------------------------------------------------------

bool WarpSectors::enter(const GlobalAccess& access, const Instance& instance, int thread) {
  const GroupCoordinates& c = accesses_.coordinates;
  set(c.outer, instance.outer);
  set(c.lane, access.vector ? 0 : instance.lane);
  if (!enter_row(access, instance, thread) || !enter_column(access, instance)) return false;
  find_gathered();
  return holds(access);
}

bool WarpSectors::enter_row(const GlobalAccess& access, const Instance& instance, int thread) {
  const StageMapping& m = mapping_;
  const int64_t tile = instance.block + instance.pass * m.grid_x;
  int64_t row = 0;
  if (m.lanes_along_rows) {
    column_thread_ = thread / m.row_threads;
    row = tile * m.row_threads + thread % m.row_threads;
  } else {
    column_thread_ = thread % m.threads_per_row;
    const int64_t team = thread / m.threads_per_row;
    if (access.row_sums && team != 0) return false;
    row = (tile * m.rows_per_thread + instance.row) * m.row_threads + team;
  }
  live_ = row < rows_;
  const bool plain_loop = m.lanes_along_rows && m.threads_per_row == 1;
  if (!live_ && plain_loop) return false;
  set(accesses_.coordinates.row, std::min(row, rows_ - 1));
  return live_ || access.row_sums || access.level < AccessLevel::kStep;
}

bool WarpSectors::enter_column(const GlobalAccess& access, const Instance& instance) {
  const GroupCoordinates& c = accesses_.coordinates;
  int64_t thread = column_thread_;
  if (c.inner.valid()) {
    const int64_t inner =
        teams_ == 1 ? instance.round : instance.round * teams_ + thread / group_.threads;
    if (inner >= inner_rows_ && access.level == AccessLevel::kStep) return false;
    set(c.inner, std::min(inner, inner_rows_ - 1));
    if (teams_ > 1) thread %= group_.threads;
    if (group_.threads == 1) thread = 0;
  }
  if (access.level < AccessLevel::kStep) return true;
  const bool whole_row = access.result || !c.column.valid();
  if (whole_row) return thread == 0;
  if (!c.inner.valid() && thread >= group_.threads) return false;
  const int64_t column = instance.step * group_.threads + thread;
  set(c.column, std::min(column, columns_ - 1));
  return column < columns_;
}

void WarpSectors::find_gathered() {
  for (const GatheredIndex& gathered : accesses_.coordinates.gathered) {
    uint64_t hash = 0;
    for (const ExprId from : gathered.from)
      hash = hash_combine(hash, static_cast<uint64_t>(value_of(from)));
    const auto extent = static_cast<uint64_t>(pool_.atom(gathered.atom).extent);
    set(gathered.atom, static_cast<int64_t>(hash % extent));
  }
}

// ---- expressions ------------------------------------------------------------------------------

bool WarpSectors::holds(const Guard& guard) const {
  const int64_t value = value_of(guard.expr);
  return value >= guard.low && value < guard.high;
}

bool WarpSectors::holds(const GlobalAccess& access) const {
  const auto all = [this](const std::vector<Guard>& guards) {
    return std::all_of(guards.begin(), guards.end(), [this](const Guard& g) { return holds(g); });
  };
  if (access.level == AccessLevel::kStep && !access.row_sums && !all(accesses_.guards))
    return false;
  return std::all_of(access.conditions.begin(), access.conditions.end(),
                     [&](const AccessCondition& c) { return all(c.guards) != c.negated; });
}

int64_t WarpSectors::value_of(ExprId id) const {
  const Expr& expr = pool_.expr(id);
  int64_t sum = expr.constant;
  for (const Term& term : expr.terms) {
    switch (term.kind) {
      case FactorKind::kAtom:
        sum += term.coefficient * values_[term.atom.index];
        break;
      case FactorKind::kFloorDiv:
        sum += term.coefficient * floor_div(value_of(term.inner), term.operand);
        break;
      case FactorKind::kMod: {
        const int64_t inner = value_of(term.inner);
        sum += term.coefficient * (inner - floor_div(inner, term.operand) * term.operand);
        break;
      }
      case FactorKind::kMin:
        sum += term.coefficient * std::min(value_of(term.inner), term.operand);
        break;
      case FactorKind::kMax:
        sum += term.coefficient * std::max(value_of(term.inner), term.operand);
        break;
      case FactorKind::kRead:
        break;  // none: every read is an index that was gathered
    }
  }
  return sum;
}

}  // namespace stitch
