#include "calibrate/prediction_error.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace stitch {
namespace {

// From 1; equal values have the mean of their places.
std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (size_t first = 0; first < order.size();) {
    size_t end = first;
    while (end < order.size() && values[order[end]] == values[order[first]]) ++end;
    const double rank = static_cast<double>(first + 1 + end) / 2;
    for (size_t i = first; i < end; ++i) ranks[order[i]] = rank;
    first = end;
  }
  return ranks;
}

double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const double count = static_cast<double>(a.size());
  const double mean_a = std::accumulate(a.begin(), a.end(), 0.0) / count;
  const double mean_b = std::accumulate(b.begin(), b.end(), 0.0) / count;
  double both = 0, square_a = 0, square_b = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    both += (a[i] - mean_a) * (b[i] - mean_b);
    square_a += (a[i] - mean_a) * (a[i] - mean_a);
    square_b += (b[i] - mean_b) * (b[i] - mean_b);
  }
  return square_a > 0 && square_b > 0 ? both / std::sqrt(square_a * square_b) : 0;
}

}  // namespace

PredictionError prediction_error(const std::vector<TimedKernel>& kernels) {
  PredictionError result;
  if (kernels.empty()) return result;
  std::vector<double> predicted, measured;
  double distance = 0, ratio = 0;
  for (const TimedKernel& kernel : kernels) {
    predicted.push_back(kernel.predicted_us);
    measured.push_back(kernel.measured_us);
    const double logarithm = std::log(kernel.measured_us / kernel.predicted_us);
    distance += std::abs(logarithm);
    ratio += logarithm;
  }
  const double count = static_cast<double>(kernels.size());
  result.rank_correlation = correlation(ranks_of(predicted), ranks_of(measured));
  result.geomean_error = std::exp(distance / count);
  result.geomean_ratio = std::exp(ratio / count);
  return result;
}

}  // namespace stitch
