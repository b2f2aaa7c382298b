// Result types of element-wise ops and generators.
#include <algorithm>

#include "graph/type_rules.h"

namespace stitch {
namespace {

enum class Accepted { kAny, kNumber, kFloat, kBits, kInteger };

Accepted accepted_by(Op op) {
  const auto among = [op](std::initializer_list<Op> ops) {
    return std::find(ops.begin(), ops.end(), op) != ops.end();
  };
  if (among({Op::k_min, Op::k_max, Op::k_compare, Op::k_select, Op::k_cast, Op::k_bitcast})) {
    return Accepted::kAny;
  }
  if (among({Op::k_neg, Op::k_abs, Op::k_sign, Op::k_add, Op::k_sub, Op::k_mul, Op::k_div,
             Op::k_rem, Op::k_pow})) {
    return Accepted::kNumber;
  }
  if (among({Op::k_bitwise, Op::k_not})) return Accepted::kBits;
  if (op == Op::k_shift) return Accepted::kInteger;
  return Accepted::kFloat;  // rounding and libm functions
}

void require_dtype(const TypeQuery& query, DType dtype) {
  switch (accepted_by(query.op)) {
    case Accepted::kAny:
      return;
    case Accepted::kNumber:
      if (dtype == DType::kBool) reject(query, "numbers", operand_types(query));
      return;
    case Accepted::kFloat:
      if (!is_float(dtype)) reject(query, "floats", operand_types(query));
      return;
    case Accepted::kBits:
      if (is_float(dtype)) reject(query, "integers or bool", operand_types(query));
      return;
    case Accepted::kInteger:
      if (!is_integer(dtype)) reject(query, "integers", operand_types(query));
      return;
  }
}

std::vector<ValueType> select_types(const TypeQuery& query) {
  const ValueType& condition = query.operand(0);
  if (condition.dtype != DType::kBool) {
    reject(query, "a bool condition", to_string(condition));
  }
  if (!(query.operand(1) == query.operand(2)) || !(condition.shape == query.operand(1).shape)) {
    reject(query, "a condition of the shape of two operands of equal type", operand_types(query));
  }
  return {query.operand(1)};
}

const ValueType& require_given(const TypeQuery& query) {
  if (query.given == nullptr) {
    throw InternalError(fmt::format("a {} node was made without its type", name(query.op)));
  }
  return *query.given;
}

}  // namespace

std::vector<ValueType> elementwise_types(const TypeQuery& query) {
  const ValueType& first = query.operand(0);
  if (query.op == Op::k_select) return select_types(query);
  require_dtype(query, first.dtype);
  for (const ValueType& operand : query.operands) {
    if (!(operand == first)) reject(query, "operands of equal type", operand_types(query));
  }
  if (query.op == Op::k_compare) return {{DType::kBool, first.shape}};
  if (query.op == Op::k_cast || query.op == Op::k_bitcast) {
    const ValueType& given = require_given(query);
    if (!(given.shape == first.shape)) {
      reject(query, "a result of shape " + to_string(first.shape), to_string(given));
    }
    if (query.op == Op::k_bitcast && size_bytes(given.dtype) != size_bytes(first.dtype)) {
      reject(query, fmt::format("a result of {} bytes an element", size_bytes(first.dtype)),
             to_string(given));
    }
    return {given};
  }
  return {first};
}

std::vector<ValueType> generator_types(const TypeQuery& query) {
  if (query.op == Op::k_constant) {
    const Tensor& tensor = query.as<ConstantAttributes>().tensor;
    return {{tensor.dtype(), Shape(tensor.extents().begin(), tensor.extents().end())}};
  }
  const ValueType& given = require_given(query);
  if (query.op == Op::k_iota) {
    if (given.dtype == DType::kBool) reject(query, "a type of numbers", to_string(given));
    require_axis(query, query.as<IotaAttributes>().axis, static_cast<int>(given.shape.size()));
  } else if (given.dtype != DType::kU32) {
    reject(query, "a u32 type", to_string(given));
  }
  return {given};
}

}  // namespace stitch
