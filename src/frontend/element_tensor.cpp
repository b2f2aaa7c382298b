#include "frontend/element_tensor.h"

#include <cmath>

#include "graph/error.h"

namespace stitch {

ElementTensor vector_of(const std::vector<Dim>& dims) {
  ElementTensor result{DType::kI64, {static_cast<int64_t>(dims.size())}, {}};
  result.elements.assign(dims.begin(), dims.end());
  return result;
}

ElementTensor scalar_of(DType dtype, Element element) { return {dtype, {}, {std::move(element)}}; }

std::optional<ElementTensor> elements_of(const Tensor& tensor) {
  const int64_t count = tensor.element_count();
  if (count > ElementTensor::kLargestCount) return {};
  ElementTensor result{tensor.dtype(), tensor.extents(), {}};
  for (int64_t i = 0; i < count; ++i) {
    if (is_float(tensor.dtype())) {
      result.elements.emplace_back(tensor.real(i));
    } else {
      result.elements.emplace_back(Dim(tensor.integer(i)));
    }
  }
  return result;
}

std::optional<Tensor> tensor_of(const ElementTensor& elements) {
  Tensor result(elements.dtype, elements.extents);
  for (int64_t i = 0; i < elements.count(); ++i) {
    const Element& element = elements.elements[static_cast<size_t>(i)];
    if (const auto* number = std::get_if<double>(&element)) {
      result.set_real(i, *number);
    } else if (const Dim& dim = std::get<Dim>(element); dim.is_constant()) {
      result.set_integer(i, dim.constant());
    } else {
      return {};
    }
  }
  return result;
}

std::optional<Dim> dim_of(const Element& element) {
  if (const Dim* dim = std::get_if<Dim>(&element)) return *dim;
  const double number = std::get<double>(element);
  if (std::nearbyint(number) != number || std::fabs(number) > 9.0e18) return {};
  return Dim(static_cast<int64_t>(number));
}

std::optional<double> number_of(const Element& element) {
  if (const double* number = std::get_if<double>(&element)) return *number;
  const Dim& dim = std::get<Dim>(element);
  if (!dim.is_constant()) return {};
  return static_cast<double>(dim.constant());
}

Element stored(DType dtype, double value) {
  if (!is_float(dtype)) throw InternalError("a fractional element of an integer tensor");
  if (dtype == DType::kF64) return value;
  if (dtype == DType::kF32) return static_cast<double>(static_cast<float>(value));
  return Tensor::scalar(dtype, value).real(0);
}

Element stored(DType dtype, const Dim& value) {
  if (is_float(dtype)) {
    if (!value.is_constant()) return value;
    return stored(dtype, static_cast<double>(value.constant()));
  }
  if (!value.is_constant() || dtype == DType::kI64) return value;
  if (dtype == DType::kBool) return Dim(value.constant() != 0 ? 1 : 0);
  Tensor one(dtype, {});
  one.set_integer(0, value.constant());
  return Dim(one.integer(0));
}

}  // namespace stitch
