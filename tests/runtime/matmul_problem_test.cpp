// A product in the library's terms, proved by computing with the library's meaning of them.
#include "runtime/matmul_problem.h"

#include <vector>

#include "support/catch.h"

namespace stitch {
namespace {

using namespace runtime;

constexpr std::int64_t kM = 3;
constexpr std::int64_t kN = 5;
constexpr std::int64_t kK = 4;

MatrixLayout layout(MatrixOrder order, std::int64_t rows, std::int64_t cols) {
  MatrixLayout matrix;
  matrix.order = order;
  // One more than needed: a leading dimension is no extent.
  matrix.leading_dimension = (order == MatrixOrder::kRowMajor ? cols : rows) + 1;
  return matrix;
}

double& at(std::vector<double>& values, const MatrixLayout& matrix, std::int64_t row,
           std::int64_t col) {
  const std::int64_t index = matrix.order == MatrixOrder::kRowMajor
                                 ? row * matrix.leading_dimension + col
                                 : col * matrix.leading_dimension + row;
  return values.at(static_cast<std::size_t>(index));
}

// What cuBLASLt computes: column-major matrices, op(left) * op(right).
void library_matmul(const LibraryProblem& problem, const std::vector<double>& left,
                    const std::vector<double>& right, std::vector<double>& result) {
  const auto element = [](const LibraryMatrix& matrix, const std::vector<double>& values,
                          std::int64_t row, std::int64_t col) {
    if (matrix.operation == kTranspose) std::swap(row, col);
    REQUIRE(row < matrix.rows);
    REQUIRE(col < matrix.cols);
    return values.at(static_cast<std::size_t>(col * matrix.leading_dimension + row));
  };
  const bool transposed = problem.left.operation == kTranspose;
  const std::int64_t depth = transposed ? problem.left.rows : problem.left.cols;
  for (std::int64_t row = 0; row < problem.result.rows; ++row) {
    for (std::int64_t col = 0; col < problem.result.cols; ++col) {
      double sum = 0;
      for (std::int64_t k = 0; k < depth; ++k) {
        sum += element(problem.left, left, row, k) * element(problem.right, right, k, col);
      }
      result.at(static_cast<std::size_t>(col * problem.result.leading_dimension + row)) = sum;
    }
  }
}

}  // namespace

TEST_CASE("every combination of orders becomes the same product") {
  const MatrixOrder orders[] = {MatrixOrder::kRowMajor, MatrixOrder::kColumnMajor};
  for (const MatrixOrder order_a : orders) {
    for (const MatrixOrder order_b : orders) {
      for (const MatrixOrder order_d : orders) {
        MatmulCall call;
        call.m = kM;
        call.n = kN;
        call.k = kK;
        call.a = layout(order_a, kM, kK);
        call.b = layout(order_b, kK, kN);
        call.d = layout(order_d, kM, kN);
        std::vector<double> a(64), b(64), d(64);
        for (std::int64_t i = 0; i < kM; ++i) {
          for (std::int64_t k = 0; k < kK; ++k) at(a, call.a, i, k) = double(1 + i * 10 + k);
        }
        for (std::int64_t k = 0; k < kK; ++k) {
          for (std::int64_t j = 0; j < kN; ++j) at(b, call.b, k, j) = double(k * 7 - j * 3);
        }
        const LibraryProblem problem = library_problem(call);
        library_matmul(problem, problem.swapped ? b : a, problem.swapped ? a : b, d);
        for (std::int64_t i = 0; i < kM; ++i) {
          for (std::int64_t j = 0; j < kN; ++j) {
            double expected = 0;
            for (std::int64_t k = 0; k < kK; ++k) {
              expected += at(a, call.a, i, k) * at(b, call.b, k, j);
            }
            CHECK(at(d, call.d, i, j) == expected);
          }
        }
      }
    }
  }
}

TEST_CASE("a row-major result is computed as its transpose, without flags") {
  MatmulCall call;
  call.m = 8;
  call.n = 4;
  call.k = 3;
  call.a.leading_dimension = 3;
  call.b.leading_dimension = call.d.leading_dimension = 4;
  const LibraryProblem problem = library_problem(call);
  CHECK(problem.swapped);
  CHECK(problem.left.rows == 4);
  CHECK(problem.left.cols == 3);
  CHECK(problem.left.operation == kNoTranspose);
  CHECK(problem.right.rows == 3);
  CHECK(problem.right.cols == 8);
  CHECK(problem.right.operation == kNoTranspose);
  CHECK(problem.result.rows == 4);
  CHECK(problem.result.cols == 8);
}

TEST_CASE("outer batch dims are separate library calls, the last is a strided batch") {
  MatmulCall call;
  call.m = call.n = call.k = 16;
  call.a.type = call.b.type = call.d.type = ElementType::kFloat16;
  call.a.leading_dimension = call.b.leading_dimension = call.d.leading_dimension = 192;
  call.batch = {{2, 4096, 0, 8192, 2048}, {3, 512, 64, 128, 256}, {12, 16, 16, 24, 32}};
  CHECK(library_call_count(call) == 6);
  const LibraryProblem problem = library_problem(call);
  CHECK(problem.batch_count == 12);
  CHECK(problem.left.batch_stride == 16);  // b: the result is row major
  CHECK(problem.result.batch_stride == 24);
  // Number 4 is index 1 of the first dim, 1 of the second; half precision has 2 bytes.
  const OuterOffsets offsets = outer_offsets(call, 4);
  CHECK(offsets.a == 2 * (4096 + 512));
  CHECK(offsets.b == 2 * 64);
  CHECK(offsets.d == 2 * (8192 + 128));
  CHECK(offsets.c == 4 * (2048 + 256));  // in f32 here
}

TEST_CASE("what is added is seen as the result is, at its own strides") {
  MatmulCall call;
  call.m = 8;
  call.n = 4;
  call.k = 3;
  call.a.leading_dimension = 3;
  call.b.leading_dimension = call.d.leading_dimension = 4;
  call.c.leading_dimension = 24;
  call.batch = {{5, 24, 12, 32, 4}};
  CHECK(library_problem(call).addend.leading_dimension == 4);  // not read: the result's own
  call.beta = 1;
  const LibraryProblem problem = library_problem(call);
  CHECK(problem.addend.rows == 4);
  CHECK(problem.addend.cols == 8);
  CHECK(problem.addend.leading_dimension == 24);
  CHECK(problem.addend.batch_stride == 4);
  CHECK(problem.result.batch_stride == 32);
}

TEST_CASE("alignments follow from offsets and batch strides") {
  MatmulCall call;
  call.m = call.n = call.k = 16;
  call.a.buffer = {BufferKind::kInput, 0, 0, 4096};
  call.b.buffer = {BufferKind::kWeights, 0, 512, 4096};
  call.d.buffer = {BufferKind::kWorkspace, 0, 256, 4096};
  call.batch = {{2, 3, 256, 64}};
  const LibraryProblem problem = library_problem(call);
  CHECK(problem.right.alignment == 4);     // a: strides of 12 bytes
  CHECK(problem.left.alignment == 256);    // b
  CHECK(problem.result.alignment == 256);  // d: 64 floats
}

}  // namespace stitch
