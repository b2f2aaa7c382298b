// Whether an output of a compiled model is right: errors against the fp64 evaluation and against
// the recorded output, and the verdict of docs/numerics.md.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
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
  OutputError ours;                     // against what `against` says
  std::optional<OutputError> recorded;  // the recorded output against fp64
  OutputError native;                   // the evaluation operator by operator against fp64
  std::string against;                  // "fp64" or "recorded"
  bool passed = false;
  std::string reason;  // of a failure, or why the recorded output decided; one sentence or empty
};

struct OutputReferences {
  const Tensor* fp64 = nullptr;      // floating outputs in f64; never null
  const Tensor* recorded = nullptr;  // may be null
  const Tensor* native = nullptr;    // operator by operator in the model's own types; never null
  // What the model itself rounds to on the way to the output (narrowest_rounding).
  DType rounding = DType::kF32;
};

// The float type of the largest unit roundoff among the output's own and those of the values that
// nodes compute on the way to it; `output`'s own type where it is no float.
DType narrowest_rounding(const Graph& graph, ValueId output);

// Floats pass within the row_bound of `rounding` of fp64, or twice the yardstick's error, whichever
// is larger. The yardstick is the recorded output; where there is none, or where the model rounds
// to 16 bits (which runtimes on CPUs do not follow: they compute such models in f32), the
// evaluation operator by operator, if that is less exact. Where the yardstick is off fp64 by more
// than recorded_bound, fp64 has decided differently (a tie, a rounding border) and the recorded
// output decides. Integers and bools equal the recorded ones.
OutputVerdict check_output(const std::string& name, const Tensor& actual,
                           const OutputReferences& references);

}  // namespace stitch
