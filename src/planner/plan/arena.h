// The arena: one block of device memory that holds all buffers between kernels, each at an offset
// that no other live buffer overlaps.
#pragma once
#include <cstdint>
#include <vector>

namespace stitch {

struct ArenaRequest {
  int64_t bytes = 0;
  int first_step = 0;  // the step that writes it
  int last_step = 0;   // the last step that reads it
};
struct ArenaLayout {
  std::vector<int64_t> offsets;  // one per request, multiples of kArenaAlignment
  int64_t bytes = 0;
};

inline constexpr int64_t kArenaAlignment = 256;  // what cudaMalloc gives; cuBLASLt asks for 16

// Largest first, each into the tightest gap among the buffers that are live at the same time.
ArenaLayout lay_out_arena(const std::vector<ArenaRequest>& requests);

}  // namespace stitch
