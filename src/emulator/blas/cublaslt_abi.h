// The types and constants of cublasLt.h that the stand-in needs, since bundles and the emulator
// build without cuBLAS. Source: cublasLt.h, cublas_api.h and library_types.h of CUDA 13.0; a test
// compares the values with those headers where they are installed.
#pragma once
#include <cstddef>
#include <cstdint>

namespace stitch::emulator::lt {

enum Status : int {
  kSuccess = 0,
  kNotInitialized = 1,
  kAllocFailed = 3,
  kInvalidValue = 7,
  kArchMismatch = 8,
  kExecutionFailed = 13,
  kInternalError = 14,
  kNotSupported = 15,
};

enum DataType : int {
  kR32F = 0,
  kR64F = 1,
  kR16F = 2,
  kR8I = 3,
  kR32I = 10,
  kR16BF = 14,
};

enum ComputeType : int {
  kCompute16F = 64,
  kCompute16FPedantic = 65,
  kCompute32F = 68,
  kCompute32FPedantic = 69,
  kCompute64F = 70,
  kCompute64FPedantic = 71,
  kCompute32I = 72,
  kCompute32IPedantic = 73,
  kCompute32FFast16F = 74,
  kCompute32FFast16BF = 75,
  kCompute32FFastTf32 = 77,
};

enum Operation : int { kNone = 0, kTranspose = 1, kConjugateTranspose = 2 };
enum MatrixOrder : int { kColumnMajor = 0, kRowMajor = 1 };
enum PointerMode : int { kHostPointers = 0 };

enum Epilogue : std::uint32_t { kDefault = 1, kRelu = 2, kBias = 4, kGelu = 32 };

enum LayoutAttribute : int {
  kLayoutType = 0,
  kLayoutOrder = 1,
  kLayoutRows = 2,
  kLayoutColumns = 3,
  kLayoutLeadingDimension = 4,
  kLayoutBatchCount = 5,
  kLayoutBatchStride = 6,
};

enum MatmulAttribute : int {
  kMatmulComputeType = 0,
  kMatmulScaleType = 1,
  kMatmulPointerMode = 2,
  kMatmulTransA = 3,
  kMatmulTransB = 4,
  kMatmulTransC = 5,
  kMatmulEpilogue = 7,
  kMatmulBiasPointer = 8,
  kMatmulBiasBatchStride = 10,
  kMatmulBiasDataType = 26,
};

struct Algorithm {
  std::uint64_t data[8];
};

struct HeuristicResult {
  Algorithm algorithm;
  std::size_t workspace_bytes;
  Status state;
  float waves_count;
  int reserved[4];
};

}  // namespace stitch::emulator::lt
