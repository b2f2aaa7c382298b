// Attributes of the primitives: one struct per op that has any, held in a variant.
#pragma once
#include <cstdint>
#include <variant>
#include <vector>

#include "graph/dim.h"
#include "graph/dtype.h"
#include "graph/error.h"
#include "graph/op.h"
#include "graph/tensor.h"

namespace stitch {

enum class CompareKind : uint8_t { kEq, kLt, kLe };
enum class BitwiseKind : uint8_t { kAnd, kOr, kXor };
enum class ShiftKind : uint8_t { kLeft, kRight };
enum class PadMode : uint8_t { kConstant, kEdge, kReflect, kWrap };
enum class ReduceKind : uint8_t { kSum, kProd, kMin, kMax };
enum class ScatterKind : uint8_t { kNone, kAdd, kMul, kMin, kMax };

struct CompareAttributes {
  CompareKind kind = CompareKind::kEq;
};
struct CastAttributes {  // the target dtype is that of the result
  bool saturate = true;  // float8 targets only
};
struct BitwiseAttributes {
  BitwiseKind kind = BitwiseKind::kAnd;
};
struct ShiftAttributes {
  ShiftKind kind = ShiftKind::kLeft;
};
struct ConstantAttributes {
  Tensor tensor;
};
struct IotaAttributes {
  int axis = 0;  // the element is its index along this axis of the result
};
struct PhiloxAttributes {
  uint64_t seed = 0;
  uint64_t stream = 0;
};
struct BroadcastAttributes {
  // axes[i] is the result axis of operand axis i, increasing; an operand extent of 1 is repeated.
  std::vector<int> axes;
};
struct TransposeAttributes {
  std::vector<int> perm;  // result axis i is operand axis perm[i]
};
struct SliceAttributes {  // one entry per axis
  std::vector<Dim> starts;
  std::vector<Dim> limits;     // exclusive
  std::vector<int64_t> steps;  // > 0
};
struct ReverseAttributes {
  std::vector<int> axes;
};
struct PadAttributes {    // operand 1 is the scalar fill value (constant mode)
  std::vector<Dim> low;   // >= 0, one entry per axis
  std::vector<Dim> high;  // >= 0
  PadMode mode = PadMode::kConstant;
};
struct AxisAttributes {  // concat, gather, gather_elements
  int axis = 0;
};
struct GatherNdAttributes {
  int batch_dims = 0;
};
struct ScatterAttributes {
  int axis = 0;  // scatter_elements only
  ScatterKind kind = ScatterKind::kNone;
};
struct ReduceAttributes {  // the reduced axes are dropped from the result
  ReduceKind kind = ReduceKind::kSum;
  std::vector<int> axes;  // sorted
};
struct ArgReduceAttributes {           // int64 result, axis dropped; NaN wins
  ReduceKind kind = ReduceKind::kMax;  // kMin or kMax
  int axis = 0;
  bool last = false;  // the last of equal elements instead of the first
};
struct WindowAttributes {              // over the trailing axes, as many as kernel has entries
  ReduceKind kind = ReduceKind::kMax;  // kSum or kMax; padding contributes the identity
  std::vector<int64_t> kernel, strides, dilations, low, high;
};
struct CumulativeAttributes {
  ReduceKind kind = ReduceKind::kSum;  // kSum or kProd
  int axis = 0;
  bool exclusive = false;
  bool reverse = false;
};
struct TopKAttributes {  // two results: values, int64 indices
  int axis = 0;
  int64_t k = 1;
  bool largest = true;
  bool sorted = true;
};
struct MatmulAttributes {  // [..., m, k] x [..., k, n] with equal leading extents
  DType accumulate = DType::kF32;
};
struct ConvAttributes {  // operand 0 [n, c, spatial...], operand 1 [out, c/groups, kernel...];
                         // conv_transpose: operand 1 [c, out/groups, kernel...]
  std::vector<int64_t> strides, dilations, low, high;
  std::vector<int64_t> output_padding;  // conv_transpose only
  int64_t groups = 1;
  DType accumulate = DType::kF32;
};

using Attributes =
    std::variant<std::monostate, CompareAttributes, CastAttributes, BitwiseAttributes,
                 ShiftAttributes, ConstantAttributes, IotaAttributes, PhiloxAttributes,
                 BroadcastAttributes, TransposeAttributes, SliceAttributes, ReverseAttributes,
                 PadAttributes, AxisAttributes, GatherNdAttributes, ScatterAttributes,
                 ReduceAttributes, ArgReduceAttributes, WindowAttributes, CumulativeAttributes,
                 TopKAttributes, MatmulAttributes, ConvAttributes>;

// The alternative that `op` carries, with its default values; monostate for ops without any.
Attributes default_attributes(Op op);

template <class T>
const T& attributes_as(const Attributes& attributes) {
  if (const T* found = std::get_if<T>(&attributes)) return *found;
  throw InternalError("a node carries the attributes of another op");
}

}  // namespace stitch
