// The emulated device as kernels call it: thin functions that add the address of their caller.
//
// In a checked image they are neither instrumented nor inlined, so that each access is reported
// once, with the kernel's line as its site. In a plain image they are inlined.
#pragma once
#include <type_traits>

#include "image_abi.h"

#ifdef STITCH_EMULATOR_CHECKED
#define STITCH_SIMT_UNSEEN __attribute__((noinline, no_sanitize("thread")))
#else
#define STITCH_SIMT_UNSEEN __attribute__((always_inline))
#endif
// Out of line in both kinds of image: the return address must lie in the kernel.
#define STITCH_SIMT_SITED __attribute__((noinline, no_sanitize("thread")))
#define STITCH_SIMT_SITE __builtin_return_address(0)

namespace stitch_simt {

extern const DeviceCalls* calls __attribute__((visibility("hidden")));

// The view of the running thread.
__attribute__((always_inline, no_sanitize("thread"))) inline const ThreadView& view() {
  const auto frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  return **reinterpret_cast<const ThreadView* const*>((frame & ~kStackMask) + kViewOffset);
}

STITCH_SIMT_UNSEEN inline unsigned lane() { return view().lane; }
STITCH_SIMT_UNSEEN inline unsigned char* arena() { return view().arena; }
STITCH_SIMT_UNSEEN inline unsigned cluster_rank() { return view().cluster_rank; }

// Reports an access of code that is not instrumented; costs nothing in a plain image.
__attribute__((always_inline, no_sanitize("thread"))) inline void touch(const void* address,
                                                                        unsigned bytes, bool write,
                                                                        const void* site) {
#ifdef STITCH_EMULATOR_CHECKED
  calls->access(address, bytes, write, site);
#else
  (void)address, (void)bytes, (void)write, (void)site;
#endif
}

STITCH_SIMT_SITED inline void block_barrier() { calls->block_barrier(STITCH_SIMT_SITE); }
STITCH_SIMT_SITED inline void spin() { calls->spin(STITCH_SIMT_SITE); }
STITCH_SIMT_SITED inline unsigned load_acquire(const unsigned* counter) {
  return calls->load_acquire(counter, STITCH_SIMT_SITE);
}
STITCH_SIMT_SITED inline unsigned add(unsigned* counter, unsigned amount, bool acquire) {
  return calls->add(counter, amount, acquire, STITCH_SIMT_SITE);
}
STITCH_SIMT_SITED inline void cluster_arrive() { calls->cluster_arrive(STITCH_SIMT_SITE); }
STITCH_SIMT_SITED inline void cluster_wait() { calls->cluster_wait(STITCH_SIMT_SITE); }
STITCH_SIMT_UNSEEN inline void fence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
STITCH_SIMT_SITED inline void trap(const char* what) { calls->trap(what, STITCH_SIMT_SITE); }

// Gives `value` to the warp and takes that of lane `from`.
template <class T>
STITCH_SIMT_SITED T shuffle(unsigned mask, T value, unsigned from) {
  static_assert(sizeof(T) <= 16, "a shuffle moves at most 16 bytes");
  unsigned char* slots = calls->exchange_slots();
  __builtin_memcpy(slots + kSlotBytes * lane(), &value, sizeof(T));
  calls->warp_meet(mask, Meeting::kShuffle, STITCH_SIMT_SITE);
  __builtin_memcpy(&value, slots + kSlotBytes * (from % kWarpLanes), sizeof(T));
  return value;
}

// Bit l is the predicate of lane l, for the lanes in the mask.
STITCH_SIMT_SITED inline unsigned ballot(unsigned mask, bool predicate) {
  unsigned char* slots = calls->exchange_slots();
  slots[kSlotBytes * lane()] = predicate;
  calls->warp_meet(mask, Meeting::kVote, STITCH_SIMT_SITE);
  unsigned result = 0;
  for (unsigned i = 0; i < kWarpLanes; ++i)
    if (mask >> i & 1u) result |= static_cast<unsigned>(slots[kSlotBytes * i] & 1u) << i;
  return result;
}

// Replaces *address by update(*address) and returns what was there.
template <class T, class Update>
STITCH_SIMT_SITED T atomic_update(T* address, Update update) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "atomics work on 4 or 8 bytes");
  using Bits = typename std::conditional<sizeof(T) == 4, std::uint32_t, std::uint64_t>::type;
  calls->atomic_access(address, sizeof(T), STITCH_SIMT_SITE);
  Bits* const bits = reinterpret_cast<Bits*>(address);
  Bits before = __atomic_load_n(bits, __ATOMIC_RELAXED);
  for (;;) {
    T old_value;
    __builtin_memcpy(&old_value, &before, sizeof(T));
    const T new_value = update(old_value);
    Bits after;
    __builtin_memcpy(&after, &new_value, sizeof(T));
    if (__atomic_compare_exchange_n(bits, &before, after, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED))
      return old_value;
  }
}

}  // namespace stitch_simt
