// Unary and binary ops, compare and select.
#include "graph/elementwise_scalar.h"
#include "graph/op_evaluation.h"

namespace stitch {
namespace {

template <class T, class F>
Tensor map(const OpCall& call, F f) {
  Tensor result(call.operand(0).dtype(), call.result_extents);
  const int64_t count = result.element_count();
  const T* x = data<T>(call.operand(0));
  T* y = mutable_data<T>(result);
  for (int64_t i = 0; i < count; ++i) y[i] = f(x[i]);
  return result;
}

template <class R, class T, class F>
Tensor zip(const OpCall& call, DType dtype, F f) {
  Tensor result(dtype, call.result_extents);
  const int64_t count = result.element_count();
  const T* a = data<T>(call.operand(0));
  const T* b = data<T>(call.operand(1));
  R* y = mutable_data<R>(result);
  for (int64_t i = 0; i < count; ++i) y[i] = f(a[i], b[i]);
  return result;
}

[[noreturn]] void unsupported(const OpCall& call) {
  throw InternalError("the evaluator has no " + std::string(name(call.op)) + " of " +
                      std::string(name(call.operand(0).dtype())));
}

// STITCH_CASE(op, f) maps the scalar function f over the operands when the node is `op`.
#define STITCH_UNARY(op_name, function) \
  if (call.op == Op::k_##op_name) return map<T>(call, [](T x) { return function(x); })
#define STITCH_BINARY(op_name, function)                                    \
  if (call.op == Op::k_##op_name) {                                         \
    return zip<T, T>(call, dtype, [](T a, T b) { return function(a, b); }); \
  }

template <class T>
Tensor unary_of_floats(const OpCall& call) {
  STITCH_UNARY(neg, scalar::neg);
  STITCH_UNARY(abs, scalar::abs);
  STITCH_UNARY(sign, scalar::sign);
  STITCH_UNARY(floor, scalar::floor);
  STITCH_UNARY(ceil, scalar::ceil);
  STITCH_UNARY(round, scalar::round);
  STITCH_UNARY(sqrt, std::sqrt);
  STITCH_UNARY(exp, std::exp);
  STITCH_UNARY(expm1, std::expm1);
  STITCH_UNARY(log, std::log);
  STITCH_UNARY(log1p, std::log1p);
  STITCH_UNARY(sin, std::sin);
  STITCH_UNARY(cos, std::cos);
  STITCH_UNARY(tan, std::tan);
  STITCH_UNARY(asin, std::asin);
  STITCH_UNARY(acos, std::acos);
  STITCH_UNARY(atan, std::atan);
  STITCH_UNARY(sinh, std::sinh);
  STITCH_UNARY(cosh, std::cosh);
  STITCH_UNARY(tanh, std::tanh);
  STITCH_UNARY(asinh, std::asinh);
  STITCH_UNARY(acosh, std::acosh);
  STITCH_UNARY(atanh, std::atanh);
  STITCH_UNARY(erf, std::erf);
  unsupported(call);
}

template <class T>
Tensor unary_of_integers(const OpCall& call) {
  STITCH_UNARY(not, scalar::bitwise_not);
  if constexpr (scalar::Integer<T>) {
    STITCH_UNARY(neg, scalar::neg);
    STITCH_UNARY(abs, scalar::abs);
    STITCH_UNARY(sign, scalar::sign);
  }
  unsupported(call);
}

template <class T>
Tensor bitwise_op(const OpCall& call) {
  const DType dtype = call.operand(0).dtype();
  switch (call.as<BitwiseAttributes>().kind) {
    case BitwiseKind::kAnd:
      return zip<T, T>(call, dtype, [](T a, T b) { return scalar::bitwise_and(a, b); });
    case BitwiseKind::kOr:
      return zip<T, T>(call, dtype, [](T a, T b) { return scalar::bitwise_or(a, b); });
    case BitwiseKind::kXor:
      return zip<T, T>(call, dtype, [](T a, T b) { return scalar::bitwise_xor(a, b); });
  }
  unsupported(call);
}

template <class T>
Tensor shift_op(const OpCall& call) {
  const DType dtype = call.operand(0).dtype();
  switch (call.as<ShiftAttributes>().kind) {
    case ShiftKind::kLeft:
      return zip<T, T>(call, dtype, [](T a, T b) { return scalar::shift_left(a, b); });
    case ShiftKind::kRight:
      return zip<T, T>(call, dtype, [](T a, T b) { return scalar::shift_right(a, b); });
  }
  unsupported(call);
}

template <class T>
Tensor binary_of(const OpCall& call) {
  const DType dtype = call.operand(0).dtype();
  STITCH_BINARY(min, scalar::min)
  STITCH_BINARY(max, scalar::max)
  if constexpr (!std::is_same_v<T, bool>) {
    STITCH_BINARY(add, scalar::add)
    STITCH_BINARY(sub, scalar::sub)
    STITCH_BINARY(mul, scalar::mul)
    STITCH_BINARY(div, scalar::div)
    STITCH_BINARY(rem, scalar::rem)
    STITCH_BINARY(pow, scalar::pow)
  }
  if constexpr (!scalar::Float<T>) {
    if (call.op == Op::k_bitwise) return bitwise_op<T>(call);
  }
  if constexpr (scalar::Integer<T>) {
    if (call.op == Op::k_shift) return shift_op<T>(call);
  }
  unsupported(call);
}

#undef STITCH_UNARY
#undef STITCH_BINARY

template <class T>
Tensor compare_op(const OpCall& call) {
  switch (call.as<CompareAttributes>().kind) {
    case CompareKind::kEq:
      return zip<bool, T>(call, DType::kBool, [](T a, T b) { return a == b; });
    case CompareKind::kLt:
      return zip<bool, T>(call, DType::kBool, [](T a, T b) { return a < b; });
    case CompareKind::kLe:
      return zip<bool, T>(call, DType::kBool, [](T a, T b) { return a <= b; });
  }
  unsupported(call);
}

}  // namespace

Tensor evaluate_unary(const OpCall& call) {
  return visit_type(call.operand(0).dtype(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    if constexpr (scalar::Float<T>) {
      return unary_of_floats<T>(call);
    } else {
      return unary_of_integers<T>(call);
    }
  });
}

Tensor evaluate_binary(const OpCall& call) {
  return visit_type(call.operand(0).dtype(),
                    [&](auto tag) { return binary_of<typename decltype(tag)::Type>(call); });
}

Tensor evaluate_choice(const OpCall& call) {
  if (call.op == Op::k_compare) {
    return visit_type(call.operand(0).dtype(),
                      [&](auto tag) { return compare_op<typename decltype(tag)::Type>(call); });
  }
  Tensor result(call.operand(1).dtype(), call.result_extents);
  visit_bits(result.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const bool* condition = data<bool>(call.operand(0));
    const T* a = data<T>(call.operand(1));
    const T* b = data<T>(call.operand(2));
    T* y = mutable_data<T>(result);
    const int64_t count = result.element_count();
    for (int64_t i = 0; i < count; ++i) y[i] = condition[i] ? a[i] : b[i];
  });
  return result;
}

}  // namespace stitch
