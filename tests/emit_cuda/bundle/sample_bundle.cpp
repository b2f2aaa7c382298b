#include "sample_bundle.h"

#include <algorithm>
#include <bit>
#include <span>

namespace stitch {
namespace {

using runtime::BufferKind;
using runtime::BufferRef;
using runtime::ElementType;
using runtime::KernelLaunch;
using runtime::ScalarValue;

constexpr std::uint64_t kMatrixBytes = kSampleRows * kSampleColumns * sizeof(float);
constexpr std::uint64_t kRowBytes = kSampleColumns * sizeof(float);
constexpr std::uint64_t kSumBytes = kSampleRows * sizeof(float);

KernelLaunch scale_launch() {
  KernelLaunch launch;
  launch.function = "k00_scale_bias_relu";
  launch.grid.x = kSampleRows;
  launch.block.x = kSampleColumns;
  launch.arguments = {BufferRef{BufferKind::kInput, 0, 0, kMatrixBytes},
                      BufferRef{BufferKind::kWeights, 0, 0, kRowBytes},
                      BufferRef{BufferKind::kOutput, 0, 0, kMatrixBytes},
                      ScalarValue{std::bit_cast<std::uint32_t>(2.0F), 4}};
  launch.source_nodes = {"/scale/Mul", "/bias/Add", "/Relu"};
  return launch;
}

// Goes through the workspace so that the launcher has one to hand on.
KernelLaunch sum_launch() {
  KernelLaunch launch;
  launch.function = "k01_row_sum";
  launch.grid.x = kSampleRows;
  launch.block.x = 32;
  launch.arguments = {BufferRef{BufferKind::kOutput, 0, 0, kMatrixBytes},
                      BufferRef{BufferKind::kWorkspace, 0, 256, kSumBytes},
                      BufferRef{BufferKind::kOutput, 1, 0, kSumBytes}};
  launch.source_nodes = {"/ReduceSum"};
  return launch;
}

ManifestKernel kernel_entry(const KernelLaunch& launch) {
  ManifestKernel kernel;
  kernel.name = launch.function;
  kernel.source = "src/kernels/sample.cu";
  kernel.nodes = launch.source_nodes;
  kernel.grid = {launch.grid.x, 1, 1};
  kernel.block = launch.block.x;
  kernel.bytes = kernel.compulsory_bytes = 2 * kMatrixBytes;
  kernel.predicted_us = 2.5;
  return kernel;
}

}  // namespace

std::string sample_source() {
  return R"(extern "C" __global__ void k00_scale_bias_relu(const float* x, const float* bias, float* y,
                                                float factor) {
  const int column = threadIdx.x;
  const int at = blockIdx.x * blockDim.x + column;
  const float value = factor * x[at] + bias[column];
  y[at] = value > 0.0f ? value : 0.0f;
}

extern "C" __global__ void k01_row_sum(const float* y, float* partial, float* sums) {
  float sum = y[blockIdx.x * 64 + threadIdx.x] + y[blockIdx.x * 64 + 32 + threadIdx.x];
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffff, sum, offset);
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = sum;
    sums[blockIdx.x] = partial[blockIdx.x];
  }
}
)";
}

SampleBundle make_sample(const std::string& name, runtime::ImageKind kind,
                         std::vector<std::byte> image) {
  SampleBundle sample;
  sample.image = std::move(image);
  for (int column = 0; column < kSampleColumns; ++column) {
    sample.bias.push_back(0.25F * static_cast<float>(column) - 8.0F);
  }
  BundleContents& contents = sample.contents;
  contents.manifest.name = name;
  contents.manifest.tool_version = "0.1.0";
  contents.manifest.nvrtc_version = "13.0";
  contents.manifest.model_hash = "0123";
  contents.manifest.flags = {"--fusion", "stitch"};
  contents.manifest.nodes = 4;
  contents.program.inputs = {
      {"x*/ \"in\"", ElementType::kFloat32, {kSampleRows, kSampleColumns}, kMatrixBytes}};
  contents.program.outputs = {
      {"y", ElementType::kFloat32, {kSampleRows, kSampleColumns}, kMatrixBytes},
      {"row.sums", ElementType::kFloat32, {kSampleRows}, kSumBytes}};
  contents.weights = {{std::as_bytes(std::span(sample.bias)), {}}};
  contents.program.weights_segments = {{0, kRowBytes}};
  contents.program.weights_bytes = kRowBytes;
  contents.sources = {{"sample.cu", sample_source()}};
  for (const std::uint32_t architecture : {80U, 90U}) {
    runtime::ArchitectureProgram program;
    program.architecture = architecture;
    program.unit_count = 1;
    program.workspace_bytes = 512;
    program.items = {{{scale_launch()}, {}}, {{sum_launch()}, {}}};
    contents.program.architectures.push_back(program);
    contents.images.push_back({architecture, {{kind, 0, 1, sample.image}}});
    contents.plans.push_back({architecture, "plan of the sample\n"});
    ManifestArchitecture entry;
    entry.architecture = architecture;
    entry.target = "test device";
    entry.kernels = {kernel_entry(scale_launch()), kernel_entry(sum_launch())};
    contents.manifest.architectures.push_back(entry);
  }
  return sample;
}

SampleResult sample_result(const std::vector<float>& x, const std::vector<float>& bias) {
  SampleResult result;
  for (std::size_t row = 0; row < kSampleRows; ++row) {
    float sum = 0;
    for (std::size_t column = 0; column < kSampleColumns; ++column) {
      const float value = 2.0F * x[row * kSampleColumns + column] + bias[column];
      result.y.push_back(std::max(value, 0.0F));
      sum += result.y.back();
    }
    result.sums.push_back(sum);
  }
  return result;
}

}  // namespace stitch
