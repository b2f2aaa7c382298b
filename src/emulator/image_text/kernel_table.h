// Describes the kernels of a unit to the emulated device; the text after each unit names them.
#pragma once
#include <utility>

#include "image_abi.h"

namespace stitch_simt {

template <class Signature, Signature* kKernel>
struct Kernel;

template <class... Arguments, void (*kKernel)(Arguments...)>
struct Kernel<void(Arguments...), kKernel> {
  static constexpr unsigned kCount = sizeof...(Arguments);
  static constexpr unsigned kBytes[kCount + 1] = {static_cast<unsigned>(sizeof(Arguments))..., 0};

  template <std::size_t... kIndex>
  __attribute__((no_sanitize("thread"))) static void run(void** arguments,
                                                         std::index_sequence<kIndex...>) {
    kKernel(*static_cast<Arguments*>(arguments[kIndex])...);
    (void)arguments;
  }
  __attribute__((no_sanitize("thread"))) static void thunk(void** arguments) {
    run(arguments, std::make_index_sequence<kCount>());
  }
};

struct LaunchBounds {
  unsigned max_block_threads, min_blocks;
};
constexpr LaunchBounds launch_bounds(unsigned threads = 0, unsigned blocks = 0, unsigned = 0) {
  return {threads, blocks};
}
constexpr Extent cluster_dims(unsigned x = 0, unsigned y = 1, unsigned z = 1) {
  return {x, x ? y : 0, x ? z : 0};
}

}  // namespace stitch_simt

#define STITCH_SIMT_PARENTHESISED(...) (__VA_ARGS__)
#define STITCH_SIMT_KERNEL(kernel, bounds, cluster)                    \
  static const stitch_simt::KernelRecord stitch_record_##kernel = {    \
      #kernel,                                                         \
      stitch_simt::Kernel<decltype(kernel), kernel>::thunk,            \
      stitch_simt::Kernel<decltype(kernel), kernel>::kCount,           \
      stitch_simt::Kernel<decltype(kernel), kernel>::kBytes,           \
      stitch_simt::launch_bounds bounds.max_block_threads,             \
      stitch_simt::launch_bounds bounds.min_blocks,                    \
      stitch_simt::cluster_dims cluster.x,                             \
      stitch_simt::cluster_dims cluster.y,                             \
      stitch_simt::cluster_dims cluster.z};                            \
  static const stitch_simt::KernelRecord* const stitch_listed_##kernel \
      __attribute__((section("stitch_kernels"), used)) = &stitch_record_##kernel;
