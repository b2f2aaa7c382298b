#include "emit_cuda/compile/compile_kernels.h"

#include <filesystem>
#include <optional>

#include "graph/error.h"
#include "support/catch.h"

using namespace stitch;

namespace {

KernelText scale_kernel(const std::string& name, const std::string& parameter, int factor) {
  return {name, "#include \"factor.cuh\"\nconstexpr int kFactor = " + std::to_string(factor) +
                    ";\nextern \"C\" __global__ void " + name + "(float* " + parameter + ") {\n  " +
                    parameter + "[threadIdx.x] *= times(kFactor);\n}\n"};
}

CompileOptions options_for(std::vector<std::string> architectures) {
  CompileOptions options;
  options.architectures = std::move(architectures);
  options.device_files = {
      {"factor.cuh", "#pragma once\n__device__ float times(int x) { return 2.0f * x; }\n"}};
  return options;
}

// NVRTC, or nothing (with a message) where this machine has none.
std::optional<Nvrtc> nvrtc_here() {
  try {
    return Nvrtc::open(default_nvrtc_location());
  } catch (const DeviceError& error) {
    WARN("skipped: " << error.what());
    return std::nullopt;
  }
}

}  // namespace

TEST_CASE("kernels compile for several architectures and equal ones share a function") {
  const auto nvrtc = nvrtc_here();
  if (!nvrtc) return;
  const std::vector<KernelText> kernels = {scale_kernel("a", "x", 3), scale_kernel("b", "y", 3),
                                           scale_kernel("c", "x", 5)};
  const CompiledKernels compiled =
      compile_kernels(kernels, *nvrtc, options_for({"sm_75", "sm_80"}));
  CHECK(compiled.function_of ==
        std::map<std::string, std::string>{{"a", "a"}, {"b", "a"}, {"c", "c"}});
  REQUIRE(compiled.architectures.size() == 2);
  for (const ArchitectureCubins& architecture : compiled.architectures) {
    CHECK(architecture.resources.size() == 2);
    CHECK(architecture.resources.at("a").registers > 0);
    CHECK(architecture.resources.at("a").code_bytes > 0);
    CHECK(architecture.resources.at("c").spill_bytes == 0);
  }
}

TEST_CASE("units that an earlier call compiled are taken from it") {
  const auto nvrtc = nvrtc_here();
  if (!nvrtc) return;
  std::vector<KernelText> kernels;
  for (int i = 0; i < 5; ++i) kernels.push_back(scale_kernel("k" + std::to_string(i), "x", 3 + i));
  CompileOptions options = options_for({"sm_80"});
  CompiledKernels first = compile_kernels(kernels, *nvrtc, options);
  const std::vector<CubinUnit> known = first.architectures[0].units;
  REQUIRE(known.size() == 2);
  // Marks what is not compiled again.
  first.architectures[0].resources.at("k0").registers = 1000;
  first.architectures[0].resources.at("k4").registers = 1000;
  kernels[4] = scale_kernel("k4", "x", 11);
  options.earlier = &first;
  int compiled = 0;
  options.progress = [&](int, int) { ++compiled; };
  const CompiledKernels second = compile_kernels(kernels, *nvrtc, options);
  CHECK(compiled == 1);
  CHECK(second.architectures[0].units[0].cubin == known[0].cubin);
  CHECK(second.architectures[0].units[1].cubin != known[1].cubin);
  CHECK(second.architectures[0].resources.at("k0").registers == 1000);
  CHECK(second.architectures[0].resources.at("k4").registers < 1000);
}

TEST_CASE("registers that do not fit are reported as spills") {
  const auto nvrtc = nvrtc_here();
  if (!nvrtc) return;
  const KernelText greedy = {
      "greedy",
      "extern \"C\" __global__ void __launch_bounds__(1024, 2) greedy(float* x) {\n"
      "  float v[80];\n#pragma unroll\n  for (int i = 0; i < 80; ++i) v[i] = x[i * 1024];\n"
      "  __syncthreads();\n#pragma unroll\n"
      "  for (int i = 0; i < 80; ++i) x[i * 1024 + v[79 - i] * 3.0f < 0 ? 1 : 0] = v[i];\n}\n"};
  const CompiledKernels compiled = compile_kernels({greedy}, *nvrtc, options_for({"sm_80"}));
  CHECK(compiled.architectures[0].resources.at("greedy").registers <= 32);
  CHECK(compiled.architectures[0].resources.at("greedy").spill_bytes > 0);
}

TEST_CASE("the number of jobs does not change a byte") {
  const auto nvrtc = nvrtc_here();
  if (!nvrtc) return;
  std::vector<KernelText> kernels;
  for (int i = 0; i < 9; ++i) kernels.push_back(scale_kernel("k" + std::to_string(i), "x", i + 2));
  CompileOptions options = options_for({"sm_80"});
  const CompiledKernels serial = compile_kernels(kernels, *nvrtc, options);
  options.jobs = 4;
  const CompiledKernels parallel = compile_kernels(kernels, *nvrtc, options);
  REQUIRE(serial.architectures[0].units.size() == parallel.architectures[0].units.size());
  for (size_t i = 0; i < serial.architectures[0].units.size(); ++i)
    CHECK(serial.architectures[0].units[i].cubin == parallel.architectures[0].units[i].cubin);
}

TEST_CASE("a second run takes its units from the cache") {
  const auto nvrtc = nvrtc_here();
  if (!nvrtc) return;
  CompileOptions options = options_for({"sm_80"});
  options.cache = std::filesystem::path(STITCH_BINARY_DIR) / "cubin_cache_test";
  std::filesystem::remove_all(options.cache);
  const std::vector<KernelText> kernels = {scale_kernel("a", "x", 3), scale_kernel("c", "x", 5)};
  const CompiledKernels cold = compile_kernels(kernels, *nvrtc, options);
  const CompiledKernels warm = compile_kernels(kernels, *nvrtc, options);
  CHECK(cold.cached_units == 0);
  CHECK(warm.cached_units == 2);
  CHECK(warm.architectures[0].units[1].cubin == cold.architectures[0].units[1].cubin);
}

TEST_CASE("an error shows the log and the numbered source") {
  const auto nvrtc = nvrtc_here();
  if (!nvrtc) return;
  const KernelText broken = {"broken", "extern \"C\" __global__ void broken() {\n  nonsense;\n}\n"};
  try {
    compile_kernels({broken}, *nvrtc, options_for({"sm_80"}));
    FAIL("it compiled");
  } catch (const DeviceError& error) {
    const std::string message = error.what();
    CHECK(message.find("broken.cu(2): error: identifier \"nonsense\" is undefined") !=
          std::string::npos);
    CHECK(message.find("    2 |   nonsense;") != std::string::npos);
  }
}

TEST_CASE("an architecture that NVRTC does not know is named with those it knows") {
  const auto nvrtc = nvrtc_here();
  if (!nvrtc) return;
  CHECK_THROWS_WITH(compile_kernels({}, *nvrtc, options_for({"sm_20"})),
                    Catch::StartsWith("NVRTC " + nvrtc->version() + " cannot compile for sm_20"));
}

TEST_CASE("what is missing of NVRTC is said with where it was looked for") {
  NvrtcLocation nowhere;
  nowhere.library_dirs = {"/nonexistent/lib64"};
  try {
    Nvrtc::open(nowhere);
    FAIL("it opened without headers");
  } catch (const DeviceError& error) {
    // Where the system loader knows a libnvrtc, the headers are what is missing.
    const std::string message = error.what();
    if (message.find("cannot open libnvrtc") == 0) {
      CHECK(message.find("note: looked in /nonexistent/lib64") != std::string::npos);
      CHECK(message.find("note: looked where the system loader looks") != std::string::npos);
    } else {
      CHECK(message ==
            "cannot find the CUDA header cuda_fp16.h\nhelp: name the folder of a CUDA toolkit with "
            "--cuda");
    }
  }
}
