// Signal processing: window functions, MelWeightMatrix, DFT and STFT. Transforms are products with
// constant matrices of cosines and sines, built in float64.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "frontend/node_context.h"
#include "frontend/operator_table.h"
#include "graph/error.h"

namespace stitch {
namespace {

// Elements of a table that is computed at import.
constexpr int64_t kLargestTable = int64_t{1} << 28;

struct WindowTerms {  // a0 - a1 cos(2 pi i / n) + a2 cos(4 pi i / n)
  double a0, a1, a2;
};

void lower_window(NodeContext& n, const WindowTerms& w) {
  const int64_t size = n.known_integer(0);
  if (size < 0 || size > kLargestTable) throw ModelError(fmt::format("a window of {}", size));
  const bool periodic = n.integer("periodic", 1) != 0;
  const auto period = static_cast<double>(periodic ? size : size - 1);
  Tensor tensor(n.dtype_attribute("output_datatype", DType::kF32), {size});
  for (int64_t i = 0; i < size; ++i) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(i) / period;
    tensor.set_real(i, w.a0 - w.a1 * std::cos(angle) + w.a2 * std::cos(2 * angle));
  }
  n.output(0, n.builder().constant(tensor));
}

void lower_hann(NodeContext& n) { lower_window(n, {0.5, 0.5, 0}); }
void lower_hamming(NodeContext& n) { lower_window(n, {25.0 / 46, 21.0 / 46, 0}); }
void lower_blackman(NodeContext& n) { lower_window(n, {0.42, 0.5, 0.08}); }

// Triangles between mel-spaced frequencies, as weights of the bins of a spectrum.
void lower_mel_weight_matrix(NodeContext& n) {
  const int64_t mel_bins = n.known_integer(0);
  const int64_t dft_length = n.known_integer(1);
  const auto rate = static_cast<double>(n.known_integer(2));
  const double low = n.known_number(3);
  const double high = n.known_number(4);
  if (mel_bins < 1 || dft_length < 1 || !(rate > 0)) throw ModelError("its sizes are not positive");
  if (mel_bins > (1 << 14) || dft_length > (1 << 14)) {
    throw ModelError(fmt::format("{} bins of a transform of {}", mel_bins, dft_length));
  }
  const auto to_mel = [](double hz) { return 2595 * std::log10(1 + hz / 700); };
  const double first = to_mel(low);
  const double step = (to_mel(high) - first) / static_cast<double>(mel_bins + 2);
  std::vector<int64_t> bins;
  for (int64_t i = 0; i < mel_bins + 2; ++i) {
    const double hz = 700 * (std::pow(10, (first + static_cast<double>(i) * step) / 2595) - 1);
    bins.push_back(
        static_cast<int64_t>(std::floor(static_cast<double>(dft_length + 1) * hz / rate)));
  }
  const int64_t rows = dft_length / 2 + 1;
  Tensor tensor(n.dtype_attribute("output_datatype", DType::kF32), {rows, mel_bins});
  const auto set = [&](int64_t row, int64_t column, double value) {
    if (row >= 0 && row < rows) tensor.set_real(row * mel_bins + column, value);
  };
  for (int64_t i = 0; i < mel_bins; ++i) {
    const int64_t lower = bins[static_cast<size_t>(i)];
    const int64_t centre = bins[static_cast<size_t>(i) + 1];
    const int64_t upper = bins[static_cast<size_t>(i) + 2];
    if (centre == lower) set(centre, i, 1);
    for (int64_t j = lower; centre > lower && j <= centre; ++j) {
      set(j, i, static_cast<double>(j - lower) / static_cast<double>(centre - lower));
    }
    for (int64_t j = centre; upper > centre && j < upper; ++j) {
      set(j, i, static_cast<double>(upper - j) / static_cast<double>(upper - centre));
    }
  }
  n.output(0, n.builder().constant(tensor));
}

struct Transform {
  int64_t length = 0;  // of the signal
  int64_t bins = 0;    // that are kept
  bool complex_input = false;
  bool inverse = false;
  bool real_result = false;  // of an inverse over half a spectrum
};

// [length * parts, bins * parts]: rows real then imaginary for each element, columns likewise.
Tensor twiddles(const Transform& t, DType dtype) {
  constexpr int64_t kLongest = int64_t{1} << 13;  // beyond, the matrix outgrows any cache
  if (t.length > kLongest || t.bins > kLongest) {
    throw ModelError(fmt::format("transforms of more than {} points are not supported", kLongest));
  }
  const int64_t row_parts = t.complex_input ? 2 : 1;
  const int64_t column_parts = t.real_result ? 1 : 2;
  const int64_t columns = t.bins * column_parts;
  Tensor tensor(dtype, {t.length * row_parts, columns});
  const double sign = t.inverse ? 1 : -1;
  const int64_t period = t.real_result ? t.bins : t.length;
  const double scale = t.inverse ? 1 / static_cast<double>(period) : 1;
  for (int64_t i = 0; i < t.length; ++i) {
    // Half a spectrum stands for its mirror image too.
    const bool mirrored = t.real_result && i > 0 && 2 * i != period;
    const double weight = scale * (mirrored ? 2 : 1);
    for (int64_t k = 0; k < t.bins; ++k) {
      const int64_t turn = (i * k) % period;  // exact: the angle stays below 2 pi
      const double angle =
          sign * 2 * std::numbers::pi * static_cast<double>(turn) / static_cast<double>(period);
      const double cos = weight * std::cos(angle);
      const double sin = weight * std::sin(angle);
      const int64_t at = i * row_parts * columns + k * column_parts;
      tensor.set_real(at, cos);
      if (!t.real_result) tensor.set_real(at + 1, sin);
      if (t.complex_input) {
        tensor.set_real(at + columns, -sin);
        if (!t.real_result) tensor.set_real(at + columns + 1, cos);
      }
    }
  }
  return tensor;
}

// The signal [..., length, 1 or 2] times the twiddles: [..., bins, 1 or 2].
ValueId transform(PrimitiveBuilder& b, ValueId signal, const Transform& t) {
  Shape shape = b.shape(signal);
  const Dim parts = shape.back();
  shape.pop_back();
  shape.back() = Dim(t.length) * parts;
  const ValueId product =
      b.matmul(b.reshape(signal, shape), b.constant(twiddles(t, b.dtype(signal))));
  shape.back() = Dim(t.bins);
  shape.push_back(Dim(t.real_result ? 1 : 2));
  return b.reshape(product, shape);
}

// Crops or pads an axis with zeros to a length.
ValueId with_length(PrimitiveBuilder& b, ValueId x, int axis, int64_t length) {
  const int64_t own = b.dim(x, axis).constant();
  if (own >= length) return b.slice_axis(x, axis, Dim(0), Dim(length));
  PadAttributes missing;
  missing.low.assign(b.rank(x), Dim(0));
  missing.high.assign(b.rank(x), Dim(0));
  missing.high[static_cast<size_t>(axis)] = Dim(length - own);
  return b.pad(x, b.scalar(b.dtype(x), 0), missing);
}

void lower_dft(NodeContext& n, int64_t given_axis) {
  PrimitiveBuilder& b = n.builder();
  const ValueId x = n.input(0);
  const int rank = static_cast<int>(b.rank(x));
  const int axis = normalise_axis(given_axis, b.rank(x));
  if (rank < 2 || axis == rank - 1) throw ModelError("the transformed axis holds complex parts");
  const bool onesided = n.integer("onesided", 0) != 0;
  Transform t;
  t.inverse = n.integer("inverse", 0) != 0;
  t.complex_input = b.shape(x).back() == Dim(2);
  t.real_result = onesided && t.inverse;
  const int64_t own = b.dim(x, axis).constant();
  int64_t length = t.real_result ? 2 * (own - 1) : own;
  if (n.has_input(1)) length = n.known_integer(1);
  if (length < 1) throw ModelError(fmt::format("a transform of length {}", length));
  t.bins = onesided && !t.inverse ? length / 2 + 1 : length;
  t.length = t.real_result ? length / 2 + 1 : length;
  const ValueId fitted = with_length(b, x, axis, t.length);
  std::vector<int> perm;  // the axis goes before the complex parts
  for (int i = 0; i < rank - 1; ++i) {
    if (i != axis) perm.push_back(i);
  }
  perm.insert(perm.end(), {axis, rank - 1});
  std::vector<int> back(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) {
    back[static_cast<size_t>(perm[i])] = static_cast<int>(i);
  }
  n.output(0, b.transpose(transform(b, b.transpose(fitted, perm), t), back));
}

void lower_dft_17(NodeContext& n) { lower_dft(n, n.integer("axis", 1)); }
void lower_dft_20(NodeContext& n) { lower_dft(n, n.has_input(2) ? n.known_integer(2) : -2); }

// Inputs signal [batch, samples(, 1 or 2)], step, window, frame length.
void lower_stft(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  ValueId x = n.input(0);
  if (b.rank(x) == 2) x = b.insert_axis(x, 2);
  const int64_t step = n.known_integer(1);
  int64_t length = 0;
  if (n.has_input(3)) {
    length = n.known_integer(3);
  } else if (n.has_input(2)) {
    length = n.shape(2).at(0).constant();
  }
  const int64_t samples = b.dim(x, 1).constant();
  if (step < 1 || length < 1 || length > samples) {
    throw ModelError(fmt::format("frames of {} every {} of {} samples", length, step, samples));
  }
  const int64_t frames = 1 + (samples - length) / step;
  Tensor positions(DType::kI64, {frames, length});
  for (int64_t f = 0; f < frames; ++f) {
    for (int64_t i = 0; i < length; ++i) positions.set_integer(f * length + i, f * step + i);
  }
  ValueId framed = b.gather(x, b.constant(positions), 1);  // [batch, frames, length, parts]
  if (n.has_input(2)) {
    framed = b.mul(framed, b.broadcast_axes(n.input(2), b.shape(framed), {2}));
  }
  Transform t;
  t.length = length;
  t.complex_input = b.shape(x).back() == Dim(2);
  t.bins = n.integer("onesided", 1) != 0 ? length / 2 + 1 : length;
  n.output(0, transform(b, framed, t));
}

constexpr OperatorRow kRows[] = {
    {"BlackmanWindow", 17, lower_blackman},
    {"DFT", 17, lower_dft_17},
    {"DFT", 20, lower_dft_20},
    {"HammingWindow", 17, lower_hamming},
    {"HannWindow", 17, lower_hann},
    {"MelWeightMatrix", 17, lower_mel_weight_matrix},
    {"STFT", 17, lower_stft},
};

}  // namespace

std::span<const OperatorRow> signal_operators() { return kRows; }

}  // namespace stitch
