// Operators about shapes and constants: Shape, Size, Constant, ConstantOfShape, Range, EyeLike.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "frontend/node_context.h"
#include "frontend/operator_table.h"
#include "graph/error.h"

namespace stitch {
namespace {

// Shape never reads data: its elements are the extents.
void lower_shape(NodeContext& n) {
  const Shape shape = n.shape(0);
  const auto rank = static_cast<int64_t>(shape.size());
  const auto clamped = [&](int64_t bound) {
    return std::clamp<int64_t>(bound < 0 ? bound + rank : bound, 0, rank);
  };
  const int64_t start = clamped(n.integer("start", 0));
  const int64_t end = std::max(start, clamped(n.integer("end", rank)));
  n.output(0, vector_of({shape.begin() + start, shape.begin() + end}));
}

void lower_size(NodeContext& n) { n.output(0, scalar_of(DType::kI64, element_count(n.shape(0)))); }

// The tensor of whichever value attribute is set.
OnnxTensor constant_tensor(NodeContext& n) {
  for (const char* name : {"value", "sparse_value"}) {
    if (n.has_attribute(name)) return n.tensor(name);
  }
  OnnxTensor result;
  if (n.has_attribute("value_float")) {
    result.tensor = Tensor::scalar(DType::kF32, n.number("value_float", 0));
  } else if (n.has_attribute("value_int")) {
    result.tensor = Tensor(DType::kI64, {});
    result.tensor.set_integer(0, n.integer("value_int", 0));
  } else if (n.has_attribute("value_floats")) {
    const auto values = n.numbers("value_floats");
    result.tensor = Tensor(DType::kF32, {static_cast<int64_t>(values.size())});
    for (size_t i = 0; i < values.size(); ++i) {
      result.tensor.set_real(static_cast<int64_t>(i), values[i]);
    }
  } else if (n.has_attribute("value_ints")) {
    result.tensor = Tensor::of_integers(DType::kI64, n.integers("value_ints"));
  } else if (n.has_attribute("value_string") || n.has_attribute("value_strings")) {
    throw ModelError("string elements are not supported");
  } else {
    throw ModelError("it has no value");
  }
  return result;
}

void lower_constant(NodeContext& n) {
  auto value = std::make_shared<ImportedValue>();
  value->name = n.node().outputs.at(0);
  value->owned_tensor = std::make_shared<const OnnxTensor>(constant_tensor(n));
  value->initializer = value->owned_tensor.get();
  n.output(0, value);
}

void lower_constant_of_shape(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  Tensor one = Tensor::scalar(DType::kF32, 0.0);
  if (n.has_attribute("value")) {
    const Tensor& given = n.tensor("value").tensor;
    if (given.element_count() != 1) {
      throw ModelError(
          fmt::format("attribute 'value' has {} elements, expected one", given.element_count()));
    }
    one = Tensor(given.dtype(), {});
    std::memcpy(one.mutable_bytes().data(), given.bytes().data(), given.bytes().size());
  }
  const Shape shape = n.known_dims(0);
  for (const Dim& dim : shape) {
    if (dim.is_constant() && dim.constant() < 0) {
      throw ModelError(fmt::format("negative extent in the shape {}", to_string(shape)));
    }
  }
  n.output(0, b.broadcast(b.constant(one), shape));
}

// max(ceil((limit - start) / delta), 0), in the type of the operands: 1 to 2.2 by 0.4 in float32
// gives 4 elements.
Dim range_count(NodeContext& n, DType dtype) {
  if (is_integer(dtype)) {
    const Dim start = n.known_dim(0);
    const Dim limit = n.known_dim(1);
    const int64_t delta = n.known_integer(2);
    if (delta == 0) throw ModelError("its step is 0");
    if (delta > 0) return max(floordiv(limit - start + Dim(delta - 1), Dim(delta)), Dim(0));
    return max(floordiv(start - limit + Dim(-delta - 1), Dim(-delta)), Dim(0));
  }
  const double start = n.known_number(0);
  const double limit = n.known_number(1);
  const double delta = n.known_number(2);
  if (delta == 0.0) throw ModelError("its step is 0");
  const double steps =
      dtype == DType::kF64
          ? (limit - start) / delta
          : static_cast<double>((static_cast<float>(limit) - static_cast<float>(start)) /
                                static_cast<float>(delta));
  if (!(std::fabs(steps) < 1e15)) throw ModelError("its length is not finite");
  return Dim(static_cast<int64_t>(std::max(std::ceil(steps), 0.0)));
}

void lower_range(NodeContext& n) {  // start + i * delta: no sum that drifts
  PrimitiveBuilder& b = n.builder();
  const DType dtype = n.dtype(0);
  const Dim count = range_count(n, dtype);
  const DType compute = compute_type(dtype);
  const ValueId index = b.iota(compute, {count}, 0);
  const ElementTensor* delta = n.elements(2);
  const ElementTensor* start = n.elements(0);
  const auto is_number = [](const ElementTensor* known, double number) {
    return known && known->count() == 1 && number_of(known->elements.front()) == number;
  };
  const auto scalar_input = [&](size_t i) { return b.reshape(b.cast(n.input(i), compute), {}); };
  ValueId result = is_number(delta, 1) ? index : b.mul(index, scalar_input(2));
  if (!is_number(start, 0)) result = b.add(result, scalar_input(0));
  n.output(0, b.cast(result, dtype));
}

void lower_eye_like(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const Shape shape = n.shape(0);
  if (shape.size() != 2) {
    throw ModelError(fmt::format("input 0 has rank {}, expected 2", shape.size()));
  }
  const ValueId offset = b.scalar_integer(DType::kI64, n.integer("k", 0));
  const ValueId row = b.add(b.iota(DType::kI64, shape, 0), offset);
  const ValueId diagonal = b.compare(CompareKind::kEq, row, b.iota(DType::kI64, shape, 1));
  n.output(0, b.cast(diagonal, n.dtype_attribute("dtype", n.dtype(0))));
}

constexpr OperatorRow kRows[] = {
    {"Constant", 1, lower_constant}, {"ConstantOfShape", 9, lower_constant_of_shape},
    {"EyeLike", 9, lower_eye_like},  {"Range", 11, lower_range},
    {"Shape", 1, lower_shape},       {"Size", 1, lower_size},
};

}  // namespace

std::span<const OperatorRow> shape_operators() { return kRows; }

}  // namespace stitch
