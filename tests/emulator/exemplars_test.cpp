// The exemplar kernels, which the emitter takes as its model, run without reports at full size, and
// give the same bits with and without checks, in opposite schedules.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>

#include "emulated_device.h"
#include "support/catch.h"

namespace stitch::test {
namespace {

namespace fs = std::filesystem;

enum class Kind { kFloat, kHalf, kInt8, kIndex, kOutput, kScratch, kCounter };

struct Argument {
  Kind kind;
  std::size_t count;
  std::size_t element_bytes;
};

Argument floats(std::size_t count) { return {Kind::kFloat, count, 4}; }
Argument halves(std::size_t count) { return {Kind::kHalf, count, 2}; }
Argument bytes(std::size_t count) { return {Kind::kInt8, count, 1}; }
Argument indices(std::size_t count) { return {Kind::kIndex, count, 8}; }
Argument output(std::size_t count, std::size_t element_bytes = 4) {
  return {Kind::kOutput, count, element_bytes};
}
Argument scratch(std::size_t count) { return {Kind::kScratch, count, 4}; }
Argument counters(std::size_t count) { return {Kind::kCounter, count, 4}; }

struct Exemplar {
  const char* file;
  const char* kernel;
  Shape shape;
  std::vector<Argument> arguments;
};

std::vector<Exemplar> exemplars() {
  constexpr std::size_t kHeads = 4 * 128 * 768, kGroup = 64 * 40960, kVocabulary = 64 * 32768;
  constexpr std::size_t kBatchNorm = 32 * 64 * 784;
  return {
      {"a_softmax",
       "encoder_layer0_attention_probs",
       {512, 256},
       {floats(4096 * 1024), output(4096 * 1024)}},
      {"b_layer_norm_gelu",
       "encoder_layer0_output_norm_gelu",
       {128, 256, 64},
       {floats(128 * 1024), floats(128 * 1024), floats(1024), floats(1024), output(128 * 1024),
        output(128 * 1024)}},
      {"c_masked_softmax",
       "encoder_layer0_masked_attention_probs",
       {48, 256, 0, 1, false, 8},
       {halves(12288 * 128), halves(8 * 128), output(12288 * 128, 2)}},
      {"d_group_norm_cluster",
       "down_block0_resnet0_norm1_silu",
       {256, 512, 136, 4},
       {floats(kGroup), floats(320), floats(320), output(kGroup)}},
      {"d_group_norm_shared",
       "down_block0_resnet0_norm1_silu",
       {64, 1024, 163840 + 256},
       {floats(kGroup), floats(320), floats(320), output(kGroup)}},
      {"e_log_softmax_loss_cluster",
       "lm_head_loss",
       {256, 512, 136, 4},
       {floats(kVocabulary), indices(64), output(kVocabulary), output(64)}},
      {"e_log_softmax_loss_grid",
       "lm_head_loss",
       {192, 512, 128, 1, true},
       {floats(kVocabulary), indices(64), output(kVocabulary), output(64), scratch(384),
        counters(512)}},
      {"g_row_reduce_split",
       "spectrum_centre",
       {128, 1024, 128, 1, true},
       {floats(64 * 30000), output(64 * 30000), scratch(128), counters(512)}},
      {"h_column_reduce",
       "dense_bias_gradient",
       {8, 256, 4100, 1, false, 64},
       {floats(8192 * 1024), output(1024), scratch(64 * 1024), counters(64)}},
      {"i_layer_norm_backward",
       "encoder_layer0_norm_gradient",
       {256, 256, 1024, 1, true},
       {floats(8192 * 1024), floats(8192 * 1024), floats(8192), floats(1024), output(8192 * 1024),
        output(1024), output(1024), scratch(256 * 2 * 1024), counters(1)}},
      {"j_split_heads",
       "encoder_layer0_split_heads",
       {16, 384, 0, 1, false, 3, 4},
       {halves(3 * kHeads), halves(3 * 768), output(kHeads, 2), output(kHeads, 2),
        output(kHeads, 2)}},
      {"k_power_broadcast_add",
       "decay_power_add",
       {128, 256, 128},
       {floats(4096), floats(4096 * 256), output(4096 * 256)}},
      {"l_rms_norm_rope",
       "layer0_query_norm_rope",
       {512, 256},
       {halves(32768 * 128), halves(128), floats(1024 * 64), floats(1024 * 64),
        output(32768 * 128, 2)}},
      {"n_batch_norm_stitched",
       "layer1_batch_norm_relu",
       {128, 1024, 256, 1, true},
       {floats(kBatchNorm), floats(64), floats(64), floats(64), floats(64), output(kBatchNorm),
        output(64), output(64), scratch(256), scratch(128), counters(1)}},
      {"o_prompt_embedding",
       "prompt_embedding",
       {32, 192, 0, 1, false, 8},
       {floats(20 * 768), floats(2000 * 768), indices(8 * 100), output(8 * 128 * 768)}},
      {"p_int8_residual",
       "layer1_add_relu_quantized",
       {196, 256},
       {bytes(16 * 64 * 784), floats(64), bytes(64), bytes(16 * 64 * 784),
        output(16 * 64 * 784, 1)}},
      {"q_key_transpose",
       "encoder_layer0_key_transposed",
       {2, 256, 8192, 1, false, 12, 4},
       {halves(kHeads), halves(768), output(kHeads, 2)}},
  };
}

// Values of moderate size: the same in every run.
std::vector<unsigned char> contents(const Argument& argument, std::uint64_t seed) {
  std::vector<unsigned char> data(argument.count * argument.element_bytes);
  std::uint64_t state = seed * 0x9e3779b97f4a7c15ull + 1;
  for (std::size_t i = 0; i < argument.count; ++i) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    unsigned char* const to = data.data() + i * argument.element_bytes;
    const float value = 0.25f + static_cast<float>(state >> 40) / (1 << 24);
    const auto half = static_cast<std::uint16_t>(0x3000u + (state >> 53) + (state >> 48 & 0x8000u));
    const std::int64_t index = static_cast<std::int64_t>(state >> 40) % 1000;
    switch (argument.kind) {
      case Kind::kFloat:
        std::memcpy(to, &value, 4);
        break;
      case Kind::kHalf:
        std::memcpy(to, &half, 2);
        break;
      case Kind::kInt8:
        *to = static_cast<unsigned char>(state >> 56);
        break;
      case Kind::kIndex:
        std::memcpy(to, &index, 8);
        break;
      case Kind::kOutput:
      case Kind::kScratch:
      case Kind::kCounter:
        break;
    }
  }
  return data;
}

// Runs an exemplar and returns the bytes of its outputs.
std::vector<std::vector<unsigned char>> run(const LoadedKernels& kernels,
                                            const Exemplar& exemplar) {
  std::vector<std::unique_ptr<DeviceBuffer>> buffers;
  std::vector<CUdeviceptr> pointers;
  for (const Argument& argument : exemplar.arguments) {
    const std::size_t size = argument.count * argument.element_bytes;
    buffers.push_back(std::make_unique<DeviceBuffer>(size));
    pointers.push_back(buffers.back()->pointer());
    if (argument.kind == Kind::kOutput || argument.kind == Kind::kScratch) continue;
    const auto data = contents(argument, pointers.size());
    REQUIRE_DRIVER(cuMemcpyHtoD(pointers.back(), data.data(), size));
  }
  std::vector<void*> arguments;
  for (CUdeviceptr& pointer : pointers) arguments.push_back(&pointer);
  if (exemplar.shape.shared_bytes > 48 << 10)
    REQUIRE_DRIVER(cuFuncSetAttribute(kernels.function(exemplar.kernel),
                                      CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                      static_cast<int>(exemplar.shape.shared_bytes)));
  REQUIRE_DRIVER(kernels.launch(exemplar.kernel, exemplar.shape, arguments));
  std::vector<std::vector<unsigned char>> outputs;
  for (std::size_t i = 0; i < exemplar.arguments.size(); ++i)
    if (exemplar.arguments[i].kind == Kind::kOutput)
      outputs.push_back(buffers[i]->read<unsigned char>());
  return outputs;
}

}  // namespace

TEST_CASE("the exemplar kernels run clean and do not depend on the schedule") {
  const fs::path folder = fs::path(STITCH_SHARED_DIR) / "design/exemplars/kernels";
  if (!fs::exists(folder)) {
    std::cout << "skipped: the exemplar kernels are not in " << folder << "\n";
    return;
  }
  for (const Exemplar& exemplar : exemplars()) {
    INFO(exemplar.file);
    std::ostringstream text;
    text << std::ifstream(folder / (std::string(exemplar.file) + ".cu")).rdbuf();
    const LoadedKernels kernels(
        std::vector<SourceText>{{std::string(exemplar.file) + ".cu", text.str()}});
    start({false, false, STITCH_EMULATOR_ASCENDING, 0, 0});
    const auto expected = run(kernels, exemplar);
    start({true, false, STITCH_EMULATOR_DESCENDING, 0, 0});
    const auto found = run(kernels, exemplar);
    for (const ReportView& report : reports()) UNSCOPED_INFO(report.text);
    CHECK(reports().empty());
    CHECK(found == expected);
  }
}

}  // namespace stitch::test
