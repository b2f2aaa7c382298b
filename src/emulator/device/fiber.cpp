#include "emulator/device/fiber.h"

#include <sys/mman.h>

#include <cstring>
#include <new>

namespace stitch::emulator {
namespace {

constexpr std::size_t kStacksPerChunk = 1024;
constexpr std::size_t kChunkBytes = kStacksPerChunk * kStackBytes;
constexpr std::size_t kColours = 53;
constexpr std::size_t kCacheLine = 64;

}  // namespace

#ifdef STITCH_EMULATOR_UCONTEXT

void prepare_fiber(Fiber& fiber, unsigned char* stack, std::size_t colour, void (*entry)()) {
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = stack;
  fiber.context.uc_stack.ss_size = kStackBytes - colour % kColours * kCacheLine;
  fiber.context.uc_link = nullptr;
  makecontext(&fiber.context, entry, 0);
}

void switch_fiber(Fiber& from, Fiber& to) { swapcontext(&from.context, &to.context); }

#else

// System V ABI: rbp, rbx and r12 to r15 belong to the caller. The floating-point control words are
// not saved: kernels do not change them.
extern "C" void stitch_emulator_switch(void** save, void* to);
asm(R"(
.text
.type stitch_emulator_switch,@function
.hidden stitch_emulator_switch
.globl stitch_emulator_switch
stitch_emulator_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  popq %rcx
  jmp *%rcx
.size stitch_emulator_switch,.-stitch_emulator_switch
)");

void prepare_fiber(Fiber& fiber, unsigned char* stack, std::size_t colour, void (*entry)()) {
  constexpr std::size_t kSavedRegisters = 6;
  auto** top =
      reinterpret_cast<void**>(stack + kStackBytes - kCacheLine - colour % kColours * kCacheLine);
  *--top = nullptr;  // where a return address would lie: keeps the alignment of a call
  *--top = reinterpret_cast<void*>(entry);
  top -= kSavedRegisters;
  std::memset(top, 0, kSavedRegisters * sizeof(void*));
  fiber.stack_pointer = top;
}

void switch_fiber(Fiber& from, Fiber& to) {
  stitch_emulator_switch(&from.stack_pointer, to.stack_pointer);
}

#endif

StackPool::~StackPool() {
  for (unsigned char* chunk : chunks_) munmap(chunk, kChunkBytes);
}

unsigned char* StackPool::stack(std::size_t index) {
  while (index / kStacksPerChunk >= chunks_.size()) {
    void* const chunk = mmap(nullptr, kChunkBytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (chunk == MAP_FAILED) throw std::bad_alloc();
    madvise(chunk, kChunkBytes, MADV_NOHUGEPAGE);  // one page per stack, not 2 MB
    chunks_.push_back(static_cast<unsigned char*>(chunk));
  }
  return chunks_[index / kStacksPerChunk] + index % kStacksPerChunk * kStackBytes;
}

}  // namespace stitch::emulator
