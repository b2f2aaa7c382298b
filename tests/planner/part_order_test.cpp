#include "planner/fusion/part_order.h"

#include "support/catch.h"

using namespace stitch;

namespace {

using Parts = std::vector<size_t>;

}  // namespace

TEST_CASE("parts are launched behind their producers, the smallest first") {
  PartOrder order(4);
  order.add_use(0, 3);
  order.add_use(2, 1);
  order.add_use(3, 1);
  CHECK(order.run() == Parts{0, 2, 3, 1});
  CHECK_FALSE(order.has_cycle());
}

TEST_CASE("a use that is said twice, or of the part itself, is no further wait") {
  PartOrder order(3);
  order.add_use(2, 0);
  order.add_use(2, 0);
  order.add_use(1, 1);
  CHECK(order.run() == Parts{1, 2, 0});
}

TEST_CASE("parts that wait for each other, and those behind them, have no order") {
  PartOrder order(4);
  order.add_use(1, 2);
  order.add_use(2, 1);
  order.add_use(2, 3);
  CHECK(order.run() == Parts{0});
  CHECK(order.has_cycle());
}
