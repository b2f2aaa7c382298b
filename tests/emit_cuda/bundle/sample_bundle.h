// A small hand-written model as bundle contents: y = relu(2 x + bias), then the sum of its rows.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "emit_cuda/bundle/bundle_contents.h"

namespace stitch {

inline constexpr int kSampleRows = 5;
inline constexpr int kSampleColumns = 64;

// CUDA text of both kernels.
std::string sample_source();

// Owns what the contents refer to.
struct SampleBundle {
  std::vector<std::byte> image;
  std::vector<float> bias;
  BundleContents contents;
};

// The image is given once per architecture (80 and 90), as the kind named.
SampleBundle make_sample(const std::string& name, runtime::ImageKind kind,
                         std::vector<std::byte> image);

// The same computed here.
struct SampleResult {
  std::vector<float> y;
  std::vector<float> sums;
};
SampleResult sample_result(const std::vector<float>& x, const std::vector<float>& bias);

}  // namespace stitch
