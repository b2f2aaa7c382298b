// The portable switch between fibers, which machines other than x86-64 use: compiled into this test
// program in place of the assembly.
#include <string>

#include "emulator/device/fiber.h"
#include "support/catch.h"

namespace stitch::emulator {
namespace {

Fiber test_program, first, second;
std::string trace;
const stitch_simt::ThreadView* view_seen = nullptr;

const stitch_simt::ThreadView* view_of_stack(const void* address) {
  const auto base = reinterpret_cast<std::uintptr_t>(address) & ~stitch_simt::kStackMask;
  return *reinterpret_cast<const stitch_simt::ThreadView* const*>(base + stitch_simt::kViewOffset);
}

void run_first() {
  int local = 0;
  view_seen = view_of_stack(&local);
  trace += "a";
  switch_fiber(first, second);
  trace += "c";
  switch_fiber(first, test_program);
}

void run_second() {
  trace += "b";
  switch_fiber(second, first);
}

}  // namespace

TEST_CASE("fibers switch by swapcontext as well and find their thread's view") {
  StackPool stacks;
  const stitch_simt::ThreadView view{}, other{};
  prepare_fiber(first, stacks.stack(0), &view, 0, run_first);
  prepare_fiber(second, stacks.stack(1), &other, 52, run_second);
  trace.clear();
  switch_fiber(test_program, first);
  CHECK(trace == "abc");
  CHECK(view_seen == &view);
}

TEST_CASE("stacks are apart, aligned to their size and stable") {
  StackPool stacks;
  unsigned char* const low = stacks.stack(0);
  unsigned char* const high = stacks.stack(5000);
  CHECK(reinterpret_cast<std::uintptr_t>(low) % kStackBytes == 0);
  CHECK(reinterpret_cast<std::uintptr_t>(high) % kStackBytes == 0);
  CHECK(stacks.stack(1) == low + kStackBytes);
  CHECK(stacks.stack(5000) == high);
  stacks.trim();
  CHECK(stacks.stack(0) == low);
}

}  // namespace stitch::emulator
