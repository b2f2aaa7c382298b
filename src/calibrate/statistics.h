// What repetitions of one measurement say together.
#pragma once
#include <vector>

namespace stitch {

struct Measured {
  double value = 0;               // the median
  double spread = 0;              // half of the distance between the quartiles, over the median
  bool is_told_from_zero = true;  // else the clock is too coarse, or the machine too busy, for it
};

// At least one.
Measured summary_of(std::vector<double> repetitions);

// `factor` times the value; the spread is relative and stays.
Measured scaled(const Measured& measured, double factor);

}  // namespace stitch
