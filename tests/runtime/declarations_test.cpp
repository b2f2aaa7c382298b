// The launcher's own declarations of driver and cuBLASLt are those of the toolkit's headers.
#include "runtime/cublaslt.h"
#include "runtime/driver.h"

// After ours: cuda.h defines macros over function names.
#include <cuda.h>
#if __has_include(<cublasLt.h>)
#include <cublasLt.h>
#define STITCH_HAS_CUBLASLT 1
#endif

#include <cstddef>
#include <type_traits>

#include "support/catch.h"

namespace stitch {
namespace {

namespace ours = stitch::runtime;

template <typename Function>
struct ParameterSizes;

// Calls agree when their parameters have equal sizes and kinds, in order: names of types differ.
template <typename Result, typename... Parameters>
struct ParameterSizes<Result (*)(Parameters...)> {
  static std::vector<std::pair<std::size_t, bool>> get() {
    return {{sizeof(Parameters), std::is_pointer_v<Parameters>}...};
  }
};

template <typename Result, typename... Parameters>
struct ParameterSizes<Result(Parameters...)> : ParameterSizes<Result (*)(Parameters...)> {};

template <typename Ours, typename Theirs>
bool agree(const Ours&, const Theirs&) {
  return ParameterSizes<Ours>::get() == ParameterSizes<Theirs>::get();
}

}  // namespace

TEST_CASE("constants of the driver") {
  CHECK(ours::kCudaErrorOutOfMemory == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(int{ours::kMultiprocessorCount} == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  CHECK(int{ours::kComputeCapabilityMajor} == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  CHECK(int{ours::kComputeCapabilityMinor} == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  CHECK(int{ours::kRegisterCount} == CU_FUNC_ATTRIBUTE_NUM_REGS);
  CHECK(int{ours::kMaxDynamicSharedBytes} == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  CHECK(int{ours::kNonPortableClusterAllowed} ==
        CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
  CHECK(int{ours::kCooperative} == CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
  CHECK(int{ours::kClusterDimension} == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
  CHECK(ours::kCaptureThreadLocal == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  CHECK(ours::kStreamNonBlocking == CU_STREAM_NON_BLOCKING);
}

TEST_CASE("structs of the driver") {
  CHECK(sizeof(ours::LaunchAttribute) == sizeof(CUlaunchAttribute));
  CHECK(offsetof(ours::LaunchAttribute, value) == offsetof(CUlaunchAttribute, value));
  CHECK(sizeof(ours::LaunchConfig) == sizeof(CUlaunchConfig));
  CHECK(offsetof(ours::LaunchConfig, block_x) == offsetof(CUlaunchConfig, blockDimX));
  CHECK(offsetof(ours::LaunchConfig, shared_bytes) == offsetof(CUlaunchConfig, sharedMemBytes));
  CHECK(offsetof(ours::LaunchConfig, stream) == offsetof(CUlaunchConfig, hStream));
  CHECK(offsetof(ours::LaunchConfig, attributes) == offsetof(CUlaunchConfig, attrs));
  CHECK(offsetof(ours::LaunchConfig, attribute_count) == offsetof(CUlaunchConfig, numAttrs));
}

TEST_CASE("functions of the driver") {
  const ours::Driver driver;
  CHECK(agree(driver.init, ::cuInit));
  CHECK(agree(driver.device_get_name, ::cuDeviceGetName));
  CHECK(agree(driver.device_get_attribute, ::cuDeviceGetAttribute));
  CHECK(agree(driver.primary_context_retain, ::cuDevicePrimaryCtxRetain));
  CHECK(agree(driver.primary_context_release, ::cuDevicePrimaryCtxRelease));
  CHECK(agree(driver.context_push, ::cuCtxPushCurrent));
  CHECK(agree(driver.context_pop, ::cuCtxPopCurrent));
  CHECK(agree(driver.module_load_data, ::cuModuleLoadData));
  CHECK(agree(driver.module_get_function, ::cuModuleGetFunction));
  CHECK(agree(driver.function_get_attribute, ::cuFuncGetAttribute));
  CHECK(agree(driver.function_set_attribute, ::cuFuncSetAttribute));
  CHECK(agree(driver.occupancy, ::cuOccupancyMaxActiveBlocksPerMultiprocessor));
  CHECK(agree(driver.occupancy_clusters, ::cuOccupancyMaxActiveClusters));
  CHECK(agree(driver.launch, ::cuLaunchKernelEx));
  CHECK(agree(driver.memset_async, ::cuMemsetD8Async));
  CHECK(agree(driver.memory_allocate, ::cuMemAlloc));
  CHECK(agree(driver.memory_free, ::cuMemFree));
  CHECK(agree(driver.copy_to_device, ::cuMemcpyHtoD));
  CHECK(agree(driver.copy_to_host, ::cuMemcpyDtoH));
  CHECK(agree(driver.stream_create, ::cuStreamCreate));
  CHECK(agree(driver.stream_begin_capture, ::cuStreamBeginCapture));
  CHECK(agree(driver.stream_end_capture, ::cuStreamEndCapture));
  CHECK(agree(driver.graph_get_nodes, ::cuGraphGetNodes));
  CHECK(agree(driver.graph_instantiate, ::cuGraphInstantiateWithFlags));
  CHECK(agree(driver.graph_launch, ::cuGraphLaunch));
  CHECK(agree(driver.event_create, ::cuEventCreate));
  CHECK(agree(driver.event_record, ::cuEventRecord));
}

#ifdef STITCH_HAS_CUBLASLT
TEST_CASE("constants of cuBLASLt") {
  CHECK(int{ours::kCudaR32f} == CUDA_R_32F);
  CHECK(int{ours::kCudaR64f} == CUDA_R_64F);
  CHECK(int{ours::kCudaR16f} == CUDA_R_16F);
  CHECK(int{ours::kCudaR8i} == CUDA_R_8I);
  CHECK(int{ours::kCudaR32i} == CUDA_R_32I);
  CHECK(int{ours::kCudaR16bf} == CUDA_R_16BF);
  CHECK(int{ours::kCudaR8fE4m3} == CUDA_R_8F_E4M3);
  CHECK(int{ours::kCudaR8fE5m2} == CUDA_R_8F_E5M2);
  CHECK(int{ours::kCompute16f} == CUBLAS_COMPUTE_16F);
  CHECK(int{ours::kCompute32f} == CUBLAS_COMPUTE_32F);
  CHECK(int{ours::kCompute64f} == CUBLAS_COMPUTE_64F);
  CHECK(int{ours::kCompute32i} == CUBLAS_COMPUTE_32I);
  CHECK(int{ours::kCompute32fFastTf32} == CUBLAS_COMPUTE_32F_FAST_TF32);
  CHECK(int{ours::kNoTranspose} == CUBLAS_OP_N);
  CHECK(int{ours::kTranspose} == CUBLAS_OP_T);
  CHECK(int{ours::kEpilogueDefault} == CUBLASLT_EPILOGUE_DEFAULT);
  CHECK(int{ours::kEpilogueBias} == CUBLASLT_EPILOGUE_BIAS);
  CHECK(int{ours::kMatmulTransA} == CUBLASLT_MATMUL_DESC_TRANSA);
  CHECK(int{ours::kMatmulTransB} == CUBLASLT_MATMUL_DESC_TRANSB);
  CHECK(int{ours::kMatmulEpilogue} == CUBLASLT_MATMUL_DESC_EPILOGUE);
  CHECK(int{ours::kMatmulBiasPointer} == CUBLASLT_MATMUL_DESC_BIAS_POINTER);
  CHECK(int{ours::kLayoutBatchCount} == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
  CHECK(int{ours::kLayoutBatchStride} == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
  CHECK(int{ours::kMaxWorkspaceBytes} == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
  CHECK(int{ours::kMinAlignmentA} == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
  CHECK(int{ours::kMinAlignmentD} == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
}

TEST_CASE("structs and functions of cuBLASLt") {
  CHECK(sizeof(ours::MatmulAlgorithm) == sizeof(cublasLtMatmulAlgo_t));
  CHECK(sizeof(ours::HeuristicResult) == sizeof(cublasLtMatmulHeuristicResult_t));
  CHECK(offsetof(ours::HeuristicResult, state) == offsetof(cublasLtMatmulHeuristicResult_t, state));
  const ours::CublasLt library;
  CHECK(agree(library.matmul_create, ::cublasLtMatmulDescCreate));
  CHECK(agree(library.matmul_set, ::cublasLtMatmulDescSetAttribute));
  CHECK(agree(library.layout_create, ::cublasLtMatrixLayoutCreate));
  CHECK(agree(library.layout_set, ::cublasLtMatrixLayoutSetAttribute));
  CHECK(agree(library.preference_set, ::cublasLtMatmulPreferenceSetAttribute));
  CHECK(agree(library.heuristic, ::cublasLtMatmulAlgoGetHeuristic));
  CHECK(agree(library.matmul, ::cublasLtMatmul));
}
#endif

}  // namespace stitch
