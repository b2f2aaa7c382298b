#include "emulator/device/fiber.h"

#include <sys/mman.h>
#ifdef __SANITIZE_ADDRESS__
#include <pthread.h>
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
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
// them must meet neither the next launch nor what is mapped where they were.
void forget_marks([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) {
#ifdef __SANITIZE_ADDRESS__
  __asan_unpoison_memory_region(memory, bytes);
#endif
}

#ifdef __SANITIZE_ADDRESS__

thread_local const Fiber* arriving = nullptr;

void find_thread_stack(Fiber& fiber) {
  pthread_attr_t attributes;
  pthread_getattr_np(pthread_self(), &attributes);
  void* stack = nullptr;
  pthread_attr_getstack(&attributes, &stack, &fiber.stack_bytes);
  pthread_attr_destroy(&attributes);
  fiber.stack = stack;
}

void announce_switch(Fiber& from, const Fiber& to) {
  if (from.stack == nullptr) find_thread_stack(from);
  arriving = &to;
  __sanitizer_start_switch_fiber(&from.fake_stack, to.stack, to.stack_bytes);
}

void confirm_switch(const Fiber& now) {
  __sanitizer_finish_switch_fiber(now.fake_stack, nullptr, nullptr);
}

void begin_fiber() {
  const Fiber& now = *arriving;
  confirm_switch(now);
  now.entry();
}

// Where the fiber starts in place of its entry.
auto announced_entry(Fiber& fiber, const unsigned char* stack, void (*entry)()) {
  fiber.stack = stack;
  fiber.stack_bytes = kStackBytes;
  fiber.fake_stack = nullptr;
  fiber.entry = entry;
  return begin_fiber;
}

#else

void announce_switch(Fiber&, const Fiber&) {}
void confirm_switch(const Fiber&) {}
auto announced_entry(Fiber&, const unsigned char*, void (*entry)()) { return entry; }

#endif

void store_view(unsigned char* stack, const stitch_simt::ThreadView* view) {
  forget_marks(stack, kStackBytes);
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
  makecontext(&fiber.context, announced_entry(fiber, stack, entry), 0);
}

void switch_fiber(Fiber& from, Fiber& to) {
  announce_switch(from, to);
  swapcontext(&from.context, &to.context);
  confirm_switch(from);
}

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
  *--top = reinterpret_cast<void*>(announced_entry(fiber, stack, entry));
  top -= kSavedRegisters;
  std::memset(top, 0, kSavedRegisters * sizeof(void*));
  fiber.stack_pointer = top;
}

void switch_fiber(Fiber& from, Fiber& to) {
  announce_switch(from, to);
  stitch_emulator_switch(&from.stack_pointer, to.stack_pointer);
  confirm_switch(from);
}

#endif

StackPool::~StackPool() { release_from(0); }

void StackPool::trim() {
  constexpr std::size_t kKeptChunks = 4;
  release_from(kKeptChunks);
}

void StackPool::release_from(std::size_t chunk) {
  for (; chunks_.size() > chunk; chunks_.pop_back()) {
    forget_marks(chunks_.back().mapping, kChunkBytes);
    munmap(chunks_.back().mapping, kChunkBytes);
  }
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
