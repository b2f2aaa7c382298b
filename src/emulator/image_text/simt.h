// Host meaning of the CUDA constructs in emitted kernels; included before the unmodified text.
#pragma once
#define STITCH_EMULATOR 1
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <vector_functions.h>
#include <vector_types.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#undef __global__
#undef __device__
#undef __host__
#undef __constant__
#undef __shared__
#undef __forceinline__
#undef __noinline__
#undef __launch_bounds__
#undef __cluster_dims__
#undef __grid_constant__
#define __global__
#define __device__
#define __host__
#define __constant__ static const
#define __shared__ stitch_shared_memory_comes_from_the_arena
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __grid_constant__

#include "simt_calls.h"

namespace stitch_simt {
STITCH_SIMT_UNSEEN inline uint3 thread_index() {
  const Extent& e = view().thread;
  return {e.x, e.y, e.z};
}
STITCH_SIMT_UNSEEN inline uint3 block_index() {
  const Extent& e = view().block;
  return {e.x, e.y, e.z};
}
STITCH_SIMT_UNSEEN inline dim3 block_size() {
  const Extent& e = view().block_size;
  return {e.x, e.y, e.z};
}
STITCH_SIMT_UNSEEN inline dim3 grid_size() {
  const Extent& e = view().grid_size;
  return {e.x, e.y, e.z};
}
}  // namespace stitch_simt

#define threadIdx (stitch_simt::thread_index())
#define blockIdx (stitch_simt::block_index())
#define blockDim (stitch_simt::block_size())
#define gridDim (stitch_simt::grid_size())
#define warpSize 32

#define __syncthreads() stitch_simt::block_barrier()
#define __syncwarp(...) ((void)stitch_simt::ballot(0xffffffffu, true))
#define __shfl_sync(mask, value, from) stitch_simt::shuffle(mask, value, (unsigned)(from))
#define __shfl_xor_sync(mask, value, bits) \
  stitch_simt::shuffle(mask, value, stitch_simt::lane() ^ (unsigned)(bits))
#define __shfl_up_sync(mask, value, delta)                                           \
  stitch_simt::shuffle(mask, value,                                                  \
                       stitch_simt::lane() < (unsigned)(delta) ? stitch_simt::lane() \
                                                               : stitch_simt::lane() - (delta))
#define __shfl_down_sync(mask, value, delta) \
  stitch_simt::shuffle(                      \
      mask, value,                           \
      stitch_simt::lane() + (delta) > 31u ? stitch_simt::lane() : stitch_simt::lane() + (delta))
#define __ballot_sync(mask, p) stitch_simt::ballot(mask, p)
#define __any_sync(mask, p) (stitch_simt::ballot(mask, p) != 0)
#define __all_sync(mask, p) (stitch_simt::ballot(mask, p) == (mask))
#define __activemask() 0xffffffffu
#define __trap() stitch_simt::trap("the kernel trapped")
#define __nanosleep(nanoseconds) stitch_simt::spin()
#define __threadfence() stitch_simt::fence()
#define __threadfence_block() stitch_simt::fence()

#include "simt_device_half.h"
#include "simt_intrinsics.h"
#include "simt_tensor_core.h"
