// What a kernel gets from memory: bandwidth by threads and footprint, and the latency of one load.
#include "vector.cuh"

constexpr int kMostThreads = 1024;

// dram_bandwidth, l2_bandwidth, footprint_bandwidth: one more round copies all once more. Two loads
// of 16 bytes are in flight in each thread, as in emitted kernels.
extern "C" __global__ void __launch_bounds__(kMostThreads)
calibrate_copy(const uint4* __restrict__ from, uint4* __restrict__ to, int vectors, int rounds) {
  const int stride = gridDim.x * blockDim.x;
  for (int round = 0; round < rounds; ++round) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (; i + stride < vectors; i += 2 * stride) {
      const uint4 first = stitch_load_word<16>(from + i);
      const uint4 second = stitch_load_word<16>(from + i + stride);
      stitch_store_word<16>(to + i, first);
      stitch_store_word<16>(to + i + stride, second);
    }
    if (i < vectors) stitch_store_word<16>(to + i, stitch_load_word<16>(from + i));
  }
}

// A ring for calibrate_chase: `stride` elements on, around the end.
extern "C" __global__ void __launch_bounds__(256)
calibrate_ring(int* next, int count, int stride) {
  for (int i = blockIdx.x * 256 + threadIdx.x; i < count; i += gridDim.x * 256)
    next[i] = i < count - stride ? i + stride : i + stride - count;
}

// dram_latency_us: one more step. Each load waits for the one before; all lanes load the same.
extern "C" __global__ void __launch_bounds__(32)
calibrate_chase(const int* next, int start, int steps, int* to) {
  int at = start;
  for (int step = 0; step < steps; ++step) at = next[at];
  to[threadIdx.x] = at;
}
