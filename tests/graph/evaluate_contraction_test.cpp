#include <fmt/format.h>

#include "graph/run_text.h"
#include "support/catch.h"
#include "support/make_tensor.h"
#include "support/matches_tensor.h"

using namespace stitch;

namespace {

// Convolution by its definition, one image axis after the other; checks im2col.
Tensor direct_conv(const Tensor& x, const Tensor& w, int64_t groups, int64_t stride,
                   int64_t dilation, int64_t low, int64_t out_height, int64_t out_width) {
  const int64_t channels = w.extents()[1], height = x.extents()[2], width = x.extents()[3];
  const int64_t outputs = w.extents()[0], kernel = w.extents()[2];
  Tensor y(DType::kF64, {x.extents()[0], outputs, out_height, out_width});
  for (int64_t i = 0; i < y.element_count(); ++i) {
    const int64_t ox = i % out_width, oy = i / out_width % out_height;
    const int64_t o = i / (out_width * out_height) % outputs;
    const int64_t n = i / (out_width * out_height * outputs);
    double sum = 0;
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t ky = 0; ky < kernel; ++ky) {
        for (int64_t kx = 0; kx < kernel; ++kx) {
          const int64_t iy = oy * stride - low + ky * dilation;
          const int64_t ix = ox * stride - low + kx * dilation;
          if (iy < 0 || iy >= height || ix < 0 || ix >= width) continue;
          const int64_t group = o / (outputs / groups);
          const int64_t channel = group * channels + c;
          sum += x.real(((n * channels * groups + channel) * height + iy) * width + ix) *
                 w.real(((o * channels + c) * kernel + ky) * kernel + kx);
        }
      }
    }
    y.set_real(i, sum);
  }
  return y;
}

}  // namespace

TEST_CASE("matmul multiplies every matrix of the batch") {
  const Tensor y = run_text(
      "%a = constant {f32[2,1,2] [1, 2, 3, 4]}\n%b = constant {f32[2,2,2] [1, 2, 3, 4, 5, 6, 7, "
      "8]}\n"
      "%y = matmul(%a, %b)\noutput \"y\" %y")[0];
  REQUIRE_THAT(y, matches_tensor(make_tensor(DType::kF32, {2, 1, 2}, {7, 10, 43, 50})));
}

TEST_CASE("an empty inner extent gives zeros") {
  const Tensor y = run_text(
      "%a = constant {f32[2,0] []}\n%b = constant {f32[0,3] []}\n%y = matmul(%a, %b)\n"
      "output \"y\" %y")[0];
  REQUIRE_THAT(y, matches_tensor(make_tensor(DType::kF32, {2, 3}, {0, 0, 0, 0, 0, 0})));
}

TEST_CASE("integer products are exact and wrap at the accumulator") {
  const Tensor bytes = run_text(
      "%a = constant {i8[1,2] [-128, 127]}\n%b = constant {u8[2,1] [255, 255]}\n"
      "%y = matmul(%a, %b) {accumulate=i32}\noutput \"y\" %y")[0];
  REQUIRE_THAT(bytes, matches_tensor(make_integers(DType::kI32, {1, 1}, {-255})));
  const Tensor wide = run_text(
      "%a = constant {i64[1,1] [4294967296]}\n%b = constant {i64[1,2] [3, 4294967296]}\n"
      "%y = matmul(%a, %b) {accumulate=i64}\noutput \"y\" %y")[0];
  REQUIRE_THAT(wide, matches_tensor(make_integers(DType::kI64, {1, 2}, {12884901888, 0})));
}

TEST_CASE("half products accumulate in f32 and round once") {
  Tensor a(DType::kF16, {1, 4096});
  Tensor b(DType::kF16, {4096, 1});
  for (int64_t i = 0; i < 4096; ++i) {
    a.set_real(i, 1);
    b.set_real(i, 1);
  }
  const Tensor y = run_text(
      "input %a \"a\" : f16[1,4096]\ninput %b \"b\" : f16[4096,1]\n%y = matmul(%a, %b)\n"
      "output \"y\" %y",
      {{"a", a}, {"b", b}})[0];
  REQUIRE(y.dtype() == DType::kF16);
  REQUIRE(y.real(0) == 4096);
}

TEST_CASE("convolutions with groups, strides, dilations and padding agree with the definition") {
  struct Case {
    int64_t groups, stride, dilation, low;
  };
  for (const Case& c : {Case{1, 1, 1, 0}, {1, 2, 1, 1}, {2, 1, 2, 2}, {4, 1, 1, 1}}) {
    const Tensor x = random_tensor(DType::kF64, {2, 4, 7, 6}, 11);
    const Tensor w = random_tensor(DType::kF64, {8, 4 / c.groups, 3, 3}, 12);
    const std::string text = fmt::format(
        "input %x \"x\" : f64[2,4,7,6]\ninput %w \"w\" : f64[8,{0},3,3]\n"
        "%y = conv(%x, %w) {{strides=[{1}, {1}], dilations=[{2}, {2}], low=[{3}, {3}], "
        "high=[{3}, {3}], groups={4}, accumulate=f64}}\noutput \"y\" %y",
        4 / c.groups, c.stride, c.dilation, c.low, c.groups);
    const Tensor y = run_text(text, {{"x", x}, {"w", w}})[0];
    const Tensor expected =
        direct_conv(x, w, c.groups, c.stride, c.dilation, c.low, y.extents()[2], y.extents()[3]);
    INFO("groups " << c.groups << " stride " << c.stride << " dilation " << c.dilation);
    REQUIRE_THAT(y, matches_tensor(expected, {.absolute = 1e-12}));
  }
}

TEST_CASE("a pointwise convolution is a matrix product, in one and three axes too") {
  const Tensor y = run_text(
      "%x = constant {f32[1,2,3] [1, 2, 3, 4, 5, 6]}\n%w = constant {f32[1,2,1] [10, 1]}\n"
      "%y = conv(%x, %w) {strides=[1], dilations=[1], low=[0], high=[0]}\noutput \"y\" %y")[0];
  REQUIRE_THAT(y, matches_tensor(make_tensor(DType::kF32, {1, 1, 3}, {14, 25, 36})));
  const Tensor cube = run_text(
      "%x = constant {f32[1,1,2,2,2] splat 1}\n%w = constant {f32[1,1,2,2,2] splat 1}\n"
      "%y = conv(%x, %w) {strides=[1, 1, 1], dilations=[1, 1, 1], low=[1, 0, 0], high=[0, 0, 0]}\n"
      "output \"y\" %y")[0];
  REQUIRE_THAT(cube, matches_tensor(make_tensor(DType::kF32, {1, 1, 2, 1, 1}, {4, 8})));
}

TEST_CASE("a transposed convolution spreads each input over its window") {
  // y[i*2 + j] += x[i] * w[j], cut by one at the front, one more at the end.
  const Tensor y = run_text(
      "%x = constant {f32[1,1,3] [1, 2, 3]}\n%w = constant {f32[1,2,3] [1, 10, 100, 2, 20, 200]}\n"
      "%y = conv_transpose(%x, %w) {strides=[2], dilations=[1], low=[1], high=[0], "
      "output_padding=[1]}\noutput \"y\" %y")[0];
  REQUIRE_THAT(y, matches_tensor(make_tensor(DType::kF32, {1, 2, 7},
                                             {10, 102, 20, 203, 30, 300, 0,  //
                                              20, 204, 40, 406, 60, 600, 0})));
}

TEST_CASE("a transposed convolution is the adjoint of the convolution, groups included") {
  const std::string attributes =
      "strides=[2, 1], dilations=[1, 2], low=[1, 0], high=[0, 2], output_padding=[0, 0], groups=2, "
      "accumulate=f64}";
  const Tensor x = random_tensor(DType::kF64, {2, 4, 6, 7}, 1);
  const Tensor w = random_tensor(DType::kF64, {6, 2, 3, 3}, 2);
  const Tensor y = run_text(
      "input %x \"x\" : f64[2,4,6,7]\ninput %w \"w\" : f64[6,2,3,3]\n"
      "%y = conv(%x, %w) {" +
          attributes + "\noutput \"y\" %y",
      {{"x", x}, {"w", w}})[0];
  const Tensor g = random_tensor(DType::kF64, y.extents(), 3);
  const Tensor back =
      run_text(fmt::format("input %g \"g\" : f64[{}]\ninput %w \"w\" : f64[6,2,3,3]\n",
                           fmt::join(y.extents(), ",")) +
                   "%y = conv_transpose(%g, %w) {" + attributes + "\noutput \"y\" %y",
               {{"g", g}, {"w", w}})[0];
  double forward = 0, backward = 0;
  for (int64_t i = 0; i < y.element_count(); ++i) forward += y.real(i) * g.real(i);
  // The operand may be longer than what the windows reach; what they do not reach has no gradient.
  for (int64_t n = 0; n < 8; ++n) {
    for (int64_t i = 0; i < back.extents()[2]; ++i) {
      for (int64_t j = 0; j < back.extents()[3]; ++j) {
        backward += back.real((n * back.extents()[2] + i) * back.extents()[3] + j) *
                    x.real((n * 6 + i) * 7 + j);
      }
    }
  }
  REQUIRE(forward == Approx(backward).epsilon(1e-10));
}
