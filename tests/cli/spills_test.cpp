// Spilled registers are named, in words and in --json.
#include "spills.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "graph/error.h"
#include "plan_report.h"
#include "planner/cost/launch.h"
#include "support/catch.h"

namespace stitch {

namespace {

// 80 values per thread where launch bounds leave 32 registers.
constexpr const char* kGreedy = R"(
extern "C" __global__ void __launch_bounds__(1024, 2) greedy(float* x) {
  float v[80];
#pragma unroll
  for (int i = 0; i < 80; ++i) v[i] = x[i * 1024];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 80; ++i) x[i * 1024 + v[79 - i] * 3.0f < 0 ? 1 : 0] = v[i];
}
)";
constexpr const char* kModest = R"(
extern "C" __global__ void modest(float* x) { x[threadIdx.x] *= 2.0f; }
)";

// NVRTC, or nothing (with a message) where this machine has none.
std::optional<Nvrtc> nvrtc_here() {
  try {
    return Nvrtc::open(default_nvrtc_location());
  } catch (const DeviceError& error) {
    WARN("skipped: " << error.what());
    return std::nullopt;
  }
}

PlannedArchitecture compiled_architecture(const Nvrtc& nvrtc) {
  PlannedArchitecture planned;
  planned.plan.architecture = "sm_80";
  std::vector<KernelText> texts;
  for (const auto& [name, text] : {std::pair("modest", kModest), std::pair("greedy", kGreedy)}) {
    KernelSource source;
    source.name = name;
    source.text = text;
    planned.kernels.push_back(source);
    texts.push_back({name, text});
  }
  CompileOptions options;
  options.architectures = {"sm_80"};
  planned.compiled = compile_kernels(texts, nvrtc, options);
  return planned;
}

}  // namespace

TEST_CASE("a kernel that spills is named in a note and in the report") {
  const std::optional<Nvrtc> nvrtc = nvrtc_here();
  if (!nvrtc) return;
  CompiledModel model;
  model.architectures.push_back(compiled_architecture(*nvrtc));
  const std::vector<Spill> spills = spills_of(model.architectures.front());
  REQUIRE(spills.size() == 1);
  CHECK(spills[0].kernel == "greedy");
  CHECK(spills[0].registers <= 32);
  CHECK(spills[0].bytes > 0);

  const auto json = nlohmann::json::parse(report_json(model));
  const auto& listed = json.at("architectures").at("sm_80").at("spills");
  REQUIRE(listed.size() == 1);
  CHECK(listed[0].at("kernel") == "greedy");
  CHECK(listed[0].at("bytes") == spills[0].bytes);
}

TEST_CASE("a kernel that spills gets more registers, by fewer blocks at a time") {
  const std::optional<Nvrtc> nvrtc = nvrtc_here();
  if (!nvrtc) return;
  PlannedArchitecture planned = compiled_architecture(*nvrtc);
  planned.device = find_device("a100", "sm_80");
  for (const char* name : {"modest", "greedy"}) {
    Kernel kernel;
    kernel.name = name;
    kernel.block = 256;
    planned.plan.steps.emplace_back(kernel);
  }
  const auto bound = [&](size_t i) {
    return std::get<Kernel>(planned.plan.steps[i]).min_blocks_per_sm;
  };
  REQUIRE(give_registers(planned));
  CHECK(bound(0) == 0);
  CHECK(bound(1) > 0);
  while (give_registers(planned)) CHECK(bound(1) > 0);
  CHECK(bound(1) == 1);  // more than all registers there are none
}

TEST_CASE("the bound leaves a thread what it had and what it spilled") {
  const DeviceModel device = find_device("a100", "sm_80");
  Kernel kernel;
  kernel.block = 256;
  kernel.shared_bytes = 8704;
  // 64 registers and 12 bytes: 67, in units of 8 that is 72; 65536 / (256 * 72) is 3.
  REQUIRE(give_registers(kernel, device, 64, 12));
  CHECK(kernel.min_blocks_per_sm == 3);
  CHECK(kernel.estimate.registers == 67);
  CHECK(kernel.estimate.occupancy == 3 * 256 / 2048.0);
  REQUIRE(give_registers(kernel, device, 80, 4));
  CHECK(kernel.min_blocks_per_sm == 2);
  kernel.cooperative = true;
  CHECK(!give_registers(kernel, device, 80, 4));
}

TEST_CASE("the note of a spill says where and how much") {
  CHECK(spill_text({"k03_softmax", 32, 96}, "sm_75") ==
        "kernel 'k03_softmax' for sm_75 spills 96 bytes per thread to local memory: it keeps more "
        "than its 32 registers hold, and is slower than predicted");
}

}  // namespace stitch
