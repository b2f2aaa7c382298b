// A MatmulCall in the library's terms: column-major matrices, transposition flags, alignments.
#ifndef STITCH_RUNTIME_MATMUL_PROBLEM_H_
#define STITCH_RUNTIME_MATMUL_PROBLEM_H_

#include <cstdint>
#include <string>

#include "runtime/bundle_format.h"
#include "runtime/cublaslt.h"

namespace STITCH_RUNTIME_NAMESPACE {

struct LibraryMatrix {
  CudaDataType type = kCudaR32f;
  CublasOperation operation = kNoTranspose;
  std::int64_t rows = 0;  // as stored, column major
  std::int64_t cols = 0;
  std::int64_t leading_dimension = 0;
  std::int64_t batch_stride = 0;
  std::uint32_t alignment = 16;  // of every matrix of the batch, in bytes
};

struct LibraryProblem {
  CublasComputeType compute = kCompute32f;
  CudaDataType scale = kCudaR32f;
  // The result is row major: its transpose is computed, B first.
  bool swapped = false;
  LibraryMatrix left;
  LibraryMatrix right;
  LibraryMatrix addend;  // C; the result's where beta is 0
  LibraryMatrix result;
  std::int64_t batch_count = 1;
};

// A row-major matrix is its transpose in column-major storage, so a row-major D = A B is computed
// as D^T = B^T A^T, and an operand stored in the other order takes the transposition flag.
// E.g. D[8,4] = A[8,3] B[3,4], all row major, becomes left = B as 4 x 3, right = A as 3 x 8,
// result 4 x 8, no flags.
LibraryProblem library_problem(const MatmulCall& call);

// How many library calls a product makes: the count of the outer batch dims.
std::int64_t library_call_count(const MatmulCall& call);

// Byte offsets of the operands in library call `number` of the outer batch dims, row-major count.
struct OuterOffsets {
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  std::uint64_t c = 0;
  std::uint64_t d = 0;
};
OuterOffsets outer_offsets(const MatmulCall& call, std::int64_t number);

// "matmul 'dense_1'"
std::string step_name(const MatmulCall& call);

// "matmul 'dense_1' (m 128, n 768, k 3072, float16)"
std::string problem_text(const MatmulCall& call);

}  // namespace STITCH_RUNTIME_NAMESPACE

#endif  // STITCH_RUNTIME_MATMUL_PROBLEM_H_
