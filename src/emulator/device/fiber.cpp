#include "emulator/device/fiber.h"

#include <sys/mman.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

#include <cstring>
#include <new>

namespace stitch::emulator {
namespace {

constexpr std::size_t kStacksPerChunk = 1024;
constexpr std::size_t kChunkBytes = (kStacksPerChunk + 1) * kStackBytes;  // one to align with
constexpr std::size_t kColours = 53;
constexpr std::size_t kCacheLine = 64;

// A launch that was stopped leaves its stacks as they were: what AddressSanitizer has marked on
// them must not meet the next launch.
void forget_marks([[maybe_unused]] unsigned char* stack) {
#ifdef __SANITIZE_ADDRESS__
  __asan_unpoison_memory_region(stack, kStackBytes);
#endif
}

void store_view(unsigned char* stack, const stitch_simt::ThreadView* view) {
  forget_marks(stack);
  std::memcpy(stack + stitch_simt::kViewOffset, &view, sizeof view);
}

}  // namespace

#ifdef STITCH_EMULATOR_UCONTEXT

void prepare_fiber(Fiber& fiber, unsigned char* stack, const stitch_simt::ThreadView* view,
                   std::size_t colour, void (*entry)()) {
  store_view(stack, view);
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = stack;
  fiber.context.uc_stack.ss_size = kStackBytes - (1 + colour % kColours) * kCacheLine;
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

void prepare_fiber(Fiber& fiber, unsigned char* stack, const stitch_simt::ThreadView* view,
                   std::size_t colour, void (*entry)()) {
  store_view(stack, view);
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

StackPool::~StackPool() { release_from(0); }

void StackPool::trim() {
  constexpr std::size_t kKeptChunks = 4;
  release_from(kKeptChunks);
}

void StackPool::release_from(std::size_t chunk) {
  for (; chunks_.size() > chunk; chunks_.pop_back()) munmap(chunks_.back().mapping, kChunkBytes);
}

unsigned char* StackPool::stack(std::size_t index) {
  while (index / kStacksPerChunk >= chunks_.size()) {
    void* const mapping = mmap(nullptr, kChunkBytes, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) throw std::bad_alloc();
    madvise(mapping, kChunkBytes, MADV_NOHUGEPAGE);  // one page per stack, not 2 MB
    const auto address = reinterpret_cast<std::uintptr_t>(mapping);
    chunks_.push_back({mapping, static_cast<unsigned char*>(mapping) +
                                    (kStackBytes - address % kStackBytes) % kStackBytes});
  }
  return chunks_[index / kStacksPerChunk].first_stack + index % kStacksPerChunk * kStackBytes;
}

}  // namespace stitch::emulator
