#include "calibrate/prediction_error.h"

#include <cmath>

#include "support/catch.h"

using namespace stitch;

TEST_CASE("times that are all twice the predictions have the right order and an error of two") {
  const PredictionError error = prediction_error({{1, 2}, {2, 4}, {3, 6}});
  CHECK(error.rank_correlation == Approx(1));
  CHECK(error.geomean_error == Approx(2));
  CHECK(error.geomean_ratio == Approx(2));
}

TEST_CASE("errors to both sides do not cancel, their ratio does") {
  const PredictionError error = prediction_error({{1, 4}, {4, 1}});
  CHECK(error.rank_correlation == Approx(-1));
  CHECK(error.geomean_error == Approx(4));
  CHECK(error.geomean_ratio == Approx(1));
}

TEST_CASE("equal predictions share their rank") {
  // Ranks 1.5, 1.5, 3 against 1, 2, 3: covariance 1.5, variances 1.5 and 2.
  CHECK(prediction_error({{1, 1}, {1, 2}, {2, 3}}).rank_correlation ==
        Approx(1.5 / std::sqrt(1.5 * 2)));
}

TEST_CASE("an order cannot be read off one kernel, nor off equal predictions") {
  CHECK(prediction_error({{1, 5}}).rank_correlation == 0);
  CHECK(prediction_error({{1, 5}, {1, 6}}).rank_correlation == 0);
  CHECK(prediction_error({}).geomean_error == 1);
}
