#include "planner/fusion/sibling_merge.h"

#include "planned.h"
#include "support/catch.h"

using namespace stitch;

TEST_CASE("independent work on one input is one part that loads it once") {
  const auto planned = plan_text_graph(R"(graph "siblings" {
  input %0 "x" : f32[64,96]
  input %1 "y" : f32[64,96]
  %2 = exp(%0) : f32[64,96]
  %3 = add(%0, %1) : f32[64,96]
  %4 = reduce(%0) {kind=sum, axes=[1]} : f32[64]
  output "a" %2
  output "b" %3
  output "c" %4
})");
  REQUIRE(planned->kernels().size() == 1);
  const Kernel& kernel = *planned->kernels()[0];
  REQUIRE(kernel.parts.size() == 1);
  CHECK(kernel.bytes.bytes == kernel.bytes.compulsory);
  CHECK(kernel.bytes.bytes == 4 * (4 * 64 * 96 + 64));
  CHECK(planned->plan.regions == 3);
  CHECK(planned->problems().empty());
}

TEST_CASE("work on one input whose blocks own different indices stays apart") {
  const auto planned = plan_text_graph(R"(graph "two sums" {
  input %0 "x" : f32[64,96]
  %1 = reduce(%0) {kind=sum, axes=[1]} : f32[64]
  %2 = reduce(%0) {kind=max, axes=[0]} : f32[96]
  output "rows" %1
  output "columns" %2
})");
  REQUIRE(planned->kernels().size() == 1);
  const Kernel& kernel = *planned->kernels()[0];
  CHECK(kernel.parts.size() == 2);
  CHECK(kernel.bytes.compulsory == 4 * (64 * 96 + 64 + 96));
  CHECK(kernel.bytes.bytes == kernel.bytes.compulsory + 4 * 64 * 96);
  REQUIRE(planned->plan.notes.size() == 2);
  CHECK(planned->plan.notes.front() == "region 0: cut in 2: its parts are independent");
  CHECK(planned->plan.notes.back().find("x is loaded by 2 parts") != std::string::npos);
  CHECK(planned->problems().empty());
}

TEST_CASE("kernels built on trial leave no scratch in the plan") {
  const auto planned = plan_text_graph(R"(graph "columns" {
  input %0 "x" : f32[8192,256]
  %1 = exp(%0) : f32[8192,256]
  %2 = reduce(%0) {kind=sum, axes=[0]} : f32[256]
  %3 = mul(%0, %0) : f32[8192,256]
  %4 = reduce(%3) {kind=sum, axes=[0]} : f32[256]
  output "sum" %2
  output "squares" %4
  output "exp" %1
})");
  size_t scratch = 0;
  for (const Buffer& buffer : planned->plan.buffers) {
    scratch += buffer.kind == BufferKind::kScratch ? 1 : 0;
  }
  size_t placed = 0;
  for (const Kernel* kernel : planned->kernels()) {
    placed += static_cast<size_t>(places_of_kind(*kernel, PlaceKind::kScratch));
  }
  CHECK(scratch > 0);
  CHECK(scratch == placed);
  CHECK(planned->problems().empty());
}
