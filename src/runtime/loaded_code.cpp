#include "runtime/loaded_code.h"

#include <map>

#include "runtime/launch.h"
#include "runtime/launcher_error.h"

namespace STITCH_RUNTIME_NAMESPACE {
namespace {

// A kernel may use this much dynamic shared memory, and this large a cluster, without asking
// (CUDA C++ Programming Guide, "Shared Memory" and "Thread Block Clusters").
constexpr std::uint32_t kSharedBytesWithoutAsking = 48 * 1024;
constexpr std::uint32_t kPortableClusterSize = 8;

}  // namespace

LoadedCode::LoadedCode(const Driver& driver, const ImageChoice& choice, const unsigned char* images)
    : driver_(driver), architecture_(architecture_name(choice.program->architecture)) {
  module_of_unit_.resize(choice.program->unit_count);
  std::map<std::uint64_t, CUmodule> loaded;  // by offset: one image may serve several units
  try {
    for (const Image& image : choice.program->images) {
      if (image.kind != choice.kind || module_of_unit_[image.unit] != nullptr) continue;
      CUmodule& module = loaded[image.offset];
      if (module == nullptr) {
        driver_.check(driver_.module_load_data(&module, images + image.offset), "cuModuleLoadData",
                      "loading unit " + std::to_string(image.unit) + " of " + architecture_);
        modules_.push_back(module);
      }
      module_of_unit_[image.unit] = module;
    }
  } catch (...) {
    unload();
    throw;
  }
}

LoadedCode::~LoadedCode() { unload(); }

CUfunction LoadedCode::load_function(const KernelLaunch& launch) const {
  const std::string what = "loading kernel '" + launch.function + "' of " + architecture_;
  CUfunction function = nullptr;
  driver_.check(
      driver_.module_get_function(&function, module_of_unit_[launch.unit], launch.function.c_str()),
      "cuModuleGetFunction", what);
  if (launch.dynamic_shared_bytes > kSharedBytesWithoutAsking) {
    driver_.check(
        driver_.function_set_attribute(function, kMaxDynamicSharedBytes,
                                       static_cast<int>(launch.dynamic_shared_bytes)),
        "cuFuncSetAttribute",
        what + " with " + std::to_string(launch.dynamic_shared_bytes) + " bytes of shared memory");
  }
  if (launch.cluster_size > kPortableClusterSize) {
    driver_.check(driver_.function_set_attribute(function, kNonPortableClusterAllowed, 1),
                  "cuFuncSetAttribute",
                  what + " with clusters of " + std::to_string(launch.cluster_size));
  }
  // Under lazy loading a function is brought to the device at its first use; drivers before 12.4
  // have no call for that, there the query of an attribute does it.
  int registers = 0;
  if (driver_.function_load != nullptr) {
    driver_.check(driver_.function_load(function), "cuFuncLoad", what);
  } else {
    driver_.check(driver_.function_get_attribute(&registers, kRegisterCount, function),
                  "cuFuncGetAttribute", what);
  }
  return function;
}

void LoadedCode::unload() {
  for (const CUmodule module : modules_) driver_.module_unload(module);
  modules_.clear();
}

std::uint64_t coresident_blocks(const Driver& driver, const Device& device,
                                const KernelLaunch& launch, CUfunction function) {
  const std::string what = "asking how many blocks of kernel '" + launch.function + "' fit";
  if (launch.cluster_size > 1 && driver.occupancy_clusters != nullptr) {
    LaunchAttributes attributes(launch);
    const LaunchConfig config = attributes.config(launch, nullptr);
    int clusters = 0;
    driver.check(driver.occupancy_clusters(&clusters, function, &config),
                 "cuOccupancyMaxActiveClusters", what);
    return static_cast<std::uint64_t>(clusters) * launch.cluster_size;
  }
  int blocks = 0;
  const auto threads = static_cast<int>(launch.block.x * launch.block.y * launch.block.z);
  driver.check(driver.occupancy(&blocks, function, threads, launch.dynamic_shared_bytes),
               "cuOccupancyMaxActiveBlocksPerMultiprocessor", what);
  return static_cast<std::uint64_t>(blocks) * static_cast<std::uint64_t>(device.multiprocessors);
}

}  // namespace STITCH_RUNTIME_NAMESPACE
