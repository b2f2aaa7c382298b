#include "emit_cuda/scalar_text.h"

#include <fmt/format.h>

#include <cmath>

#include "emit_cuda/cuda_types.h"
#include "graph/error.h"

namespace stitch {
namespace {

CudaText call(const std::string& function, const std::vector<CudaText>& arguments) {
  std::string text = function + "(";
  for (size_t i = 0; i < arguments.size(); ++i) text += (i > 0 ? ", " : "") + arguments[i].text;
  return {text + ")", Precedence::kPrimary};
}

CudaText prefix(const std::string& symbol, const CudaText& x) {
  std::string inner = operand(x, Precedence::kUnary);
  if (symbol == "-" && inner.starts_with('-')) inner = "(" + inner + ")";
  return {symbol + inner, Precedence::kUnary};
}

// expf for float, exp for double.
CudaText library_call(const std::string& function, DType dtype,
                      const std::vector<CudaText>& arguments) {
  return call(dtype == DType::kF64 ? function : function + "f", arguments);
}

// True when 1/x and every product with it are exact: x is a power of two away from the ends.
bool has_exact_reciprocal(double x) {
  int exponent = 0;
  return std::isfinite(x) && std::abs(std::frexp(x, &exponent)) == 0.5 && std::abs(exponent) < 100;
}

CudaText divide_text(DType dtype, const ScalarOperand& a, const ScalarOperand& b) {
  if (is_integer(dtype)) return call("stitch_truncated_quotient", {a.text, b.text});
  if (b.constant && has_exact_reciprocal(*b.constant)) {
    return infix(a.text, "*", {real_literal(dtype, 1.0 / *b.constant)}, Precedence::kProduct);
  }
  return infix(a.text, "/", b.text, Precedence::kProduct);
}

CudaText power_text(DType dtype, const ScalarOperand& a, const ScalarOperand& b) {
  if (is_integer(dtype)) return call("stitch_integer_power", {a.text, b.text});
  const bool simple = a.text.precedence == Precedence::kPrimary && a.text.text.size() < 32;
  if (b.constant && *b.constant == 1.0) return a.text;
  if (b.constant && *b.constant == 2.0) {
    if (simple) return infix(a.text, "*", a.text, Precedence::kProduct);
    return call("stitch_square", {a.text});
  }
  if (b.constant && *b.constant == 3.0) return call("stitch_cube", {a.text});
  if (b.constant && *b.constant == 0.5) return library_call("sqrt", dtype, {a.text});
  if (b.constant && *b.constant == -1.0) {
    return infix({real_literal(dtype, 1.0)}, "/", a.text, Precedence::kProduct);
  }
  return library_call("pow", dtype, {a.text, b.text});
}

CudaText compare_text(CompareKind kind, const CudaText& a, const CudaText& b) {
  switch (kind) {
    case CompareKind::kEq:
      return infix(a, "==", b, Precedence::kEquality);
    case CompareKind::kLt:
      return infix(a, "<", b, Precedence::kRelation);
    case CompareKind::kLe:
      return infix(a, "<=", b, Precedence::kRelation);
  }
  throw InternalError("a comparison has no kind");
}

// A result of the built-in operators on small integers is int; back to the register type.
CudaText narrowed(DType dtype, const CudaText& x) {
  if (size_bytes(dtype) >= 4 || dtype == DType::kBool) return x;
  return call("static_cast<" + register_type(dtype) + ">", {x});
}

CudaText bitwise_text(BitwiseKind kind, DType dtype, const CudaText& a, const CudaText& b) {
  const bool logical = dtype == DType::kBool;
  switch (kind) {
    case BitwiseKind::kAnd:
      return logical ? infix(a, "&&", b, Precedence::kAnd)
                     : narrowed(dtype, infix(a, "&", b, Precedence::kBitAnd));
    case BitwiseKind::kOr:
      return logical ? infix(a, "||", b, Precedence::kOr)
                     : narrowed(dtype, infix(a, "|", b, Precedence::kBitOr));
    case BitwiseKind::kXor:
      return logical ? infix(a, "!=", b, Precedence::kEquality)
                     : narrowed(dtype, infix(a, "^", b, Precedence::kBitXor));
  }
  throw InternalError("a bitwise operation has no kind");
}

CudaText bitcast_text(const CudaText& x, DType from, DType to) {
  if (from == to) return x;
  CudaText stored = x;
  if (is_half(from)) stored = call(memory_type(from), {x});
  if (from == DType::kBool) stored = call("static_cast<unsigned char>", {x});
  const CudaText bits = call("stitch_bits<" + memory_type(to) + ">", {stored});
  if (is_half(to)) return call("stitch_float", {bits});
  if (to == DType::kBool) return infix(bits, "!=", {"0"}, Precedence::kEquality);
  return bits;
}

CudaText sum_text(const std::string& symbol, const ScalarContext& context, const CudaText& a,
                  const CudaText& b) {
  const DType dtype = context.result;
  if (dtype == DType::kBool) return infix(a, "||", b, Precedence::kOr);
  if (is_integer(dtype)) {
    return call(symbol == "+" ? "stitch_wrap_add" : "stitch_wrap_subtract", {a, b});
  }
  if (context.uncontracted) {
    return call("stitch_add_alone", {a, symbol == "+" ? b : prefix("-", b)});
  }
  return infix(a, symbol, b, Precedence::kSum);
}

CudaText product_text(const ScalarContext& context, const CudaText& a, const CudaText& b) {
  if (context.result == DType::kBool) return infix(a, "&&", b, Precedence::kAnd);
  if (is_integer(context.result)) return call("stitch_wrap_multiply", {a, b});
  if (context.uncontracted) return call("stitch_multiply_alone", {a, b});
  return infix(a, "*", b, Precedence::kProduct);
}

}  // namespace

CudaText scalar_text(Op op, const Attributes& attributes, const ScalarContext& context,
                     const std::vector<ScalarOperand>& operands) {
  const DType dtype = context.result;
  const auto x = [&](size_t i) -> const CudaText& { return operands.at(i).text; };
  switch (op) {
    case Op::k_neg:
      return is_integer(dtype) ? call("stitch_wrap_negate", {x(0)}) : prefix("-", x(0));
    case Op::k_abs:
      return is_integer(dtype) ? call("stitch_wrap_abs", {x(0)})
                               : library_call("fabs", dtype, {x(0)});
    case Op::k_sign:
      return call("stitch_sign", {x(0)});
    case Op::k_floor:
      return library_call("floor", dtype, {x(0)});
    case Op::k_ceil:
      return library_call("ceil", dtype, {x(0)});
    case Op::k_round:
      return library_call("rint", dtype, {x(0)});
    case Op::k_add:
      return sum_text("+", context, x(0), x(1));
    case Op::k_sub:
      return sum_text("-", context, x(0), x(1));
    case Op::k_mul:
      return product_text(context, x(0), x(1));
    case Op::k_min:
      return combine_text(ReduceKind::kMin, dtype, x(0), x(1));
    case Op::k_max:
      return combine_text(ReduceKind::kMax, dtype, x(0), x(1));
    case Op::k_compare:
      return compare_text(std::get<CompareAttributes>(attributes).kind, x(0), x(1));
    case Op::k_select:
      return {operand(x(0), Precedence::kOr) + " ? " + operand(x(1), Precedence::kOr) + " : " +
                  operand(x(2), Precedence::kChoice),
              Precedence::kChoice};
    case Op::k_cast:
      return cast_text(x(0), operands[0].dtype, dtype);
    case Op::k_bitcast:
      return bitcast_text(x(0), operands[0].dtype, dtype);
    case Op::k_bitwise:
      return bitwise_text(std::get<BitwiseAttributes>(attributes).kind, dtype, x(0), x(1));
    case Op::k_not:
      return dtype == DType::kBool ? prefix("!", x(0)) : narrowed(dtype, prefix("~", x(0)));
    case Op::k_shift:
      return call(std::get<ShiftAttributes>(attributes).kind == ShiftKind::kLeft
                      ? "stitch_shift_left"
                      : "stitch_shift_right",
                  {x(0), x(1)});
    case Op::k_div:
      if (operands.size() == 1) return call("stitch_reciprocal", {x(0)});
      if (operands.size() == 3) return call("stitch_times", {x(0), x(2)});
      return divide_text(dtype, operands[0], operands[1]);
    case Op::k_rem:
      return is_integer(dtype) ? call("stitch_truncated_remainder", {x(0), x(1)})
                               : library_call("fmod", dtype, {x(0), x(1)});
    case Op::k_pow:
      return power_text(dtype, operands[0], operands[1]);
    case Op::k_exp:
      return call("stitch_exp", {x(0)});
    case Op::k_log:
      return call("stitch_log", {x(0)});
    case Op::k_sqrt:
    case Op::k_expm1:
    case Op::k_log1p:
    case Op::k_sin:
    case Op::k_cos:
    case Op::k_tan:
    case Op::k_asin:
    case Op::k_acos:
    case Op::k_atan:
    case Op::k_sinh:
    case Op::k_cosh:
    case Op::k_tanh:
    case Op::k_asinh:
    case Op::k_acosh:
    case Op::k_atanh:
    case Op::k_erf:
      return library_call(std::string(name(op)), dtype, {x(0)});
    case Op::k_constant:
    case Op::k_iota:
    case Op::k_philox:
    case Op::k_reshape:
    case Op::k_broadcast:
    case Op::k_transpose:
    case Op::k_slice:
    case Op::k_reverse:
    case Op::k_pad:
    case Op::k_concat:
    case Op::k_gather:
    case Op::k_gather_elements:
    case Op::k_gather_nd:
    case Op::k_scatter_elements:
    case Op::k_scatter_nd:
    case Op::k_reduce:
    case Op::k_argreduce:
    case Op::k_reduce_window:
    case Op::k_argwindow:
    case Op::k_cumulative:
    case Op::k_top_k:
    case Op::k_matmul:
    case Op::k_conv:
    case Op::k_conv_transpose:
    case Op::k_loop:
    case Op::k_branch:
    case Op::k_bounded:
    case Op::k_nms:
      break;
  }
  throw InternalError(fmt::format("{} is not an element-wise primitive", name(op)));
}

CudaText cast_text(const CudaText& x, DType from, DType to) {
  if (from == to) return x;
  if (to == DType::kBool) {
    return infix(x, "!=", {integer_literal(from, 0)}, Precedence::kEquality);
  }
  const std::string target = "static_cast<" + register_type(to) + ">";
  if (is_half(to)) {
    const std::string stored = "<" + memory_type(to) + ">";
    if (from == DType::kF64) return call("stitch_rounded_once" + stored, {x});
    if (is_integer(from) && size_bytes(from) >= 4) {
      return call("stitch_rounded_once" + stored, {call("static_cast<double>", {x})});
    }
    if (from == DType::kBool) return call(target, {x});
    const CudaText real = is_float(from) ? x : call("static_cast<float>", {x});
    return call("stitch_rounded" + stored, {real});
  }
  if (is_half(from) && to == DType::kF32) return x;
  if (!is_float(from) || is_float(to)) return call(target, {x});
  switch (to) {
    case DType::kI64:
      return call("stitch_to_long", {x});
    case DType::kI32:
      return call("stitch_to_int", {x});
    case DType::kU32:
      return call("stitch_to_unsigned", {x});
    case DType::kU64:
      return call("stitch_to_unsigned_long", {x});
    case DType::kI8:
    case DType::kI16:
    case DType::kU8:
    case DType::kU16:
      return call(target, {call("stitch_to_int", {x})});
    case DType::kBool:
    case DType::kF16:
    case DType::kBF16:
    case DType::kF32:
    case DType::kF64:
      break;
  }
  throw InternalError("a cast has no integer target");
}

DType accumulator(ReduceKind kind, DType dtype) {
  if (is_float(dtype)) return compute_type(dtype);
  if (dtype == DType::kBool) return DType::kBool;
  const bool adds = kind == ReduceKind::kSum || kind == ReduceKind::kProd;
  return adds && size_bytes(dtype) < 4 ? DType::kI32 : dtype;
}

CudaText combine_text(ReduceKind kind, DType dtype, const CudaText& a, const CudaText& b) {
  const ScalarContext context = {dtype, false};
  switch (kind) {
    case ReduceKind::kSum:
      return sum_text("+", context, a, b);
    case ReduceKind::kProd:
      return product_text(context, a, b);
    case ReduceKind::kMin:
      if (dtype == DType::kBool) return infix(a, "&&", b, Precedence::kAnd);
      return call("stitch_min_nan", {a, b});
    case ReduceKind::kMax:
      if (dtype == DType::kBool) return infix(a, "||", b, Precedence::kOr);
      return call("stitch_max_nan", {a, b});
  }
  throw InternalError("a reduction has no kind");
}

std::string combine_functor(ReduceKind kind, DType dtype) {
  const bool whole = is_integer(dtype);
  switch (kind) {
    case ReduceKind::kSum:
      return dtype == DType::kBool ? "StitchMaxNan()" : whole ? "StitchWrapSum()" : "StitchSum()";
    case ReduceKind::kProd:
      return dtype == DType::kBool ? "StitchMinNan()"
             : whole               ? "StitchWrapProduct()"
                                   : "StitchProduct()";
    case ReduceKind::kMin:
      return "StitchMinNan()";
    case ReduceKind::kMax:
      return "StitchMaxNan()";
  }
  throw InternalError("a reduction has no kind");
}

std::string identity_text(ReduceKind kind, DType dtype) {
  switch (kind) {
    case ReduceKind::kSum:
      return integer_literal(dtype, 0);
    case ReduceKind::kProd:
      return integer_literal(dtype, 1);
    case ReduceKind::kMin:
    case ReduceKind::kMax:
      break;
  }
  const bool lowest = kind == ReduceKind::kMax;
  if (is_float(dtype)) return real_literal(dtype, lowest ? -INFINITY : INFINITY);
  if (dtype == DType::kBool) return lowest ? "false" : "true";
  const int bits = static_cast<int>(size_bytes(dtype)) * 8;
  if (!is_signed(dtype)) {
    const uint64_t highest = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
    return integer_literal(dtype, lowest ? 0 : static_cast<int64_t>(highest));
  }
  const auto highest = static_cast<int64_t>((uint64_t{1} << (bits - 1)) - 1);
  return integer_literal(dtype, lowest ? -highest - 1 : highest);
}

}  // namespace stitch
