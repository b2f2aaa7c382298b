// Storage of values between kernels: channels last where the neighbours are.
#include "planner/absorb/value_order.h"

#include "planned.h"
#include "planner/make_plan.h"
#include "support/catch.h"

using namespace stitch;

namespace {

// A block of ConvNeXt: products, sums and norms with channels last, convolutions with channels
// first.
const char* const kBlock = R"(graph "block" {
  input %0 "rows" : f32[3136,384]
  input %1 "w" : f32[384,96]
  input %2 "residual" : f32[1,56,56,96]
  input %3 "depthwise" : f32[96,1,7,7]
  %4 = matmul(%0, %1) {accumulate=f32} : f32[3136,96]
  %5 = reshape(%4) : f32[1,56,56,96]
  %6 = transpose(%5) {perm=[0,3,1,2]} : f32[1,96,56,56]
  %7 = exp(%2) : f32[1,56,56,96]
  %8 = transpose(%7) {perm=[0,3,1,2]} : f32[1,96,56,56]
  %9 = add(%6, %8) : f32[1,96,56,56]
  %10 = conv(%9, %3) {strides=[1,1], dilations=[1,1], low=[3,3], high=[3,3], groups=96} : f32[1,96,56,56]
  %11 = transpose(%10) {perm=[0,2,3,1]} : f32[1,56,56,96]
  %12 = reduce(%11) {kind=sum, axes=[3]} : f32[1,56,56]
  output "y" %12
})";

const Buffer* buffer_of(const Plan& plan, const std::vector<int64_t>& extents) {
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.kind == BufferKind::kArena && buffer.extents == extents) return &buffer;
  }
  return nullptr;
}

}  // namespace

TEST_CASE(
    "a sum of values with channels last is stored so, whatever order its dims are written in") {
  const auto planned = plan_text_graph(kBlock);
  CHECK(planned->problems().empty());
  const Buffer* const sum = buffer_of(planned->plan, {1, 96, 56, 56});
  REQUIRE(sum != nullptr);
  CHECK(sum->strides[1] == 1);
  CHECK(sum->strides[2] == 56 * 96);
  CHECK(sum->strides[3] == 96);
  for (const Kernel* kernel : planned->kernels()) {
    CHECK(kernel->parts[0].stages[0].mapping.kind != MappingKind::kTile);
  }
  // Without: a tile is turned, and the norm sums along far elements.
  PlanOptions options;
  options.techniques.leave_out(Technique::kValueOrder);
  const auto without = plan_text_graph(kBlock, options);
  CHECK(buffer_of(without->plan, {1, 96, 56, 56})->strides[3] == 1);
  CHECK(predicted_us(planned->plan) < predicted_us(without->plan));
}

TEST_CASE("outputs, and what library calls read, stay in the order of their dims") {
  const auto planned = plan_text_graph(R"(graph "fixed" {
  input %0 "x" : f32[64,32,48]
  input %1 "w" : f32[48,40]
  %2 = transpose(%0) {perm=[1,0,2]} : f32[32,64,48]
  %3 = exp(%2) : f32[32,64,48]
  %4 = reshape(%3) : f32[2048,48]
  %5 = matmul(%4, %1) {accumulate=f32} : f32[2048,40]
  %6 = transpose(%0) {perm=[1,0,2]} : f32[32,64,48]
  %7 = tanh(%6) : f32[32,64,48]
  output "y" %5
  output "z" %7
})");
  CHECK(planned->problems().empty());
  for (const Buffer& buffer : planned->plan.buffers) {
    if (buffer.extents == std::vector<int64_t>{32, 64, 48}) CHECK(buffer.strides[0] == 64 * 48);
  }
}
