#include "calibrate/statistics.h"

#include "graph/error.h"
#include "support/catch.h"

using namespace stitch;

TEST_CASE("the median of repetitions ignores an outlier, and the spread is between the quartiles") {
  const Measured measured = summary_of({5, 1, 2, 400, 3});
  CHECK(measured.value == 3);
  // Quartiles 2 and 5.
  CHECK(measured.spread == Approx(0.5));
  CHECK(measured.is_told_from_zero);
}

TEST_CASE("the median of an even number of repetitions lies between the middle two") {
  CHECK(summary_of({4, 2}).value == 3);
  CHECK(summary_of({7}).value == 7);
  CHECK(summary_of({7}).spread == 0);
}

TEST_CASE("scaling leaves the relative spread") {
  const Measured measured = scaled({2, 0.25}, 10);
  CHECK(measured.value == 20);
  CHECK(measured.spread == 0.25);
}

TEST_CASE("no repetitions are no measurement") { CHECK_THROWS_AS(summary_of({}), InternalError); }
