// Named ranges around the steps of an inference, for profilers (NVTX and the like).
#ifndef STITCH_RUNTIME_RANGE_OBSERVER_H_
#define STITCH_RUNTIME_RANGE_OBSERVER_H_

#include <string>
#include <vector>

#include "runtime/inference.h"

namespace STITCH_RUNTIME_NAMESPACE {

// Both null: no ranges. The signatures are those of nvtxRangePushA and nvtxRangePop.
struct RangeCallbacks {
  int (*push)(const char* name) = nullptr;
  int (*pop)() = nullptr;
};

class RangeObserver : public StepObserver {
 public:
  RangeObserver(const Model& model, const RangeCallbacks& callbacks);

  bool enabled() const { return callbacks_.push != nullptr && callbacks_.pop != nullptr; }
  void before(std::size_t step) override { callbacks_.push(names_[step].c_str()); }
  void after(std::size_t) override { callbacks_.pop(); }

 private:
  RangeCallbacks callbacks_;
  std::vector<std::string> names_;  // by step: "k03_softmax: /layer.0/Softmax, /layer.0/Mul"
};

}  // namespace STITCH_RUNTIME_NAMESPACE

#endif  // STITCH_RUNTIME_RANGE_OBSERVER_H_
