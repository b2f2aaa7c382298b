// Whether an output of a compiled model is right: errors against the fp64 evaluation and against
// the recorded output, and the verdict of docs/numerics.md.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "graph/tensor.h"

namespace stitch {

// Distance of a tensor from a reference of the same extents.
struct OutputError {
  double max_abs = 0;
  // Largest error of an element over the largest magnitude in its row (last axis) of the reference;
  // a row of zeros counts with the magnitude of the whole tensor.
  double max_rel_row = 0;
  // Largest error over the largest magnitude of the whole reference (corpus tolerances).
  double max_rel_tensor = 0;
  // NaN or infinity on one side only, or of another sign; the first such element.
  bool special_differs = false;
  int64_t first_special = -1;
};
OutputError output_error(const Tensor& actual, const Tensor& reference);

// One kernel's bound relative to the row's magnitude: f32 1e-5, f16 1e-3, bf16 8e-3, f64 1e-12.
double row_bound(DType dtype);
// Tolerance of recorded outputs relative to the tensor's magnitude: f32 1e-4, f64 1e-7, f16 4e-3,
// bf16 3e-2.
double recorded_bound(DType dtype);

struct OutputVerdict {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> extents;
  OutputError ours;                      // against what `against` says
  std::optional<OutputError> yardstick;  // the recorded (or native) output against fp64
  std::string against;                   // "fp64" or "recorded"
  bool passed = false;
  std::string reason;  // of a failure, or why the recorded output decided; one sentence or empty
};

struct OutputReferences {
  const Tensor* fp64 = nullptr;      // floating outputs in f64; never null
  const Tensor* recorded = nullptr;  // may be null
  const Tensor* native = nullptr;    // evaluation in the model's own types; used when not recorded
};

// Floats pass within row_bound of fp64, or twice the yardstick's error, whichever is larger; where
// the yardstick itself is off fp64 by more than recorded_bound, fp64 has decided differently (a
// tie, a rounding border) and the recorded output decides. Integers and bools equal the recorded
// ones.
OutputVerdict check_output(const std::string& name, const Tensor& actual,
                           const OutputReferences& references);

}  // namespace stitch
