// Mean, variance and normalised values as primitives; x in the type of the computation.
#pragma once
#include <vector>

#include "frontend/primitive_builder.h"

namespace stitch {

struct Moments {
  ValueId mean;      // without the axes
  ValueId centred;   // x - mean
  ValueId variance;  // mean of squared distances, without the axes
};
Moments moments(PrimitiveBuilder& b, ValueId x, const std::vector<int>& axes);

struct Normalised {
  ValueId value;              // as x
  ValueId mean;               // without the axes; none for the RMS form
  ValueId inverse_deviation;  // without the axes
};
// (x - mean) / sqrt(variance + epsilon) over the axes from first_axis on.
Normalised layer_norm(PrimitiveBuilder& b, ValueId x, int first_axis, double epsilon);
// x / sqrt(mean(x^2) + epsilon)
Normalised rms_norm(PrimitiveBuilder& b, ValueId x, int first_axis, double epsilon);
// A value reduced over the axes from first_axis on, with those axes back as 1.
ValueId kept_axes(PrimitiveBuilder& b, ValueId reduced, const Shape& shape, int first_axis);
// A vector with one value for each channel (axis 1), broadcast.
ValueId along_channels(PrimitiveBuilder& b, ValueId vector, const Shape& shape);

}  // namespace stitch
