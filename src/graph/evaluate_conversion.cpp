// cast and bitcast.
#include <bit>

#include "graph/elementwise_scalar.h"
#include "graph/op_evaluation.h"

namespace stitch {
namespace {

template <class To, class From, class F>
void convert(Tensor& result, const Tensor& operand, F f) {
  const From* in = data<From>(operand);
  To* out = mutable_data<To>(result);
  const int64_t count = result.element_count();
  for (int64_t i = 0; i < count; ++i) out[i] = f(in[i]);
}

// An integer as a double whose last bit is set when it is inexact ("round to odd"): rounding that
// to 16 bits later gives what rounding the integer once would.
template <class T>
double odd_rounded(T x) {
  auto nearest = static_cast<double>(x);
  const auto exact = static_cast<long double>(x);  // 64 bits of significand on x86-64
  if (static_cast<long double>(nearest) == exact) return nearest;
  const auto bits = std::bit_cast<uint64_t>(nearest);
  if ((bits & 1) != 0) return nearest;
  const bool above = (static_cast<long double>(nearest) > exact) == (nearest > 0);
  return std::bit_cast<double>(above ? bits - 1 : bits + 1);
}

// From a type that is wider than f32 to a 16-bit float: rounds once.
template <class From>
void convert_to_half(Tensor& result, const Tensor& operand, DType dtype) {
  const auto wide = [](From x) {
    if constexpr (std::is_integral_v<From>) {
      return odd_rounded(x);
    } else {
      return static_cast<double>(x);
    }
  };
  if (dtype == DType::kF16) {
    convert<float, From>(result, operand,
                         [&](From x) { return static_cast<float>(f16_value(f16_bits(wide(x)))); });
  } else {
    convert<float, From>(result, operand, [&](From x) {
      return static_cast<float>(bf16_value(bf16_bits(wide(x))));
    });
  }
}

Tensor evaluate_cast(const OpCall& call) {
  const Tensor& operand = call.operand(0);
  const DType to = working_dtype(call.result_dtype, call.precision);
  // Floats to f64 in f64 precision, or f16 to f32, are the same values; f32 to f16 is rounded by
  // the caller, as every result is.
  if (operand.dtype() == to) return operand;
  Tensor result(to, call.result_extents);
  visit_type(operand.dtype(), [&](auto from_tag) {
    using From = typename decltype(from_tag)::Type;
    if (to == DType::kF32 && is_half(call.result_dtype) && sizeof(From) > 2) {
      return convert_to_half<From>(result, operand, call.result_dtype);
    }
    visit_type(to, [&](auto to_tag) {
      using To = typename decltype(to_tag)::Type;
      convert<To, From>(result, operand, [](From x) { return scalar::cast<To>(x); });
    });
  });
  return result;
}

Tensor evaluate_bitcast(const OpCall& call) {
  const Tensor stored = to_stored(call.operand(0), call.operand_dtypes[0]);
  const Tensor renamed(call.result_dtype, stored.extents(), stored.bytes(), stored.owner());
  return to_working(renamed, call.precision);
}

}  // namespace

Tensor evaluate_conversion(const OpCall& call) {
  return call.op == Op::k_cast ? evaluate_cast(call) : evaluate_bitcast(call);
}

}  // namespace stitch
