#include "planner/fusion/part_order.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace stitch {

std::vector<size_t> PartOrder::run() {
  std::sort(uses_.begin(), uses_.end());
  uses_.erase(std::unique(uses_.begin(), uses_.end()), uses_.end());
  std::vector<size_t> first_use(parts_ + 1, 0), waits(parts_, 0);  // of uses_, by producer
  for (const auto& [producer, user] : uses_) {
    ++first_use[producer + 1];
    ++waits[user];
  }
  for (size_t p = 0; p < parts_; ++p) first_use[p + 1] += first_use[p];
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t p = 0; p < parts_; ++p) {
    if (waits[p] == 0) ready.push(p);
  }
  std::vector<size_t> order;
  order.reserve(parts_);
  while (!ready.empty()) {
    const size_t next = ready.top();
    ready.pop();
    order.push_back(next);
    for (size_t u = first_use[next]; u < first_use[next + 1]; ++u) {
      if (--waits[uses_[u].second] == 0) ready.push(uses_[u].second);
    }
  }
  return order;
}

}  // namespace stitch
