// How far predicted times of kernels are from measured ones.
#pragma once
#include <vector>

namespace stitch {

struct TimedKernel {
  double predicted_us = 0;
  double measured_us = 0;
};

struct PredictionError {
  // Of Spearman: 1 where the order is right, 0 where it says nothing. Equal times share their rank.
  double rank_correlation = 0;
  double geomean_error = 1;  // exp of the mean of |log(measured / predicted)|; 1: exact
  double geomean_ratio = 1;  // exp of the mean of log(measured / predicted); above 1: slower
};

// All times above zero. The correlation is 0 for fewer than two kernels, or where all are equal.
//   predicted 1, 2, 3; measured 2, 4, 6: correlation 1, error 2, ratio 2
PredictionError prediction_error(const std::vector<TimedKernel>& kernels);

}  // namespace stitch
