#include "mock_driver.h"

#include <cstdlib>
#include <cstring>
#include <memory>

#include "runtime/driver.h"

// Device memory is host memory; a module is the text of its image; a function is its name.
namespace stitch {
namespace {

using namespace runtime;

std::unique_ptr<MockState>& state_slot() {
  static auto slot = std::make_unique<MockState>();
  return slot;
}

MockState& state() { return *state_slot(); }

thread_local std::vector<CUcontext> contexts_of_thread;
thread_local bool capturing = false;

CUcontext the_context() { return reinterpret_cast<CUcontext>(0x1000); }

// The result of a call: success unless it was told to fail.
CUresult result_of(const char* call) {
  return state().failing_call == call ? state().failing_code : kCudaSuccess;
}

bool has_context() {
  if (!contexts_of_thread.empty()) return true;
  const std::lock_guard lock(state().mutex);
  ++state().current_calls_without_context;
  return false;
}

}  // namespace
}  // namespace stitch

#define MOCK extern "C" __attribute__((visibility("default"))) int

using namespace stitch;
using namespace stitch::runtime;

extern "C" __attribute__((visibility("default"))) MockState* mock_state() { return &state(); }
extern "C" __attribute__((visibility("default"))) void mock_reset() {
  state_slot() = std::make_unique<MockState>();
}

MOCK cuInit(unsigned) { return result_of("cuInit"); }

MOCK cuGetErrorName(int code, const char** name) {
  *name = code == kCudaErrorOutOfMemory ? "CUDA_ERROR_OUT_OF_MEMORY" : nullptr;
  return *name == nullptr ? 1 : 0;
}

MOCK cuDeviceGetCount(int* count) {
  *count = 1;
  return result_of("cuDeviceGetCount");
}

MOCK cuDeviceGet(CUdevice* device, int ordinal) {
  *device = ordinal;
  return result_of("cuDeviceGet");
}

MOCK cuDeviceGetName(char* name, int capacity, CUdevice) {
  std::strncpy(name, state().device_name.c_str(), static_cast<std::size_t>(capacity));
  return 0;
}

MOCK cuDeviceGetAttribute(int* value, int which, CUdevice) {
  switch (which) {
    case kMultiprocessorCount:
      *value = state().multiprocessors;
      return 0;
    case kComputeCapabilityMajor:
      *value = state().major;
      return 0;
    case kComputeCapabilityMinor:
      *value = state().minor;
      return 0;
  }
  return 1;
}

MOCK cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
  *context = the_context();
  const std::lock_guard lock(state().mutex);
  ++state().live_contexts;
  return 0;
}

MOCK cuDevicePrimaryCtxRelease_v2(CUdevice) {
  const std::lock_guard lock(state().mutex);
  --state().live_contexts;
  return 0;
}

MOCK cuCtxGetCurrent(CUcontext* context) {
  *context = contexts_of_thread.empty() ? nullptr : contexts_of_thread.back();
  return 0;
}

MOCK cuCtxPushCurrent_v2(CUcontext context) {
  contexts_of_thread.push_back(context);
  return 0;
}

MOCK cuCtxPopCurrent_v2(CUcontext* context) {
  *context = contexts_of_thread.back();
  contexts_of_thread.pop_back();
  return 0;
}

MOCK cuModuleLoadData(CUmodule* module, const void* image) {
  if (!has_context()) return 201;
  if (const int code = result_of("cuModuleLoadData")) return code;
  const std::lock_guard lock(state().mutex);
  state().loaded_images.emplace_back(static_cast<const char*>(image));
  ++state().live_modules;
  *module = reinterpret_cast<CUmodule>(state().loaded_images.size());
  return 0;
}

MOCK cuModuleUnload(CUmodule) {
  const std::lock_guard lock(state().mutex);
  --state().live_modules;
  return 0;
}

MOCK cuModuleGetFunction(CUfunction* function, CUmodule, const char* name) {
  if (const int code = result_of("cuModuleGetFunction")) return code;
  *function = reinterpret_cast<CUfunction>(const_cast<char*>(name));
  return 0;
}

MOCK cuFuncGetAttribute(int* value, int, CUfunction) {
  *value = 32;
  return 0;
}

MOCK cuFuncSetAttribute(CUfunction, int, int) { return result_of("cuFuncSetAttribute"); }

MOCK cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction, int, std::size_t) {
  *blocks = state().blocks_per_multiprocessor;
  return 0;
}

#ifndef MOCK_WITHOUT_LAUNCH
MOCK cuLaunchKernelEx(const LaunchConfig* config, CUfunction function, void** arguments, void**) {
  if (!has_context()) return 201;
  if (const int code = result_of("cuLaunchKernelEx")) return code;
  MockLaunch launch;
  launch.kernel = reinterpret_cast<const char*>(function);
  launch.grid = config->grid_x;
  launch.block = config->block_x;
  launch.shared_bytes = config->shared_bytes;
  for (unsigned i = 0; i < config->attribute_count; ++i) {
    if (config->attributes[i].id == kCooperative) {
      launch.cooperative = config->attributes[i].value.cooperative != 0;
    } else {
      launch.cluster = config->attributes[i].value.cluster.x;
    }
  }
  std::memcpy(&launch.first_argument, arguments[0], sizeof(launch.first_argument));
  const std::lock_guard lock(state().mutex);
  if (capturing) ++state().captured_nodes;
  state().launches.push_back(launch);
  return 0;
}
#endif

MOCK cuMemsetD8Async(CUdeviceptr, unsigned char, std::size_t, CUstream) {
  if (!has_context()) return 201;
  const std::lock_guard lock(state().mutex);
  if (capturing) ++state().captured_nodes;
  ++state().memsets;
  return 0;
}

MOCK cuMemAlloc_v2(CUdeviceptr* address, std::size_t bytes) {
  if (!has_context()) return 201;
  if (const int code = result_of("cuMemAlloc")) return code;
  *address = reinterpret_cast<std::uintptr_t>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  const std::lock_guard lock(state().mutex);
  ++state().live_allocations;
  return 0;
}

MOCK cuMemFree_v2(CUdeviceptr address) {
  std::free(reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)));
  const std::lock_guard lock(state().mutex);
  --state().live_allocations;
  return 0;
}

MOCK cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, std::size_t bytes) {
  if (const int code = result_of("cuMemcpyHtoD")) return code;
  std::memcpy(reinterpret_cast<void*>(static_cast<std::uintptr_t>(to)), from, bytes);
  return 0;
}

MOCK cuStreamCreate(CUstream* stream, unsigned) {
  *stream = reinterpret_cast<CUstream>(0x2000);
  return 0;
}

MOCK cuStreamDestroy_v2(CUstream) { return 0; }

MOCK cuStreamSynchronize(CUstream) { return 0; }

MOCK cuStreamBeginCapture_v2(CUstream, int) {
  capturing = true;
  const std::lock_guard lock(state().mutex);
  state().captured_nodes = 0;
  return result_of("cuStreamBeginCapture");
}

MOCK cuStreamEndCapture(CUstream, CUgraph* graph) {
  capturing = false;
  *graph = reinterpret_cast<CUgraph>(0x3000);
  const std::lock_guard lock(state().mutex);
  ++state().live_graphs;
  return 0;
}

MOCK cuGraphGetNodes(CUgraph, CUgraphNode*, std::size_t* count) {
  const std::lock_guard lock(state().mutex);
  *count = state().captures_nothing ? 0 : state().captured_nodes;
  return 0;
}

MOCK cuGraphInstantiateWithFlags(CUgraphExec* executable, CUgraph, unsigned long long) {
  *executable = reinterpret_cast<CUgraphExec>(0x4000);
  const std::lock_guard lock(state().mutex);
  ++state().live_graphs;
  return 0;
}

MOCK cuGraphLaunch(CUgraphExec, CUstream) {
  const std::lock_guard lock(state().mutex);
  ++state().graph_launches;
  return 0;
}

MOCK cuGraphExecDestroy(CUgraphExec) {
  const std::lock_guard lock(state().mutex);
  --state().live_graphs;
  return 0;
}

MOCK cuGraphDestroy(CUgraph) {
  const std::lock_guard lock(state().mutex);
  --state().live_graphs;
  return 0;
}

// No event functions: an on-demand part that this driver lacks.
