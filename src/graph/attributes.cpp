#include "graph/attributes.h"

namespace stitch {

Attributes default_attributes(Op op) {
  switch (op) {
    case Op::k_neg:
    case Op::k_abs:
    case Op::k_sign:
    case Op::k_floor:
    case Op::k_ceil:
    case Op::k_round:
    case Op::k_add:
    case Op::k_sub:
    case Op::k_mul:
    case Op::k_min:
    case Op::k_max:
    case Op::k_select:
    case Op::k_bitcast:
    case Op::k_not:
    case Op::k_div:
    case Op::k_rem:
    case Op::k_sqrt:
    case Op::k_exp:
    case Op::k_expm1:
    case Op::k_log:
    case Op::k_log1p:
    case Op::k_pow:
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
    case Op::k_reshape:
    case Op::k_loop:
    case Op::k_branch:
    case Op::k_bounded:
    case Op::k_nms:
      return std::monostate{};
    case Op::k_compare:
      return CompareAttributes{};
    case Op::k_cast:
      return CastAttributes{};
    case Op::k_bitwise:
      return BitwiseAttributes{};
    case Op::k_shift:
      return ShiftAttributes{};
    case Op::k_constant:
      return ConstantAttributes{};
    case Op::k_iota:
      return IotaAttributes{};
    case Op::k_philox:
      return PhiloxAttributes{};
    case Op::k_broadcast:
      return BroadcastAttributes{};
    case Op::k_transpose:
      return TransposeAttributes{};
    case Op::k_slice:
      return SliceAttributes{};
    case Op::k_reverse:
      return ReverseAttributes{};
    case Op::k_pad:
      return PadAttributes{};
    case Op::k_concat:
    case Op::k_gather:
    case Op::k_gather_elements:
      return AxisAttributes{};
    case Op::k_gather_nd:
      return GatherNdAttributes{};
    case Op::k_scatter_elements:
    case Op::k_scatter_nd:
      return ScatterAttributes{};
    case Op::k_reduce:
      return ReduceAttributes{};
    case Op::k_argreduce:
      return ArgReduceAttributes{};
    case Op::k_reduce_window:
    case Op::k_argwindow:
      return WindowAttributes{};
    case Op::k_cumulative:
      return CumulativeAttributes{};
    case Op::k_top_k:
      return TopKAttributes{};
    case Op::k_matmul:
      return MatmulAttributes{};
    case Op::k_conv:
    case Op::k_conv_transpose:
      return ConvAttributes{};
  }
  throw InternalError("an op is missing from default_attributes");
}

}  // namespace stitch
