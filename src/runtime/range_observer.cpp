#include "runtime/range_observer.h"

namespace STITCH_RUNTIME_NAMESPACE {

RangeObserver::RangeObserver(const Model& model, const RangeCallbacks& callbacks)
    : callbacks_(callbacks) {
  if (!enabled()) return;
  for (const BoundStep& step : model.steps()) {
    std::string name = bound_step_name(step);
    if (const auto* nodes = source_nodes(step)) {
      for (std::size_t number = 0; number < nodes->size(); ++number) {
        name += (number == 0 ? ": " : ", ") + (*nodes)[number];
      }
    }
    names_.push_back(name);
  }
}

}  // namespace STITCH_RUNTIME_NAMESPACE
