// A contraction as a matrix product of the library: leading dimensions, orders and batch strides,
// or the reason why its reads have no such form (stitching.md 7a).
#pragma once
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "planner/access/access_graph.h"

namespace stitch {

// A matrix inside of a value's storage.
struct MatmulMatrix {
  AccessValueId value;
  int64_t offset = 0;             // elements from the start of the value
  bool column_major = false;      // of (m,k), (k,n) and (m,n)
  int64_t leading_dimension = 1;  // elements between rows, or between columns if column_major
};

// Strides in elements; 0: the same matrix for every index.
struct MatmulBatch {
  int64_t count = 1;
  int64_t stride_a = 0, stride_b = 0, stride_c = 0, stride_d = 0;
};

// d[m,n] = scale * sum over k of a[m,k] * b[k,n] (+ c[m,n]) (+ bias[n]), for every index of
// `batch`. m, n and k may be products of several atoms.
struct MatmulLayout {
  AccessNodeId node;
  int64_t m = 1, n = 1, k = 1;
  std::vector<MatmulBatch> batch;  // outer first; all but the last are separate calls
  MatmulMatrix a, b, d;
  MatmulMatrix c;  // stored in d's order; no value: nothing is added
  double scale = 1;
  AccessValueId bias;       // n neighbouring elements, added to every row; none: no bias
  int64_t bias_offset = 0;  // elements
  DType accumulate = DType::kF32;

  int64_t calls() const {
    int64_t product = 1;
    for (size_t i = 0; i + 1 < batch.size(); ++i) product *= batch[i].count;
    return product;
  }
};

// Why a contraction has no library form: one lower-case sentence without a final period, and which
// operand is to blame where a copy of it would help.
struct NoMatmulLayout {
  std::string reason;
  int operand = -1;
};

// Reads must be single pieces without guards, linear in the atoms; the result and all operands are
// taken in their values' storage strides.
std::variant<MatmulLayout, NoMatmulLayout> matmul_layout(const AccessGraph& graph,
                                                         AccessNodeId contraction);

}  // namespace stitch
