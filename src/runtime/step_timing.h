// How long each step of one inference takes on the device.
#ifndef STITCH_RUNTIME_STEP_TIMING_H_
#define STITCH_RUNTIME_STEP_TIMING_H_

#include <vector>

#include "runtime/inference.h"

namespace STITCH_RUNTIME_NAMESPACE {

// Runs one inference with an event around every step, waits for it and returns microseconds by
// step. For measuring: it allocates and synchronises, which enqueue itself never does.
std::vector<double> time_steps(Inference& inference, const InferenceBuffers& buffers,
                               CUstream stream);

}  // namespace STITCH_RUNTIME_NAMESPACE

#endif  // STITCH_RUNTIME_STEP_TIMING_H_
