// The measuring kernels as NVRTC compiles them.
#include "calibrate/kernel_texts.h"
#include "emit_cuda/compile/cubin_resources.h"
#include "emit_cuda/compile/nvrtc.h"
#include "emit_cuda/device_files.h"
#include "support/catch.h"

using namespace stitch;

TEST_CASE("the measuring kernels compile for every architecture and spill nothing") {
  const Nvrtc nvrtc = Nvrtc::open(default_nvrtc_location());
  NvrtcInput input;
  for (const DeviceFile& file : device_files()) {
    input.headers.push_back({std::string(file.name), std::string(file.text)});
  }
  for (const char* const architecture : {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100"}) {
    input.architecture = architecture;
    size_t kernels = 0;
    for (const MeasuringText& text : measuring_texts()) {
      INFO(architecture << " " << text.name);
      input.name = text.name;
      input.text = text.text;
      const NvrtcOutput output = nvrtc.compile(input);
      std::map<std::string, KernelResources> resources = read_cubin_resources(output.cubin);
      read_spills(output.log, resources);
      for (const auto& [name, kernel] : resources) {
        INFO(name);
        CHECK(kernel.spill_bytes == 0);
        CHECK(kernel.stack_bytes == 0);
        // All blocks of a measurement are resident at once: at most 1024 threads with what many
        // need, and all that fit with what copies need.
        CHECK(kernel.registers <= (name == "calibrate_copy" ? 32 : 64));
        ++kernels;
      }
    }
    CHECK(kernels == 14);
  }
}
