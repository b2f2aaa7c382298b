#include "planner/plan/arena.h"

#include <algorithm>
#include <numeric>

namespace stitch {
namespace {

int64_t aligned(int64_t bytes) {
  return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

bool live_together(const ArenaRequest& a, const ArenaRequest& b) {
  return a.first_step <= b.last_step && b.first_step <= a.last_step;
}

struct Interval {
  int64_t begin = 0;
  int64_t end = 0;
};

// The start of the smallest gap that holds `bytes`; behind the last interval if none does.
int64_t tightest_gap(std::vector<Interval> taken, int64_t bytes) {
  std::sort(taken.begin(), taken.end(),
            [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  int64_t end = 0;
  int64_t best = -1;
  int64_t best_size = 0;
  for (const Interval& interval : taken) {
    const int64_t gap = interval.begin - end;
    if (gap >= bytes && (best < 0 || gap < best_size)) {
      best = end;
      best_size = gap;
    }
    end = std::max(end, interval.end);
  }
  return best >= 0 ? best : end;
}

}  // namespace

ArenaLayout lay_out_arena(const std::vector<ArenaRequest>& requests) {
  ArenaLayout layout;
  layout.offsets.assign(requests.size(), 0);
  std::vector<size_t> order(requests.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return requests[a].bytes > requests[b].bytes; });
  std::vector<size_t> placed;
  std::vector<Interval> taken;
  for (const size_t i : order) {
    taken.clear();
    for (const size_t other : placed) {
      if (!live_together(requests[i], requests[other])) continue;
      const int64_t begin = layout.offsets[other];
      taken.push_back({begin, begin + aligned(requests[other].bytes)});
    }
    const int64_t bytes = aligned(requests[i].bytes);
    layout.offsets[i] = tightest_gap(taken, bytes);
    layout.bytes = std::max(layout.bytes, layout.offsets[i] + bytes);
    placed.push_back(i);
  }
  return layout;
}

}  // namespace stitch
