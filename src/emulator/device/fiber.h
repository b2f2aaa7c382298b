// A stackful fiber: one CUDA thread's call stack, entered and left by a direct switch.
//
// On x86-64 the switch is eight instructions (about 11 ns); elsewhere, and when
// STITCH_EMULATOR_UCONTEXT is defined, it is swapcontext (about 0.3 us).
#pragma once
#include <cstddef>
#include <vector>

#if !defined(__x86_64__) && !defined(STITCH_EMULATOR_UCONTEXT)
#define STITCH_EMULATOR_UCONTEXT 1
#endif
#ifdef STITCH_EMULATOR_UCONTEXT
#include <ucontext.h>
#endif

namespace stitch::emulator {

inline constexpr std::size_t kStackBytes = 64 << 10;

struct Fiber {
#ifdef STITCH_EMULATOR_UCONTEXT
  ucontext_t context;
#else
  void* stack_pointer = nullptr;
#endif
};

// Makes `fiber` start at `entry` when it is first switched to; `entry` never returns. `colour`
// shifts the first frame, so that the hot lines of many stacks do not share cache sets.
void prepare_fiber(Fiber& fiber, unsigned char* stack, std::size_t colour, void (*entry)());

// Leaves `from`, which must be the running one, and continues `to`.
void switch_fiber(Fiber& from, Fiber& to);

// Stacks of kStackBytes, taken from the system in bulk and committed page by page as they are used.
class StackPool {
 public:
  StackPool() = default;
  ~StackPool();
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;

  // The stack with a given number; the same memory each time. Throws std::bad_alloc.
  unsigned char* stack(std::size_t index);

 private:
  std::vector<unsigned char*> chunks_;
};

}  // namespace stitch::emulator
