// The part of the CUDA driver API that the launcher uses, opened at run time.
//
// Types and constants are declared here so that a bundle builds where no CUDA header is; they are
// those of cuda.h from CUDA 11.8 on (a test compares them with the toolkit's).
#ifndef STITCH_RUNTIME_DRIVER_H_
#define STITCH_RUNTIME_DRIVER_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/namespace.h"

namespace STITCH_RUNTIME_NAMESPACE {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;
using CUgraph = struct CUgraph_st*;
using CUgraphNode = struct CUgraphNode_st*;
using CUgraphExec = struct CUgraphExec_st*;

inline constexpr CUresult kCudaSuccess = 0;
inline constexpr CUresult kCudaErrorOutOfMemory = 2;

enum DeviceAttribute : int {
  kMultiprocessorCount = 16,
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
};

enum FunctionAttribute : int {
  kRegisterCount = 4,
  kMaxDynamicSharedBytes = 8,
  kNonPortableClusterAllowed = 14,
};

enum LaunchAttributeId : int { kCooperative = 2, kClusterDimension = 4 };

struct LaunchAttribute {
  LaunchAttributeId id;
  char padding[4];
  union {
    char bytes[64];
    int cooperative;
    struct {
      unsigned x, y, z;
    } cluster;
  } value;
};

struct LaunchConfig {
  unsigned grid_x, grid_y, grid_z;
  unsigned block_x, block_y, block_z;
  unsigned shared_bytes;
  CUstream stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};

inline constexpr int kCaptureThreadLocal = 1;      // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
inline constexpr unsigned kStreamNonBlocking = 1;  // CU_STREAM_NON_BLOCKING

// X(member, exported symbol, parameters). Creating a model needs all of these.
#define STITCH_DRIVER_REQUIRED(X)                                                                  \
  X(init, "cuInit", (unsigned flags))                                                              \
  X(get_error_name, "cuGetErrorName", (CUresult, const char**))                                    \
  X(device_get_count, "cuDeviceGetCount", (int*))                                                  \
  X(device_get, "cuDeviceGet", (CUdevice*, int ordinal))                                           \
  X(device_get_name, "cuDeviceGetName", (char*, int capacity, CUdevice))                           \
  X(device_get_attribute, "cuDeviceGetAttribute", (int*, DeviceAttribute, CUdevice))               \
  X(primary_context_retain, "cuDevicePrimaryCtxRetain", (CUcontext*, CUdevice))                    \
  X(primary_context_release, "cuDevicePrimaryCtxRelease_v2", (CUdevice))                           \
  X(context_get_current, "cuCtxGetCurrent", (CUcontext*))                                          \
  X(context_push, "cuCtxPushCurrent_v2", (CUcontext))                                              \
  X(context_pop, "cuCtxPopCurrent_v2", (CUcontext*))                                               \
  X(module_load_data, "cuModuleLoadData", (CUmodule*, const void* image))                          \
  X(module_unload, "cuModuleUnload", (CUmodule))                                                   \
  X(module_get_function, "cuModuleGetFunction", (CUfunction*, CUmodule, const char*))              \
  X(function_get_attribute, "cuFuncGetAttribute", (int*, FunctionAttribute, CUfunction))           \
  X(function_set_attribute, "cuFuncSetAttribute", (CUfunction, FunctionAttribute, int value))      \
  X(occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor",                                      \
    (int*, CUfunction, int block_threads, std::size_t dynamic_shared_bytes))                       \
  X(launch, "cuLaunchKernelEx", (const LaunchConfig*, CUfunction, void** arguments, void** extra)) \
  X(memset_async, "cuMemsetD8Async", (CUdeviceptr, unsigned char, std::size_t, CUstream))          \
  X(memory_allocate, "cuMemAlloc_v2", (CUdeviceptr*, std::size_t))                                 \
  X(memory_free, "cuMemFree_v2", (CUdeviceptr))                                                    \
  X(copy_to_device, "cuMemcpyHtoD_v2", (CUdeviceptr, const void*, std::size_t))

// Needed by single entry points only (graphs, timing), or by the tools that run a bundle.
#define STITCH_DRIVER_ON_DEMAND(X)                                                               \
  X(function_load, "cuFuncLoad", (CUfunction))                                                   \
  X(occupancy_clusters, "cuOccupancyMaxActiveClusters", (int*, CUfunction, const LaunchConfig*)) \
  X(copy_to_host, "cuMemcpyDtoH_v2", (void*, CUdeviceptr, std::size_t))                          \
  X(stream_create, "cuStreamCreate", (CUstream*, unsigned flags))                                \
  X(stream_destroy, "cuStreamDestroy_v2", (CUstream))                                            \
  X(stream_synchronize, "cuStreamSynchronize", (CUstream))                                       \
  X(stream_begin_capture, "cuStreamBeginCapture_v2", (CUstream, int mode))                       \
  X(stream_end_capture, "cuStreamEndCapture", (CUstream, CUgraph*))                              \
  X(graph_get_nodes, "cuGraphGetNodes", (CUgraph, CUgraphNode*, std::size_t*))                   \
  X(graph_instantiate, "cuGraphInstantiateWithFlags",                                            \
    (CUgraphExec*, CUgraph, unsigned long long flags))                                           \
  X(graph_launch, "cuGraphLaunch", (CUgraphExec, CUstream))                                      \
  X(graph_exec_destroy, "cuGraphExecDestroy", (CUgraphExec))                                     \
  X(graph_destroy, "cuGraphDestroy", (CUgraph))                                                  \
  X(event_create, "cuEventCreate", (CUevent*, unsigned flags))                                   \
  X(event_destroy, "cuEventDestroy_v2", (CUevent))                                               \
  X(event_record, "cuEventRecord", (CUevent, CUstream))                                          \
  X(event_synchronize, "cuEventSynchronize", (CUevent))                                          \
  X(event_elapsed_time, "cuEventElapsedTime", (float* milliseconds, CUevent start, CUevent end))

// The driver's functions. A value: copies refer to the same library, which stays open for the life
// of the process (a driver cannot be unloaded safely).
struct Driver {
  // Opens the driver and calls cuInit. `path` empty: the environment variable STITCH_CUDA_DRIVER,
  // else libcuda.so.1. Throws LauncherError with kNoDriver, naming the file or the missing
  // function.
  static Driver open(const std::string& path = "");

  // Throws kDriver with "WHAT: cuCall failed with NAME (code)" unless the result is success.
  void check(CUresult result, const char* call, const char* what) const {
    if (result != kCudaSuccess) throw_failed(result, call, what);
  }
  void check(CUresult result, const char* call, const std::string& what) const {
    check(result, call, what.c_str());
  }

  // Throws kNoDriver unless an on-demand function is there.
  template <typename Function>
  void require(Function function, const char* symbol) const {
    if (function == nullptr) throw_missing(symbol);
  }
  [[noreturn]] void throw_missing(const char* symbol) const;
  [[noreturn]] void throw_failed(CUresult result, const char* call, const char* what) const;

  std::string file;         // what was opened
  void* library = nullptr;  // for dlsym
#define STITCH_DECLARE(member, symbol, parameters) CUresult(*member) parameters = nullptr;
  STITCH_DRIVER_REQUIRED(STITCH_DECLARE)
  STITCH_DRIVER_ON_DEMAND(STITCH_DECLARE)
#undef STITCH_DECLARE
};

// Makes a context current on this thread while it lives; does nothing when it is current already.
class CurrentContext {
 public:
  CurrentContext(const Driver& driver, CUcontext context);
  ~CurrentContext();
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

 private:
  const Driver& driver_;
  bool pushed_ = false;
};

}  // namespace STITCH_RUNTIME_NAMESPACE

#endif  // STITCH_RUNTIME_DRIVER_H_
