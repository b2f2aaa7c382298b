#include "calibrate/statistics.h"

#include <algorithm>
#include <cmath>

#include "graph/error.h"

namespace stitch {
namespace {

// Between the two nearest ranks.
double quantile(const std::vector<double>& sorted, double share) {
  const double rank = share * static_cast<double>(sorted.size() - 1);
  const size_t below = static_cast<size_t>(std::floor(rank));
  const size_t above = std::min(below + 1, sorted.size() - 1);
  const double part = rank - static_cast<double>(below);
  return sorted[below] + part * (sorted[above] - sorted[below]);
}

}  // namespace

Measured summary_of(std::vector<double> repetitions) {
  if (repetitions.empty()) throw InternalError("a measurement without repetitions");
  std::sort(repetitions.begin(), repetitions.end());
  Measured measured;
  measured.value = quantile(repetitions, 0.5);
  const double range = quantile(repetitions, 0.75) - quantile(repetitions, 0.25);
  if (measured.value > 0) measured.spread = range / 2 / measured.value;
  return measured;
}

Measured scaled(const Measured& measured, double factor) {
  return {measured.value * factor, measured.spread, measured.is_told_from_zero};
}

}  // namespace stitch
