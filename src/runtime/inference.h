// The mutable state of one inference at a time: argument room, library descriptors. A thread uses
// its own; all share the model.
#ifndef STITCH_RUNTIME_INFERENCE_H_
#define STITCH_RUNTIME_INFERENCE_H_

#include <deque>

#include "runtime/device_memory.h"
#include "runtime/launch.h"
#include "runtime/model.h"

namespace STITCH_RUNTIME_NAMESPACE {

// Called around every step; for ranges and timing.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  virtual void before(std::size_t step) = 0;
  virtual void after(std::size_t step) = 0;
};

// The caller's memory for one inference.
struct InferenceBuffers {
  const void* const* inputs = nullptr;
  void* const* outputs = nullptr;
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
};

class Inference {
 public:
  // The model must outlive it.
  explicit Inference(const Model& model);

  const Model& model() const { return model_; }

  // From now on these weights, of the model's layout, instead of the model's own; 0 = its own.
  void replace_weights(CUdeviceptr weights) { weights_ = weights; }

  // Launches everything on the stream and returns: no allocation, no synchronisation, no loading.
  // Throws LauncherError: kInvalidArgument before anything is launched, else kDriver or kLibrary.
  void enqueue(const InferenceBuffers& buffers, CUstream stream, StepObserver* observer = nullptr);

 private:
  void check(const InferenceBuffers& buffers) const;
  void run(std::size_t step, const DeviceMemory& memory, CUstream stream);

  const Model& model_;
  CUdeviceptr weights_ = 0;
  ArgumentBuffer arguments_;
  std::deque<MatmulPlan> matmuls_;           // they cannot be moved
  std::vector<MatmulPlan*> matmul_of_step_;  // by step; null for other steps
};

// Source node names of a step, and its kernel's (or product's) name.
const std::vector<std::string>* source_nodes(const BoundStep& step);
const char* bound_step_name(const BoundStep& step);

}  // namespace STITCH_RUNTIME_NAMESPACE

#endif  // STITCH_RUNTIME_INFERENCE_H_
