// iota and philox; constants are handed over by the driver.
#include "graph/elementwise_scalar.h"
#include "graph/op_evaluation.h"
#include "graph/philox.h"

namespace stitch {

Tensor evaluate_generator(const OpCall& call) {
  Tensor result = call.make_result();
  if (call.op == Op::k_philox) {
    const auto& philox = call.as<PhiloxAttributes>();
    uint32_t* out = mutable_data<uint32_t>(result);
    for (int64_t i = 0; i < result.element_count(); ++i) {
      out[i] = philox_word(philox.seed, philox.stream, static_cast<uint64_t>(i));
    }
    return result;
  }
  const AxisView view = view_along(call.result_extents, call.as<IotaAttributes>().axis);
  visit_type(result.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    T* out = mutable_data<T>(result);
    for (int64_t o = 0; o < view.outer; ++o) {
      for (int64_t i = 0; i < view.axis; ++i) {
        for (int64_t j = 0; j < view.inner; ++j) *out++ = scalar::cast<T>(i);
      }
    }
  });
  return result;
}

}  // namespace stitch
