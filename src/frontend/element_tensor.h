// A small tensor whose elements are known at import: extents of tensors (Dim expressions) and
// numbers. Kept beside a value, so that Shape, Gather, Concat, Reshape chains never reach the
// graph.
#pragma once
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "graph/dim.h"
#include "graph/dtype.h"
#include "graph/tensor.h"

namespace stitch {

// Integers and bools (0, 1) are Dims; floats are numbers already rounded to the dtype.
using Element = std::variant<Dim, double>;

struct ElementTensor {
  // Values of more elements are not folded.
  static constexpr int64_t kLargestCount = 1024;

  DType dtype = DType::kI64;
  std::vector<int64_t> extents;
  std::vector<Element> elements;  // row-major

  size_t rank() const { return extents.size(); }
  int64_t count() const { return static_cast<int64_t>(elements.size()); }
};

// int64[n] of extents.
ElementTensor vector_of(const std::vector<Dim>& dims);
ElementTensor scalar_of(DType dtype, Element element);
// Nothing when the tensor has too many elements.
std::optional<ElementTensor> elements_of(const Tensor& tensor);
// Nothing when an element is symbolic.
std::optional<Tensor> tensor_of(const ElementTensor& elements);
// The element as a Dim: nothing for a float that is not a whole number.
std::optional<Dim> dim_of(const Element& element);
// The element as a number: nothing when it is symbolic.
std::optional<double> number_of(const Element& element);
// Rounded or wrapped to the dtype as a store would.
Element stored(DType dtype, double value);
Element stored(DType dtype, const Dim& value);

}  // namespace stitch
