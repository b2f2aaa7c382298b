// Rows that are hard to reduce in one pass, and graphs with sums that can follow another reduce of
// the same row.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "plan_batch.h"

namespace stitch::test {

// Rows of all kinds by turns: ordinary numbers, only -inf, one number among -inf, NaN, +inf, -inf
// up to the middle, the largest numbers of f16, far from zero, rising, falling, equal.
Tensor hostile_rows(DType dtype, int64_t rows, int64_t columns, bool transposed);
constexpr int64_t kRowKinds = 13;

struct CascadeGraph {
  const char* title;
  const char* body;  // of %x, see cascade_rows.cpp
  size_t cascades;   // sums that can follow
  bool waits;        // later columns need a result
};
// logsumexp, that of ONNX (which knows infinities), sums weighted by a softmax that is divided by
// its sum later and before, variance; softmax,
// division by the deviation.
const std::vector<CascadeGraph>& cascade_graphs();

std::unique_ptr<BatchCase> cascade_case(const CascadeGraph& graph, const Tensor& x, bool transposed,
                                        const std::string& device);

// Sums that follow in the pass of another reduce.
size_t followers(const Kernel& kernel);

// Runs all cases with every check; results as evaluated in f64, bytes as predicted.
void check_cases(const std::vector<std::unique_ptr<BatchCase>>& cases);

}  // namespace stitch::test
