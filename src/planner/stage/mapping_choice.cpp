#include "planner/stage/mapping_choice.h"

#include <algorithm>

namespace stitch {
namespace {

constexpr int kBlock = 256;
constexpr int kWarp = 32;
constexpr int kLargestBlock = 1024;
constexpr int64_t kLineBytes = 128;
// 16-byte loads that a thread should have in flight.
constexpr int64_t kLoadsInFlight = 4;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t all_rows(const MappingProblem& problem) { return problem.rows * problem.blocks_beside; }

int64_t steps_of(const MappingProblem& problem, int64_t threads, int64_t vector) {
  return std::max<int64_t>(ceil_div(problem.columns, threads * vector), 1);
}

bool divides_period(const MappingProblem& problem, int64_t threads, int64_t vector) {
  return problem.column_period % (threads * vector) == 0;
}

// Among the powers of two up to a warp that cover a line (or the row): the one that wastes least,
// on a tie the largest.
int lanes_per_row(const MappingProblem& problem, int64_t vector) {
  const int64_t row_bytes = problem.columns * problem.element_bytes;
  const int64_t wanted = std::min(kLineBytes, row_bytes);
  int best = 1;
  int64_t least = INT64_MAX;
  for (int lanes = 1; lanes <= kWarp; lanes *= 2) {
    if (lanes < kWarp && lanes * vector * problem.element_bytes < wanted) continue;
    if (!divides_period(problem, lanes, vector)) continue;
    const int64_t cost = lanes * steps_of(problem, lanes, vector);
    if (cost <= least) {
      least = cost;
      best = lanes;
    }
  }
  return best;
}

// Whole warps when a lane would hold too much, or when the rows do not fill the device: with blocks
// of 256, or with large ones where each has a multiprocessor to itself.
int threads_for_row(const MappingProblem& problem, const DeviceModel& device, int64_t vector) {
  int threads = lanes_per_row(problem, vector);
  const int limit = problem.block != 0 ? problem.block : kLargestBlock;
  const int arrays = std::max(problem.live_arrays, 1);
  const int block = problem.large_blocks ? kLargestBlock : kBlock;
  while (threads < limit && steps_of(problem, threads, vector) > 1) {
    const bool full = steps_of(problem, threads, vector) * vector * arrays > kMostRowElements;
    const bool idle = threads < block && all_rows(problem) * threads / block < device.sm_count;
    if ((!full && !idle) || !divides_period(problem, threads * 2, vector)) break;
    threads *= 2;
  }
  return threads;
}

int rows_in_flight(const MappingProblem& problem, const DeviceModel& device, int threads,
                   int64_t vector) {
  const int64_t steps = steps_of(problem, threads, vector);
  const int64_t arrays = std::max(problem.live_arrays, 1);
  int rows = 1;
  while (rows < 8 && steps * rows * problem.loads < kLoadsInFlight &&
         steps * vector * arrays * rows * 2 <= kMostRowElements / 2 &&
         all_rows(problem) * threads / kBlock / (rows * 2) >= 4 * device.sm_count) {
    rows *= 2;
  }
  return rows;
}

void set_grid(MappingNumbers& numbers, const MappingProblem& problem) {
  const int64_t tile = static_cast<int64_t>(numbers.row_threads) * numbers.rows_per_thread;
  numbers.grid_x = std::max<int64_t>(ceil_div(problem.rows, tile), 1);
}

MappingNumbers row_mapping(const MappingProblem& problem, const DeviceModel& device) {
  MappingNumbers numbers;
  const int64_t vector = problem.column_vector;
  numbers.vector = static_cast<int>(vector);
  if (!problem.adaptive) {
    numbers.threads_per_row = problem.block != 0 ? problem.block : kBlock;
    set_grid(numbers, problem);
    return numbers;
  }
  numbers.threads_per_row = threads_for_row(problem, device, vector);
  const int block = std::max(problem.block != 0 ? problem.block : kBlock, numbers.threads_per_row);
  numbers.row_threads = block / numbers.threads_per_row;
  numbers.rows_per_thread = rows_in_flight(problem, device, numbers.threads_per_row, vector);
  set_grid(numbers, problem);
  return numbers;
}

// Lanes along the rows; further warps share the columns of the same rows.
MappingNumbers column_mapping(const MappingProblem& problem, const DeviceModel& device) {
  MappingNumbers numbers;
  const int block = problem.block != 0 ? problem.block : kBlock;
  int64_t vector = problem.row_vector;
  // Fewer rows per thread before fewer threads than the device can use.
  while (vector > 1 &&
         all_rows(problem) / vector * std::min<int64_t>(problem.columns, block / kWarp) <
             static_cast<int64_t>(device.sm_count) * block) {
    vector /= 2;
  }
  numbers.rows_per_thread = static_cast<int>(vector);
  int row_threads = kWarp;
  const auto fits = [&](int threads) {
    return threads <= block && all_rows(problem) / (threads * vector) >= 2 * device.sm_count &&
           steps_of(problem, block / threads, 1) * vector * std::max(problem.live_arrays, 1) <=
               kMostRowElements;
  };
  while (fits(row_threads * 2)) row_threads *= 2;
  numbers.row_threads = row_threads;
  numbers.threads_per_row = block / row_threads;
  if (problem.block == 0) {
    // No more column threads than columns, in whole warps of the block.
    while (numbers.threads_per_row > 1 && numbers.threads_per_row / 2 >= problem.columns) {
      numbers.threads_per_row /= 2;
    }
    const int64_t kept = std::max(problem.live_arrays, 1) * vector;
    while (numbers.threads_per_row * row_threads < kLargestBlock &&
           steps_of(problem, numbers.threads_per_row, 1) * kept > kMostRowElements) {
      numbers.threads_per_row *= 2;
    }
  }
  set_grid(numbers, problem);
  return numbers;
}

MappingNumbers loop_mapping(const MappingProblem& problem, const DeviceModel& device) {
  MappingNumbers numbers;
  const int block = problem.block != 0 ? problem.block : kBlock;
  int64_t vector = problem.row_vector;
  while (vector > 1 && problem.rows / vector < static_cast<int64_t>(device.sm_count) * kWarp) {
    vector /= 2;
  }
  numbers.rows_per_thread = static_cast<int>(vector);
  numbers.row_threads = block;
  // A small problem is spread over more blocks: each of them is one warp or more.
  while (problem.block == 0 && numbers.row_threads > kWarp * 2 &&
         problem.rows / (numbers.row_threads * vector) < device.sm_count) {
    numbers.row_threads /= 2;
  }
  set_grid(numbers, problem);
  return numbers;
}

}  // namespace

MappingNumbers choose_mapping(const MappingProblem& problem, const DeviceModel& device) {
  MappingNumbers numbers;
  if (!problem.lanes_along_rows) {
    numbers = row_mapping(problem, device);
  } else if (problem.has_reduce) {
    numbers = column_mapping(problem, device);
  } else {
    numbers = loop_mapping(problem, device);
  }
  numbers.row_elements =
      static_cast<int>(steps_of(problem, numbers.threads_per_row, numbers.vector) * numbers.vector *
                       numbers.rows_per_thread * problem.live_arrays);
  return numbers;
}

}  // namespace stitch
