// Linear quantisation as primitives.
#pragma once
#include <optional>

#include "frontend/primitive_builder.h"

namespace stitch {

// Scalars, or already of the shape of the operand.
struct QuantisationParameters {
  ValueId scale;
  std::optional<ValueId> zero_point;
};

// saturate(round(x / scale) + zero_point)
ValueId quantise(PrimitiveBuilder& b, ValueId x, const QuantisationParameters& p, DType to);
// (x - zero_point) * scale, the difference in int32
ValueId dequantise(PrimitiveBuilder& b, ValueId x, const QuantisationParameters& p);
// x - zero_point in int32
ValueId less_zero_point(PrimitiveBuilder& b, ValueId x, std::optional<ValueId> zero_point);
// A parameter per tensor, per entry of an axis or per block of an axis, of the operand's shape.
ValueId along_axis(PrimitiveBuilder& b, ValueId parameter, const Shape& shape, int axis,
                   int64_t block_size);

struct DynamicQuantisation {
  ValueId value;       // uint8
  ValueId scale;       // float32 scalar
  ValueId zero_point;  // uint8 scalar
};
// To uint8 over the range of the data, with 0 in the range.
DynamicQuantisation quantise_dynamically(PrimitiveBuilder& b, ValueId x);

}  // namespace stitch
