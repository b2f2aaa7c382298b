#include "emulated_device.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "emulator/host_image.h"
#include "support/catch.h"

namespace stitch::test {
namespace {

namespace fs = std::filesystem;

// One device for the whole test program: an H100, which has clusters.
void initialise() {
  static const bool kDone = [] {
    REQUIRE(stitch_emulator_select_device("sm_90") == 0);
    REQUIRE_DRIVER(cuInit(0));
    CUcontext context = nullptr;
    REQUIRE_DRIVER(cuDevicePrimaryCtxRetain(&context, 0));
    REQUIRE_DRIVER(cuCtxSetCurrent(context));
    return true;
  }();
  REQUIRE(kDone);
}

}  // namespace

void require_success(CUresult result, const char* call) {
  const char* name = nullptr;
  cuGetErrorName(result, &name);
  INFO(call << " returned " << (name != nullptr ? name : "an unknown error"));
  REQUIRE(result == CUDA_SUCCESS);
}

std::vector<SourceText> device_headers() {
  std::vector<fs::path> paths;
  for (const auto& entry :
       fs::directory_iterator(fs::path(STITCH_SOURCE_DIR) / "src/emit_cuda/device"))
    if (entry.path().extension() == ".cuh") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<SourceText> headers;
  for (const fs::path& path : paths) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    headers.push_back({path.filename().string(), text.str()});
  }
  return headers;
}

static HostImageOptions image_options() {
  HostImageOptions options;
  options.device_headers = device_headers();
  options.cuda_include_folder = STITCH_CUDA_INCLUDE_DIR;
  options.cache_folder = fs::path(STITCH_BINARY_DIR) / "host_image_cache";
  options.jobs = 2;
  return options;
}

std::vector<std::byte> build_image(const std::vector<SourceText>& units) {
  return build_host_image(units, image_options());
}

std::vector<std::byte> build_checked_image(const std::vector<SourceText>& units) {
  HostImageOptions options = image_options();
  options.plain = false;
  return build_host_image(units, options);
}

DeviceBuffer::DeviceBuffer(std::size_t bytes) : bytes_(bytes) {
  initialise();
  REQUIRE_DRIVER(cuMemAlloc(&pointer_, bytes));
}

DeviceBuffer::DeviceBuffer(const void* values, std::size_t bytes) : DeviceBuffer(bytes) {
  REQUIRE_DRIVER(cuMemcpyHtoD(pointer_, values, bytes));
}

DeviceBuffer::~DeviceBuffer() { cuMemFree(pointer_); }

void DeviceBuffer::copy_out(void* to) const { REQUIRE_DRIVER(cuMemcpyDtoH(to, pointer_, bytes_)); }

LoadedKernels::LoadedKernels(const std::vector<SourceText>& units)
    : LoadedKernels(build_image(units)) {}

LoadedKernels::LoadedKernels(const std::vector<std::byte>& image) {
  initialise();
  REQUIRE_DRIVER(cuModuleLoadData(&module_, image.data()));
}

LoadedKernels::~LoadedKernels() { cuModuleUnload(module_); }

CUfunction LoadedKernels::function(const char* name) const {
  CUfunction function = nullptr;
  REQUIRE_DRIVER(cuModuleGetFunction(&function, module_, name));
  return function;
}

CUresult LoadedKernels::launch(const char* name, const Shape& shape,
                               std::vector<void*> arguments) const {
  CUfunction const kernel = function(name);
  CUlaunchAttribute attributes[2] = {};
  CUlaunchConfig config = {};
  config.gridDimX = shape.grid;
  config.gridDimY = shape.grid_y;
  config.gridDimZ = shape.grid_z;
  config.blockDimX = shape.block;
  config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = shape.shared_bytes;
  config.attrs = attributes;
  if (shape.cooperative) {
    attributes[config.numAttrs].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attributes[config.numAttrs++].value.cooperative = 1;
  }
  if (shape.cluster > 1) {
    attributes[config.numAttrs].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attributes[config.numAttrs++].value.clusterDim = {shape.cluster, 1, 1};
  }
  return cuLaunchKernelEx(&config, kernel, arguments.data(), nullptr);
}

std::vector<ReportView> reports() {
  std::vector<ReportView> views;
  for (std::size_t i = 0; i < stitch_emulator_report_count(); ++i) {
    stitch_emulator_report_info info = {};
    info.struct_size = sizeof info;
    REQUIRE(stitch_emulator_report(i, &info) == 0);
    views.push_back({info.kind, info.kernel, info.text, info.line, info.other_line, info.block,
                     info.thread, info.other_block, info.other_thread});
  }
  return views;
}

void start(const Mode& mode) {
  initialise();
  stitch_emulator_settings settings = {};
  settings.struct_size = sizeof settings;
  settings.check = mode.check;
  settings.count = mode.count;
  settings.order = mode.order;
  settings.seed = mode.seed;
  settings.host_threads = mode.host_threads;
  REQUIRE(stitch_emulator_configure(&settings) == 0);
  stitch_emulator_clear_reports();
  stitch_emulator_reset_counters();
}

stitch_emulator_kernel_counters counters_of(const std::string& kernel) {
  for (std::size_t i = 0; i < stitch_emulator_kernel_count(); ++i) {
    stitch_emulator_kernel_counters counters = {};
    counters.struct_size = sizeof counters;
    REQUIRE(stitch_emulator_kernel(i, &counters) == 0);
    if (kernel == counters.kernel) return counters;
  }
  FAIL("no counters of kernel " << kernel);
  return {};
}

}  // namespace stitch::test
