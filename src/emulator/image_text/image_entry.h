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
__thread const ThreadView* const* running;

__attribute__((no_sanitize("thread"))) static void connect(const DeviceCalls* device_calls) {
  calls = device_calls;
}
__attribute__((no_sanitize("thread"))) static void enter_thread(const ThreadView* const* view) {
  running = view;
}

}  // namespace stitch_simt

extern "C" __attribute__((visibility("default")))
const stitch_simt::ImageEntry stitch_host_image = {stitch_simt::kImageAbiVersion,
#ifdef STITCH_EMULATOR_CHECKED
                                                   true,
#else
                                                   false,
#endif
                                                   __start_stitch_kernels,
                                                   __stop_stitch_kernels,
                                                   stitch_simt::connect,
                                                   stitch_simt::enter_thread};

#ifdef STITCH_EMULATOR_CHECKED
namespace stitch_simt {
// Private memory (the thread's stack) is the kernel's registers: not an access.
__attribute__((always_inline, no_sanitize("thread"))) inline void seen(const void* address,
                                                                       unsigned bytes, bool write,
                                                                       const void* site) {
  const ThreadView* const view = *running;
  if (reinterpret_cast<std::uintptr_t>(address) - view->stack_begin < view->stack_bytes) return;
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
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_init() {}
#pragma GCC visibility pop
}
#endif
