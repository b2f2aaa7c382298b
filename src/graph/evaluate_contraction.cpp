// matmul, conv (im2col and a matrix product) and conv_transpose (a matrix product and col2im).
#include <algorithm>

#include "graph/elementwise_scalar.h"
#include "graph/gemm.h"
#include "graph/op_evaluation.h"

namespace stitch {
namespace {

// Operands are widened to the accumulator's type, the result is brought back to its own.
DType accumulator_dtype(const OpCall& call, DType accumulate) {
  return is_float(accumulate) && call.precision == EvaluationPrecision::kF64 ? DType::kF64
                                                                             : accumulate;
}

Tensor converted(const Tensor& tensor, DType to) {
  if (tensor.dtype() == to) return tensor;
  Tensor result(to, tensor.extents());
  visit_type(tensor.dtype(), [&](auto from_tag) {
    using From = typename decltype(from_tag)::Type;
    visit_type(to, [&](auto to_tag) {
      using To = typename decltype(to_tag)::Type;
      const From* in = data<From>(tensor);
      To* out = mutable_data<To>(result);
      for (int64_t i = 0; i < result.element_count(); ++i) out[i] = scalar::cast<To>(in[i]);
    });
  });
  return result;
}

template <class F>
void visit_accumulator(DType dtype, F&& f) {
  visit_type(dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    if constexpr (!std::is_same_v<T, bool> && sizeof(T) >= 4) {
      f(tag);
    } else {
      throw InternalError("a contraction accumulates in a narrow type");
    }
  });
}

// The geometry of one image and one group. `input` is the side with the strides' larger extents:
// the operand of conv, the result of conv_transpose.
struct Patches {
  int64_t channels = 1;
  std::vector<int64_t> image, positions, kernel;
  const ConvAttributes& conv;

  int64_t image_size() const { return product(image); }
  int64_t position_count() const { return product(positions); }
  int64_t rows() const { return channels * product(kernel); }

  static int64_t product(const std::vector<int64_t>& values) {
    int64_t result = 1;
    for (const int64_t value : values) result *= value;
    return result;
  }

  // Calls visit(offset in the image or -1) for each position under one tap, in row-major order.
  template <class Visit>
  void for_each_position(const std::vector<int64_t>& tap, Visit visit) const {
    walk(tap, 0, 0, visit);
  }

  // Calls visit(row, channel, tap) for each row of the patch matrix.
  template <class Visit>
  void for_each_row(Visit visit) const {
    std::vector<int64_t> tap(kernel.size(), 0);
    const int64_t taps = product(kernel);
    for (int64_t row = 0; row < rows(); ++row) {
      int64_t rest = row % taps;
      for (size_t axis = kernel.size(); axis-- > 0;) {
        tap[axis] = rest % kernel[axis];
        rest /= kernel[axis];
      }
      visit(row, row / taps, tap);
    }
  }

 private:
  template <class Visit>
  void walk(const std::vector<int64_t>& tap, size_t axis, int64_t offset, Visit& visit) const {
    const bool last = axis + 1 == positions.size();
    for (int64_t i = 0; i < positions[axis]; ++i) {
      const int64_t at = i * conv.strides[axis] - conv.low[axis] + tap[axis] * conv.dilations[axis];
      const bool inside = offset >= 0 && at >= 0 && at < image[axis];
      const int64_t next = inside ? offset * image[axis] + at : -1;
      if (last) {
        visit(next);
      } else {
        walk(tap, axis + 1, next, visit);
      }
    }
  }
};

template <class T>
void image_to_patches(const Patches& patches, const T* image, T* matrix) {
  patches.for_each_row([&](int64_t, int64_t channel, const std::vector<int64_t>& tap) {
    const T* plane = image + channel * patches.image_size();
    patches.for_each_position(
        tap, [&](int64_t offset) { *matrix++ = offset < 0 ? T{0} : plane[offset]; });
  });
}

template <class T>
void add_patches_to_image(const Patches& patches, const T* matrix, T* image) {
  patches.for_each_row([&](int64_t, int64_t channel, const std::vector<int64_t>& tap) {
    T* plane = image + channel * patches.image_size();
    patches.for_each_position(tap, [&](int64_t offset) {
      if (offset >= 0) plane[offset] = scalar::add(plane[offset], *matrix);
      ++matrix;
    });
  });
}

// Whether the patch matrix is the image itself.
bool is_pointwise(const Patches& patches) {
  const auto all = [](const std::vector<int64_t>& values, int64_t value) {
    return std::all_of(values.begin(), values.end(), [=](int64_t v) { return v == value; });
  };
  return all(patches.kernel, 1) && all(patches.conv.strides, 1) && all(patches.conv.low, 0) &&
         all(patches.conv.high, 0);
}

std::vector<int64_t> spatial(const std::vector<int64_t>& extents) {
  return {extents.begin() + 2, extents.end()};
}

template <class T>
void convolve(const Patches& patches, const Tensor& input, const Tensor& weight, Tensor& result) {
  const int64_t groups = patches.conv.groups;
  const int64_t batch = input.extents()[0];
  const int64_t outputs = weight.extents()[0] / groups;
  const bool pointwise = is_pointwise(patches);
  std::vector<T> matrix(pointwise ? 0
                                  : static_cast<size_t>(patches.rows() * patches.position_count()));
  for (int64_t i = 0; i < batch * groups; ++i) {
    const T* image = data<T>(input) + i * patches.channels * patches.image_size();
    if (!pointwise) image_to_patches(patches, image, matrix.data());
    gemm({outputs, patches.position_count(), patches.rows()},
         data<T>(weight) + i % groups * outputs * patches.rows(), pointwise ? image : matrix.data(),
         mutable_data<T>(result) + i * outputs * patches.position_count());
  }
}

template <class T>
void convolve_transposed(const Patches& patches, const Tensor& input, const Tensor& weight,
                         Tensor& result) {
  const int64_t groups = patches.conv.groups;
  const int64_t batch = input.extents()[0];
  const int64_t inputs = weight.extents()[0] / groups;
  std::vector<T> matrix(static_cast<size_t>(patches.rows() * patches.position_count()));
  for (int64_t i = 0; i < batch * groups; ++i) {
    gemm({patches.rows(), patches.position_count(), inputs, true},
         data<T>(weight) + i % groups * inputs * patches.rows(),
         data<T>(input) + i * inputs * patches.position_count(), matrix.data());
    add_patches_to_image(patches, matrix.data(),
                         mutable_data<T>(result) + i * patches.channels * patches.image_size());
  }
}

}  // namespace

Tensor evaluate_matmul(const OpCall& call) {
  const DType accumulator = accumulator_dtype(call, call.as<MatmulAttributes>().accumulate);
  const Tensor a = converted(call.operand(0), accumulator);
  const Tensor b = converted(call.operand(1), accumulator);
  Tensor result(accumulator, call.result_extents);
  const size_t rank = a.extents().size();
  const GemmShape shape{a.extents()[rank - 2], b.extents()[rank - 1], a.extents()[rank - 1]};
  int64_t batch = 1;
  for (size_t i = 0; i + 2 < rank; ++i) batch *= a.extents()[i];
  visit_accumulator(accumulator, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    for (int64_t i = 0; i < batch; ++i) {
      gemm(shape, data<T>(a) + i * shape.m * shape.k, data<T>(b) + i * shape.k * shape.n,
           mutable_data<T>(result) + i * shape.m * shape.n);
    }
  });
  return converted(result, working_dtype(call.result_dtype, call.precision));
}

Tensor evaluate_conv(const OpCall& call) {
  const auto& conv = call.as<ConvAttributes>();
  const DType accumulator = accumulator_dtype(call, conv.accumulate);
  const Tensor input = converted(call.operand(0), accumulator);
  const Tensor weight = converted(call.operand(1), accumulator);
  Tensor result(accumulator, call.result_extents);
  const bool transposed = call.op == Op::k_conv_transpose;
  const Tensor& image = transposed ? result : input;
  const Tensor& positions = transposed ? input : result;
  const Patches patches{weight.extents()[1], spatial(image.extents()), spatial(positions.extents()),
                        spatial(weight.extents()), conv};
  if (result.element_count() > 0) {
    visit_accumulator(accumulator, [&](auto tag) {
      using T = typename decltype(tag)::Type;
      if (transposed) {
        convolve_transposed<T>(patches, input, weight, result);
      } else {
        convolve<T>(patches, input, weight, result);
      }
    });
  }
  return converted(result, working_dtype(call.result_dtype, call.precision));
}

}  // namespace stitch
