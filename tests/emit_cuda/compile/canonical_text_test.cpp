#include "emit_cuda/compile/canonical_text.h"

#include "support/catch.h"

using stitch::canonical_text;

namespace {
const char* const kFirst = R"(// kernel   layer0_scale
#include "vector.cuh"
constexpr int kRows = 4;
extern "C" __global__ void layer0_scale(const float* __restrict__ scores, float* __restrict__ probs) {
  const int row = blockIdx.x;
  probs[row] = expf(scores[row]);
}
)";
}

TEST_CASE("kernels that differ in names and comments only are equal") {
  const std::string second = R"(// kernel   layer1_scale
#include "vector.cuh"
constexpr int kRows = 4;  // of layer 1
extern "C" __global__ void layer1_scale(const float* __restrict__ add_35, float* __restrict__ mul_7) {
  const int row = blockIdx.x;
  mul_7[row] = expf(add_35[row]);
}
)";
  CHECK(canonical_text(kFirst, "layer0_scale") == canonical_text(second, "layer1_scale"));
}

TEST_CASE("functions of a kernel's parts are named after it") {
  const auto packed = [](const std::string& name) {
    return canonical_text("__device__ void " + name + "_part1(float* x) { x[0] = 1; }\n" +
                              "__global__ void " + name + "(float* x) { " + name + "_part1(x); }",
                          name);
  };
  CHECK(packed("k12_scale") == packed("k34_scale"));
}

TEST_CASE("kernels that call another function or hold another number differ") {
  const std::string text = kFirst;
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string other = text;
    other.replace(other.find(from), from.size(), to);
    return canonical_text(other, "layer0_scale");
  };
  const std::string original = canonical_text(text, "layer0_scale");
  CHECK(with("expf", "logf") != original);
  CHECK(with("kRows = 4", "kRows = 8") != original);
  CHECK(with("blockIdx.x", "blockIdx.y") != original);
  CHECK(with("const float*", "const __half*") != original);
  CHECK(with("probs[row] =", "scores[row] =") != original);
}
