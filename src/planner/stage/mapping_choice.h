// The numbers of a mapping: threads per row, rows per thread, vectors, passes, from sizes alone
// (exemplars' rules of RowMapping; AStitch 4.2; stitching.md 4).
#pragma once
#include <cstdint>

#include "planner/device/device_model.h"

namespace stitch {

// What a stage has to do, as far as its mapping depends on it.
struct MappingProblem {
  int64_t rows = 1;
  int64_t blocks_beside = 1;  // blocks per row tile: parts of a row, or batches
  int64_t columns = 1;        // of the widest group
  int64_t element_bytes = 4;  // of the largest access
  int64_t row_vector = 1;     // widest aligned access along the rows (lanes along rows)
  int64_t column_vector = 1;  // widest aligned access along the columns
  int64_t column_period = 0;  // not 0: a step of all threads of a row divides it
  int64_t row_run = 1;        // neighbouring rows that are contiguous (lanes along rows)
  int live_arrays = 0;        // row values kept in registers at the same time
  int loads = 1;              // independent full-size loads per point
  bool lanes_along_rows = false;
  bool has_reduce = false;
  bool large_blocks = false;  // few blocks: at most one per multiprocessor
  int block = 0;              // a block size that is given (packed kernels); 0: free
  bool adaptive = true;       // else one block per row, whatever its length
};

struct MappingNumbers {
  int threads_per_row = 1;
  int row_threads = 1;
  int rows_per_thread = 1;
  int vector = 1;  // along the columns
  int64_t passes = 1;
  int64_t grid_x = 1;
  int row_elements = 0;  // values that a thread keeps in registers
  int block() const { return threads_per_row * row_threads; }
};

// Registers hold so many row elements without spilling on any architecture.
inline constexpr int kMostRowElements = 40;

MappingNumbers choose_mapping(const MappingProblem& problem, const DeviceModel& device);

}  // namespace stitch
