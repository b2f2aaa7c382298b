#include "runtime/matmul_problem.h"

#include <numeric>

#include "runtime/device_memory.h"
#include "runtime/element_type.h"
#include "runtime/launcher_error.h"

namespace STITCH_RUNTIME_NAMESPACE {
namespace {

CudaDataType library_type(const MatmulCall& call, ElementType type) {
  switch (type) {
    case ElementType::kFloat32:
      return kCudaR32f;
    case ElementType::kFloat64:
      return kCudaR64f;
    case ElementType::kFloat16:
      return kCudaR16f;
    case ElementType::kBfloat16:
      return kCudaR16bf;
    case ElementType::kInt8:
      return kCudaR8i;
    case ElementType::kInt32:
      return kCudaR32i;
    case ElementType::kFloat8E4m3:
      return kCudaR8fE4m3;
    case ElementType::kFloat8E5m2:
      return kCudaR8fE5m2;
    case ElementType::kUint8:
    case ElementType::kUint16:
    case ElementType::kInt16:
    case ElementType::kInt64:
    case ElementType::kBool:
    case ElementType::kUint32:
    case ElementType::kUint64:
      break;
  }
  throw LauncherError(Status::kInternal,
                      step_name(call) + ": cuBLASLt has no matrices of " + element_name(type));
}

void set_compute(const MatmulCall& call, LibraryProblem& problem) {
  switch (call.compute) {
    case ComputeType::kFloat32:
      problem.compute = kCompute32f;
      problem.scale = kCudaR32f;
      break;
    case ComputeType::kTf32:
      problem.compute = kCompute32fFastTf32;
      problem.scale = kCudaR32f;
      break;
    case ComputeType::kFloat16:
      problem.compute = kCompute16f;
      problem.scale = kCudaR16f;
      break;
    case ComputeType::kFloat64:
      problem.compute = kCompute64f;
      problem.scale = kCudaR64f;
      break;
    case ComputeType::kInt32:
      problem.compute = kCompute32i;
      problem.scale = kCudaR32i;
      break;
  }
}

// The largest power of two up to 256 that divides all of these byte distances.
std::uint32_t alignment_of(const MatrixLayout& layout, std::int64_t BatchDim::*stride,
                           const std::vector<BatchDim>& batch) {
  const bool of_caller =
      layout.buffer.kind == BufferKind::kInput || layout.buffer.kind == BufferKind::kOutput;
  std::uint64_t alignment =
      std::gcd(of_caller ? kCallerAlignment : kArenaAlignment, layout.buffer.offset);
  for (const BatchDim& dim : batch) {
    alignment =
        std::gcd(alignment, static_cast<std::uint64_t>(dim.*stride) * element_bytes(layout.type));
  }
  return static_cast<std::uint32_t>(alignment);
}

// A logical rows x cols matrix that the library is to see as rows x cols, column major.
LibraryMatrix seen_as(const MatmulCall& call, const MatrixLayout& layout, std::int64_t rows,
                      std::int64_t cols, MatrixOrder stored, std::int64_t BatchDim::*stride) {
  LibraryMatrix matrix;
  matrix.type = library_type(call, layout.type);
  matrix.operation = stored == MatrixOrder::kColumnMajor ? kNoTranspose : kTranspose;
  matrix.rows = stored == MatrixOrder::kColumnMajor ? rows : cols;
  matrix.cols = stored == MatrixOrder::kColumnMajor ? cols : rows;
  matrix.leading_dimension = layout.leading_dimension;
  matrix.batch_stride = call.batch.empty() ? 0 : call.batch.back().*stride;
  matrix.alignment = alignment_of(layout, stride, call.batch);
  return matrix;
}

MatrixOrder transposed(MatrixOrder order) {
  return order == MatrixOrder::kRowMajor ? MatrixOrder::kColumnMajor : MatrixOrder::kRowMajor;
}

}  // namespace

LibraryProblem library_problem(const MatmulCall& call) {
  LibraryProblem problem;
  set_compute(call, problem);
  problem.batch_count = call.batch.empty() ? 1 : call.batch.back().count;
  problem.swapped = call.d.order == MatrixOrder::kRowMajor;
  if (problem.swapped) {
    problem.left =
        seen_as(call, call.b, call.n, call.k, transposed(call.b.order), &BatchDim::stride_b);
    problem.right =
        seen_as(call, call.a, call.k, call.m, transposed(call.a.order), &BatchDim::stride_a);
    problem.result =
        seen_as(call, call.d, call.n, call.m, MatrixOrder::kColumnMajor, &BatchDim::stride_d);
  } else {
    problem.left = seen_as(call, call.a, call.m, call.k, call.a.order, &BatchDim::stride_a);
    problem.right = seen_as(call, call.b, call.k, call.n, call.b.order, &BatchDim::stride_b);
    problem.result =
        seen_as(call, call.d, call.m, call.n, MatrixOrder::kColumnMajor, &BatchDim::stride_d);
  }
  // The library wants a C even where it does not read it.
  problem.addend = problem.result;
  if (call.beta != 0.0) {
    const std::int64_t rows = problem.swapped ? call.n : call.m;
    const std::int64_t cols = problem.swapped ? call.m : call.n;
    problem.addend =
        seen_as(call, call.c, rows, cols, MatrixOrder::kColumnMajor, &BatchDim::stride_c);
  }
  return problem;
}

std::int64_t library_call_count(const MatmulCall& call) {
  std::int64_t count = 1;
  for (std::size_t dim = 0; dim + 1 < call.batch.size(); ++dim) count *= call.batch[dim].count;
  return count;
}

OuterOffsets outer_offsets(const MatmulCall& call, std::int64_t number) {
  OuterOffsets offsets;
  for (std::size_t dim = call.batch.size() < 2 ? 0 : call.batch.size() - 1; dim-- > 0;) {
    const BatchDim& batch = call.batch[dim];
    const std::int64_t index = number % batch.count;
    number /= batch.count;
    offsets.a += static_cast<std::uint64_t>(index * batch.stride_a) * element_bytes(call.a.type);
    offsets.b += static_cast<std::uint64_t>(index * batch.stride_b) * element_bytes(call.b.type);
    offsets.c += static_cast<std::uint64_t>(index * batch.stride_c) * element_bytes(call.c.type);
    offsets.d += static_cast<std::uint64_t>(index * batch.stride_d) * element_bytes(call.d.type);
  }
  return offsets;
}

std::string step_name(const MatmulCall& call) { return "matmul '" + call.name + "'"; }

std::string problem_text(const MatmulCall& call) {
  return step_name(call) + " (m " + std::to_string(call.m) + ", n " + std::to_string(call.n) +
         ", k " + std::to_string(call.k) + ", " + element_name(call.a.type) + ")";
}

}  // namespace STITCH_RUNTIME_NAMESPACE
