// A stackful fiber: one CUDA thread's call stack, entered and left by a direct switch.
//
// On x86-64 the switch is eight instructions (about 11 ns); elsewhere, and when
// STITCH_EMULATOR_UCONTEXT is defined, it is swapcontext (about 0.3 us).
#pragma once
#include <cstddef>
#include <vector>

#include "emulator/image_text/image_abi.h"

#if !defined(__x86_64__) && !defined(STITCH_EMULATOR_UCONTEXT)
#define STITCH_EMULATOR_UCONTEXT 1
#endif
#ifdef STITCH_EMULATOR_UCONTEXT
#include <ucontext.h>
#endif

namespace stitch::emulator {

using stitch_simt::kStackBytes;

struct Fiber {
#ifdef STITCH_EMULATOR_UCONTEXT
  ucontext_t context;
#else
  void* stack_pointer = nullptr;
#endif
#ifdef __SANITIZE_ADDRESS__
  // What AddressSanitizer wants to be told at a switch; the stack of a fiber that was not prepared
  // is its thread's.
  const void* stack = nullptr;
  std::size_t stack_bytes = 0;
  void* fake_stack = nullptr;
  void (*entry)() = nullptr;
#endif
};

// Makes `fiber` start at `entry` when it is first switched to; `entry` never returns. The address
// of `view` goes to the end of the stack. `colour` shifts the first frame, so that the hot lines of
// many stacks do not share cache sets.
void prepare_fiber(Fiber& fiber, unsigned char* stack, const stitch_simt::ThreadView* view,
                   std::size_t colour, void (*entry)());

// Leaves `from`, which must be the running one, and continues `to`.
void switch_fiber(Fiber& from, Fiber& to);

// Stacks of kStackBytes, aligned to as much, taken from the system in bulk and committed page by
// page as they are used.
class StackPool {
 public:
  StackPool() = default;
  ~StackPool();
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;

  // The stack with a given number; the same memory each time. Throws std::bad_alloc.
  unsigned char* stack(std::size_t index);

  // Between launches: keeps the stacks of usual launches, gives back those of very large ones.
  void trim();

 private:
  struct Chunk {
    void* mapping = nullptr;
    unsigned char* first_stack = nullptr;
  };
  void release_from(std::size_t chunk);

  std::vector<Chunk> chunks_;
};

}  // namespace stitch::emulator
