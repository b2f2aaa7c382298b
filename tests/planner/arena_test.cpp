#include "planner/plan/arena.h"

#include <random>

#include "support/catch.h"

using namespace stitch;

TEST_CASE("buffers that never live together share bytes") {
  const ArenaLayout layout = lay_out_arena({{1000, 0, 1}, {1000, 2, 3}});
  CHECK(layout.offsets == std::vector<int64_t>{0, 0});
  CHECK(layout.bytes == 1024);
}

TEST_CASE("a buffer goes into the tightest gap") {
  // 4096 and 512 live throughout; between them a gap of 1024 and behind them one without end.
  const ArenaLayout layout = lay_out_arena({{4096, 0, 9}, {1024, 0, 1}, {512, 0, 9}, {768, 5, 6}});
  CHECK(layout.offsets[3] == layout.offsets[1]);
}

TEST_CASE("live buffers never overlap") {
  std::mt19937 random(7);
  std::vector<ArenaRequest> requests;
  for (int i = 0; i < 200; ++i) {
    const int first = static_cast<int>(random() % 50);
    requests.push_back(
        {static_cast<int64_t>(random() % 5000), first, first + static_cast<int>(random() % 8)});
  }
  const ArenaLayout layout = lay_out_arena(requests);
  for (size_t a = 0; a < requests.size(); ++a) {
    CHECK(layout.offsets[a] % kArenaAlignment == 0);
    CHECK(layout.offsets[a] + requests[a].bytes <= layout.bytes);
    for (size_t b = 0; b < a; ++b) {
      const bool together = requests[a].first_step <= requests[b].last_step &&
                            requests[b].first_step <= requests[a].last_step;
      const bool apart = layout.offsets[a] + requests[a].bytes <= layout.offsets[b] ||
                         layout.offsets[b] + requests[b].bytes <= layout.offsets[a];
      if (together) CHECK(apart);
    }
  }
}
