// What the text of emitted kernels must hold: vectors, one load per operand, no divisions in
// contiguous loops, readable names.
#include "emit_cuda/compile/canonical_text.h"
#include "emit_cuda/device_files.h"
#include "emit_cuda/names.h"
#include "emit_cuda/planned_kernels.h"
#include "support/catch.h"

using namespace stitch;
using namespace stitch::test;

namespace {

constexpr const char* kSoftmax = R"(graph "softmax" {
  input %0 "scores" : f32[4096,1024]
  %1 = reduce(%0) {kind=max, axes=[1]}
  %2 = broadcast(%1) {axes=[0]} : f32[4096,1024]
  %3 = sub(%0, %2)
  %4 = exp(%3)
  %5 = reduce(%4) {kind=sum, axes=[1]}
  %6 = broadcast(%5) {axes=[0]} : f32[4096,1024]
  %7 = div(%4, %6)
  output "probs" %7
})";

}  // namespace

TEST_CASE("softmax is one kernel that loads and stores each row once, in vectors") {
  const std::vector<KernelSource> kernels = emitted(kSoftmax, FusionMode::kStitch);
  REQUIRE(kernels.size() == 1);
  const std::string& text = kernels.front().text;
  INFO(text);
  CHECK(occurrences(text, "stitch_load(") == 1);
  CHECK(occurrences(text, "stitch_store(") == 1);
  CHECK(occurrences(text, "stitch_row_reduce<") == 2);
  CHECK(occurrences(text, "__syncthreads") == 0);
  CHECK(occurrences(text, "stitch_exp(") == 1);
  CHECK(text.find("const float* __restrict__ scores, float* __restrict__ probs") !=
        std::string::npos);
}

TEST_CASE("kernels of two slices are one kernel, each with a pointer to its slice") {
  const std::vector<KernelSource> kernels = emitted(
      "graph \"t\" {\n  input %0 \"x\" : f32[3,64]\n"
      "  %1 = slice(%0) {starts=[0, 0], limits=[1, 64], steps=[1, 1]} : f32[1,64]\n"
      "  %2 = slice(%0) {starts=[2, 0], limits=[3, 64], steps=[1, 1]} : f32[1,64]\n"
      "  %3 = exp(%1) : f32[1,64]\n  %4 = exp(%2) : f32[1,64]\n"
      "  output \"a\" %3\n  output \"b\" %4\n}\n",
      FusionMode::kNone);
  REQUIRE(kernels.size() == 2);
  REQUIRE(kernels[0].parameters[0].first == 0);
  REQUIRE(kernels[1].parameters[0].first == 128);
  REQUIRE(canonical_text(kernels[0].text, kernels[0].name) ==
          canonical_text(kernels[1].text, kernels[1].name));
  REQUIRE(occurrences(kernels[1].text, "// starts   x at element 128\n") == 1);
}

TEST_CASE("the same plan gives the same text") {
  CHECK(emitted(kSoftmax, FusionMode::kStitch).front().text ==
        emitted(kSoftmax, FusionMode::kStitch).front().text);
}

TEST_CASE("identifiers come from the last part of a model's names") {
  CHECK(identifier("/encoder/layer.0/attention/Softmax_output_0") == "softmax");
  CHECK(identifier("encoder.layer.0.attention.key.weight") == "key_weight");
  CHECK(identifier("onnx::MatMul_1234") == "mat_mul_1234");
  CHECK(identifier("123") == "");
}

TEST_CASE("device files are found by what a kernel calls") {
  CHECK(device_files_of("stitch_load(x, y); stitch_row_reduce<32>(x, StitchSum());") ==
        std::vector<std::string>{"reduce.cuh", "vector.cuh"});
  CHECK(with_included({"grid.cuh"}) == std::vector<std::string>{"base.cuh", "grid.cuh"});
}
