// Composite operators on 16-bit floats: computed in float32, rounded once at the end.
#pragma once
#include "frontend/primitive_builder.h"

namespace stitch {

// f maps a value to a value; it sees x in the type in which its dtype is computed.
template <class F>
ValueId widened(PrimitiveBuilder& b, ValueId x, const F& f) {
  const DType dtype = b.dtype(x);
  return b.cast(f(b.cast(x, compute_type(dtype))), dtype);
}

}  // namespace stitch
