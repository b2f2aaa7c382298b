// Combiners and identities of reductions, windows and scans.
#pragma once
#include <limits>

#include "graph/attributes.h"
#include "graph/elementwise_scalar.h"

namespace stitch {

template <class T>
T reduction_identity(ReduceKind kind) {
  using Limits = std::numeric_limits<T>;
  switch (kind) {
    case ReduceKind::kSum:
      return T{0};
    case ReduceKind::kProd:
      return T{1};
    case ReduceKind::kMin:
      return Limits::has_infinity ? Limits::infinity() : Limits::max();
    case ReduceKind::kMax:
      return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  }
  throw InternalError("a reduction has no kind");
}

// Calls f(combine) with the binary function of the kind; bool has min and max only.
template <class T, class F>
void visit_combiner(ReduceKind kind, F&& f) {
  switch (kind) {
    case ReduceKind::kSum:
      if constexpr (!std::is_same_v<T, bool>) {
        return f([](T a, T b) { return scalar::add(a, b); });
      }
      break;
    case ReduceKind::kProd:
      if constexpr (!std::is_same_v<T, bool>) {
        return f([](T a, T b) { return scalar::mul(a, b); });
      }
      break;
    case ReduceKind::kMin:
      return f([](T a, T b) { return scalar::min(a, b); });
    case ReduceKind::kMax:
      return f([](T a, T b) { return scalar::max(a, b); });
  }
  throw InternalError("a reduction of bool can neither add nor multiply");
}

}  // namespace stitch
