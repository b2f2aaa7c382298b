// Emitted kernels under NVRTC: every architecture, no spills, the registers that the plan assumed.
#include <optional>

#include "emit_cuda/compile/compile_kernels.h"
#include "emit_cuda/device_files.h"
#include "emit_cuda/planned_kernels.h"
#include "graph/error.h"
#include "graph/text_form.h"
#include "support/catch.h"

using namespace stitch;
using namespace stitch::test;

namespace {

std::optional<Nvrtc> nvrtc_here() {
  try {
    return Nvrtc::open(default_nvrtc_location());
  } catch (const DeviceError& error) {
    WARN("skipped: " << error.what());
    return std::nullopt;
  }
}

CompiledKernels compiled(const std::vector<KernelSource>& sources, const Nvrtc& nvrtc,
                         std::vector<std::string> architectures = {"sm_75", "sm_80", "sm_90"}) {
  CompileOptions options;
  options.architectures = std::move(architectures);
  for (const DeviceFile& file : device_files()) {
    options.device_files.push_back({std::string(file.name), std::string(file.text)});
  }
  std::vector<KernelText> texts;
  for (const KernelSource& source : sources) texts.push_back({source.name, source.text});
  return compile_kernels(texts, nvrtc, options);
}

}  // namespace

TEST_CASE("rows kept in registers compile without spills for every architecture") {
  const std::optional<Nvrtc> nvrtc = nvrtc_here();
  if (!nvrtc) return;
  const std::vector<KernelSource> sources = emitted(R"(graph "softmax" {
  input %0 "scores" : f32[4096,1024]
  %1 = reduce(%0) {kind=max, axes=[1]}
  %2 = broadcast(%1) {axes=[0]} : f32[4096,1024]
  %3 = sub(%0, %2)
  %4 = exp(%3)
  %5 = reduce(%4) {kind=sum, axes=[1]}
  %6 = broadcast(%5) {axes=[0]} : f32[4096,1024]
  %7 = div(%4, %6)
  output "probs" %7
})",
                                                    FusionMode::kStitch);
  REQUIRE(sources.size() == 1);
  const CompiledKernels kernels = compiled(sources, *nvrtc);
  for (const ArchitectureCubins& architecture : kernels.architectures) {
    const KernelResources& resources = architecture.resources.at(sources.front().name);
    INFO(architecture.architecture << "\n" << sources.front().text);
    CHECK(resources.spill_bytes == 0);
    // 32 elements of the row and at most 32 more (exemplars: 54 in all).
    CHECK(resources.registers <= 64);
  }
}

TEST_CASE("rows that clusters share compile without spills where there are clusters") {
  const std::optional<Nvrtc> nvrtc = nvrtc_here();
  if (!nvrtc) return;
  for (const std::string type : {"f32", "f64"}) {
    const Graph graph = parse_graph(R"(graph "sums" {
  input %0 "x" : )" + type + R"([4,32768]
  %1 = reduce(%0) {kind=max, axes=[1]}
  %2 = broadcast(%1) {axes=[0]} : )" +
                                    type + R"([4,32768]
  %3 = sub(%0, %2)
  %4 = mul(%3, %3)
  %5 = reduce(%4) {kind=sum, axes=[1]}
  output "y" %5
})");
    PlanOptions options;
    options.device = "h100";
    const Plan plan = make_plan(graph, options);
    const std::vector<KernelSource> sources = emit_kernels(plan);
    REQUIRE(sources.size() == 1);
    INFO(sources.front().text);
    CHECK(sources.front().cluster > 1);
    const CompiledKernels kernels = compiled(sources, *nvrtc, {"sm_90", "sm_100"});
    for (const ArchitectureCubins& architecture : kernels.architectures) {
      const KernelResources& resources = architecture.resources.at(sources.front().name);
      CHECK(resources.spill_bytes == 0);
      CHECK(resources.registers <= 64);
    }
  }
}

TEST_CASE("every element type compiles") {
  const std::optional<Nvrtc> nvrtc = nvrtc_here();
  if (!nvrtc) return;
  for (const char* type :
       {"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64"}) {
    const std::string t = type;
    const std::vector<KernelSource> sources =
        emitted("graph \"g\" {\n  input %0 \"x\" : " + t + "[64,96]\n  input %1 \"y\" : " + t +
                    "[64,96]\n  %a = add(%0, %1)\n  %b = mul(%a, %1)\n  %c = max(%b, %0)\n"
                    "  %d = div(%c, %1)\n  %s = reduce(%d) {kind=sum, axes=[1]}\n"
                    "  %m = argreduce(%c) {kind=max, axis=0, last=false}\n"
                    "  %h = cast(%d) {saturate=true} : f16[64,96]\n"
                    "  %i = cast(%d) {saturate=true} : i64[64,96]\n"
                    "  output \"s\" %s\n  output \"m\" %m\n  output \"h\" %h\n  output \"i\" %i\n}",
                FusionMode::kStitch);
    const CompiledKernels kernels = compiled(sources, *nvrtc);
    CHECK(kernels.architectures.size() == 3);
  }
}
