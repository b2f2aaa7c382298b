// Rotary position embedding as primitives.
#pragma once
#include <cstdint>
#include <optional>

#include "frontend/primitive_builder.h"

namespace stitch {

struct RotaryTables {
  ValueId cos, sin;  // [positions, size/2] with ids, [batch, length, size/2] without
  std::optional<ValueId> positions;  // ids, [batch, length]
};

struct RotaryOptions {
  int64_t heads = 0;    // of a 3-D operand
  int64_t rotated = 0;  // leading elements of each head that turn; 0: all
  bool interleaved = false;
};

// x: [batch, heads, length, size] or [batch, length, heads * size].
ValueId rotary_embedding(PrimitiveBuilder& b, ValueId x, const RotaryTables& tables,
                         const RotaryOptions& options);

}  // namespace stitch
