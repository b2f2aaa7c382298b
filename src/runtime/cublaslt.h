// The part of the cuBLASLt API that the launcher uses, opened at run time.
//
// Types and constants are those of cublasLt.h from CUDA 11.8 on (a test compares them with the
// toolkit's).
#ifndef STITCH_RUNTIME_CUBLASLT_H_
#define STITCH_RUNTIME_CUBLASLT_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/driver.h"
#include "runtime/namespace.h"

namespace STITCH_RUNTIME_NAMESPACE {

using CublasStatus = int;
using CublasHandle = struct cublasLtContext*;
using MatmulDescriptor = struct cublasLtMatmulDescOpaque_t*;
using LayoutDescriptor = struct cublasLtMatrixLayoutOpaque_t*;
using PreferenceDescriptor = struct cublasLtMatmulPreferenceOpaque_t*;

enum CudaDataType : int {
  kCudaR32f = 0,
  kCudaR64f = 1,
  kCudaR16f = 2,
  kCudaR8i = 3,
  kCudaR32i = 10,
  kCudaR16bf = 14,
  kCudaR8fE4m3 = 28,
  kCudaR8fE5m2 = 29,
};

enum CublasComputeType : int {
  kCompute16f = 64,
  kCompute32f = 68,
  kCompute64f = 70,
  kCompute32i = 72,
  kCompute32fFastTf32 = 77,
};

enum CublasOperation : int { kNoTranspose = 0, kTranspose = 1 };

enum CublasEpilogue : int { kEpilogueDefault = 1, kEpilogueBias = 4 };

enum MatmulAttribute : int {
  kMatmulTransA = 3,
  kMatmulTransB = 4,
  kMatmulEpilogue = 7,
  kMatmulBiasPointer = 8,
};

enum LayoutAttribute : int { kLayoutBatchCount = 5, kLayoutBatchStride = 6 };

enum PreferenceAttribute : int {
  kMaxWorkspaceBytes = 1,
  kMinAlignmentA = 5,
  kMinAlignmentB = 6,
  kMinAlignmentC = 7,
  kMinAlignmentD = 8,
};

struct MatmulAlgorithm {
  std::uint64_t data[8];
};

struct HeuristicResult {
  MatmulAlgorithm algorithm;
  std::size_t workspace_bytes;
  CublasStatus state;
  float waves;
  int reserved[4];
};

// X(member, exported symbol, parameters)
#define STITCH_CUBLASLT_FUNCTIONS(X)                                                              \
  X(create, "cublasLtCreate", (CublasHandle*))                                                    \
  X(destroy, "cublasLtDestroy", (CublasHandle))                                                   \
  X(matmul_create, "cublasLtMatmulDescCreate",                                                    \
    (MatmulDescriptor*, CublasComputeType, CudaDataType scale))                                   \
  X(matmul_destroy, "cublasLtMatmulDescDestroy", (MatmulDescriptor))                              \
  X(matmul_set, "cublasLtMatmulDescSetAttribute",                                                 \
    (MatmulDescriptor, MatmulAttribute, const void* value, std::size_t bytes))                    \
  X(layout_create, "cublasLtMatrixLayoutCreate",                                                  \
    (LayoutDescriptor*, CudaDataType, std::uint64_t rows, std::uint64_t cols, std::int64_t ld))   \
  X(layout_destroy, "cublasLtMatrixLayoutDestroy", (LayoutDescriptor))                            \
  X(layout_set, "cublasLtMatrixLayoutSetAttribute",                                               \
    (LayoutDescriptor, LayoutAttribute, const void* value, std::size_t bytes))                    \
  X(preference_create, "cublasLtMatmulPreferenceCreate", (PreferenceDescriptor*))                 \
  X(preference_destroy, "cublasLtMatmulPreferenceDestroy", (PreferenceDescriptor))                \
  X(preference_set, "cublasLtMatmulPreferenceSetAttribute",                                       \
    (PreferenceDescriptor, PreferenceAttribute, const void* value, std::size_t bytes))            \
  X(heuristic, "cublasLtMatmulAlgoGetHeuristic",                                                  \
    (CublasHandle, MatmulDescriptor, LayoutDescriptor a, LayoutDescriptor b, LayoutDescriptor c,  \
     LayoutDescriptor d, PreferenceDescriptor, int wanted, HeuristicResult*, int* found))         \
  X(matmul, "cublasLtMatmul",                                                                     \
    (CublasHandle, MatmulDescriptor, const void* alpha, const void* a, LayoutDescriptor,          \
     const void* b, LayoutDescriptor, const void* beta, const void* c, LayoutDescriptor, void* d, \
     LayoutDescriptor, const MatmulAlgorithm*, void* workspace, std::size_t workspace_bytes,      \
     CUstream))

// cuBLASLt's functions. A value, like Driver.
struct CublasLt {
  // Opens the file named by the environment variable STITCH_CUBLASLT; else the driver's own file
  // when it offers cuBLASLt too (the emulated driver does); else libcublasLt.so.13, .12, or the
  // unversioned one. Throws LauncherError with kLibrary, naming what was tried or is missing.
  static CublasLt open(const Driver& driver);

  // Throws kLibrary with "WHAT: cublasCall failed with status N".
  void check(CublasStatus status, const char* call, const std::string& what) const;

  std::string file;
#define STITCH_DECLARE(member, symbol, parameters) CublasStatus(*member) parameters = nullptr;
  STITCH_CUBLASLT_FUNCTIONS(STITCH_DECLARE)
#undef STITCH_DECLARE
};

}  // namespace STITCH_RUNTIME_NAMESPACE

#endif  // STITCH_RUNTIME_CUBLASLT_H_
