// What a host image exports, and in a checked image the callbacks that the compiler inserts for
// every load and store (-fsanitize=thread; libtsan itself is not linked). Included by one unit.
#pragma once
#include "simt_calls.h"

extern "C" {
extern const stitch_simt::KernelRecord* const __start_stitch_kernels[]
    __attribute__((visibility("hidden")));
extern const stitch_simt::KernelRecord* const __stop_stitch_kernels[]
    __attribute__((visibility("hidden")));
}

namespace stitch_simt {

const DeviceCalls* calls;

__attribute__((no_sanitize("thread"))) static void connect(const DeviceCalls* device_calls) {
  calls = device_calls;
}

}  // namespace stitch_simt

extern "C" __attribute__((visibility("default")))
const stitch_simt::ImageEntry stitch_host_image = {stitch_simt::kImageAbiVersion,
#ifdef STITCH_EMULATOR_CHECKED
                                                   true,
#else
                                                   false,
#endif
#if defined(__AVX2__) && defined(__FMA__)
                                                   true,
#else
                                                   false,
#endif
                                                   __start_stitch_kernels,
                                                   __stop_stitch_kernels,
                                                   stitch_simt::connect};

#ifdef STITCH_EMULATOR_CHECKED
namespace stitch_simt {
// Private memory (the thread's stack) is the kernel's registers: not an access.
__attribute__((always_inline, no_sanitize("thread"))) inline void seen(const void* address,
                                                                       unsigned bytes, bool write,
                                                                       const void* site) {
  const auto frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  if (((reinterpret_cast<std::uintptr_t>(address) ^ frame) & ~kStackMask) == 0) return;
  calls->access(address, bytes, write, site);
}
}  // namespace stitch_simt

#define STITCH_SIMT_CALLBACK(name, bytes, write)                    \
  __attribute__((no_sanitize("thread"))) void name(void* address) { \
    stitch_simt::seen(address, bytes, write, STITCH_SIMT_SITE);     \
  }
#define STITCH_SIMT_CALLBACKS(bytes)                               \
  STITCH_SIMT_CALLBACK(__tsan_read##bytes, bytes, false)           \
  STITCH_SIMT_CALLBACK(__tsan_write##bytes, bytes, true)           \
  STITCH_SIMT_CALLBACK(__tsan_unaligned_read##bytes, bytes, false) \
  STITCH_SIMT_CALLBACK(__tsan_unaligned_write##bytes, bytes, true)

extern "C" {
#pragma GCC visibility push(hidden)
STITCH_SIMT_CALLBACKS(1)
STITCH_SIMT_CALLBACKS(2)
STITCH_SIMT_CALLBACKS(4)
STITCH_SIMT_CALLBACKS(8)
STITCH_SIMT_CALLBACKS(16)
__attribute__((no_sanitize("thread"))) void __tsan_read_range(void* address, std::size_t bytes) {
  stitch_simt::seen(address, static_cast<unsigned>(bytes), false, STITCH_SIMT_SITE);
}
__attribute__((no_sanitize("thread"))) void __tsan_write_range(void* address, std::size_t bytes) {
  stitch_simt::seen(address, static_cast<unsigned>(bytes), true, STITCH_SIMT_SITE);
}
// Some compilers turn copies and fills into calls.
__attribute__((no_sanitize("thread"))) void* __tsan_memcpy(void* to, const void* from,
                                                           std::size_t bytes) {
  stitch_simt::seen(from, static_cast<unsigned>(bytes), false, STITCH_SIMT_SITE);
  stitch_simt::seen(to, static_cast<unsigned>(bytes), true, STITCH_SIMT_SITE);
  return __builtin_memcpy(to, from, bytes);
}
__attribute__((no_sanitize("thread"))) void* __tsan_memmove(void* to, const void* from,
                                                            std::size_t bytes) {
  stitch_simt::seen(from, static_cast<unsigned>(bytes), false, STITCH_SIMT_SITE);
  stitch_simt::seen(to, static_cast<unsigned>(bytes), true, STITCH_SIMT_SITE);
  return __builtin_memmove(to, from, bytes);
}
__attribute__((no_sanitize("thread"))) void* __tsan_memset(void* to, int value, std::size_t bytes) {
  stitch_simt::seen(to, static_cast<unsigned>(bytes), true, STITCH_SIMT_SITE);
  return __builtin_memset(to, value, bytes);
}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_init() {}
#pragma GCC visibility pop
}
#endif
