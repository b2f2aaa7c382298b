#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "graph/error.h"
#include "graph/run_text.h"
#include "support/catch.h"
#include "support/make_tensor.h"
#include "support/matches_tensor.h"

using namespace stitch;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
const TensorTolerance kExact{.relative_to_row = 0, .signed_zeros = true};

// One unary or binary op on vectors of `dtype`.
Tensor apply(const std::string& op, DType dtype, const std::vector<double>& a,
             const std::vector<double>& b = {}, const std::string& attributes = "") {
  const auto count = static_cast<int64_t>(a.size());
  const std::string type = fmt::format("{}[{}]", name(dtype), count);
  std::map<std::string, Tensor> inputs = {{"a", make_tensor(dtype, {count}, a)}};
  std::string text = "input %a \"a\" : " + type + "\n";
  if (!b.empty()) {
    inputs["b"] = make_tensor(dtype, {count}, b);
    text += "input %b \"b\" : " + type + "\n";
  }
  text += "%y = " + op + (b.empty() ? "(%a)" : "(%a, %b)") + attributes + "\noutput \"y\" %y";
  return run_text(text, inputs)[0];
}

Tensor cast(DType from, DType to, const std::vector<double>& values,
            EvaluationPrecision precision = EvaluationPrecision::kNative) {
  const auto count = static_cast<int64_t>(values.size());
  return run_text(fmt::format("input %x \"x\" : {}[{}]\n%y = cast(%x) : {}[{}]\noutput \"y\" %y",
                              name(from), count, name(to), count),
                  {{"x", make_tensor(from, {count}, values)}}, precision)[0];
}

}  // namespace

TEST_CASE("sign keeps NaN and makes both zeros +0") {
  REQUIRE_THAT(apply("sign", DType::kF32, {-2, -0.0, 0, 3, kNaN, -kInf}),
               matches_tensor(make_tensor(DType::kF32, {6}, {-1, 0, 0, 1, kNaN, -1}), kExact));
}

TEST_CASE("round is half to even and keeps -0") {
  REQUIRE_THAT(
      apply("round", DType::kF32, {0.5, 1.5, 2.5, -0.5, -0.2, -2.5, 1e30}),
      matches_tensor(make_tensor(DType::kF32, {7}, {0, 2, 2, -0.0, -0.0, -2, 1e30}), kExact));
}

TEST_CASE("min and max propagate NaN from either side") {
  const std::vector<double> a = {1, kNaN, 1, kInf, -kInf};
  const std::vector<double> b = {2, 1, kNaN, -kInf, kNaN};
  REQUIRE_THAT(apply("min", DType::kF32, a, b),
               matches_tensor(make_tensor(DType::kF32, {5}, {1, kNaN, kNaN, -kInf, kNaN})));
  REQUIRE_THAT(apply("max", DType::kF16, a, b),
               matches_tensor(make_tensor(DType::kF16, {5}, {2, kNaN, kNaN, kInf, kNaN})));
}

TEST_CASE("integer arithmetic wraps") {
  const double low = std::numeric_limits<int32_t>::min();
  const double high = std::numeric_limits<int32_t>::max();
  REQUIRE_THAT(apply("neg", DType::kI32, {low, 5}),
               matches_tensor(make_tensor(DType::kI32, {2}, {low, -5})));
  REQUIRE_THAT(apply("abs", DType::kI32, {low, -5}),
               matches_tensor(make_tensor(DType::kI32, {2}, {low, 5})));
  REQUIRE_THAT(apply("add", DType::kI32, {high}, {1}),
               matches_tensor(make_tensor(DType::kI32, {1}, {low})));
  REQUIRE_THAT(apply("mul", DType::kU16, {65535, 300}, {65535, 300}),
               matches_tensor(make_tensor(DType::kU16, {2}, {1, 24464})));
  REQUIRE_THAT(apply("sub", DType::kU8, {3}, {5}),
               matches_tensor(make_tensor(DType::kU8, {1}, {254})));
}

TEST_CASE("integer division truncates, and division by zero gives zero") {
  const double low = std::numeric_limits<int32_t>::min();
  REQUIRE_THAT(apply("div", DType::kI32, {7, -7, 7, -7, 5, low}, {2, 2, -2, -2, 0, -1}),
               matches_tensor(make_tensor(DType::kI32, {6}, {3, -3, -3, 3, 0, low})));
  REQUIRE_THAT(apply("rem", DType::kI32, {7, -7, 7, -7, 5, low}, {3, 3, -3, -3, 0, -1}),
               matches_tensor(make_tensor(DType::kI32, {6}, {1, -1, 1, -1, 0, 0})));
}

TEST_CASE("int64 values beyond 32 bits stay exact") {
  const Tensor big = make_integers(DType::kI64, {2}, {(int64_t{1} << 62) + 1, -3000000000ll});
  const std::vector<Tensor> results = run_text(
      "input %a \"a\" : i64[2]\n%b = constant {i64[2] [3, 7]}\n%q = div(%a, %b)\n%s = add(%a, %b)\n"
      "output \"q\" %q\noutput \"s\" %s",
      {{"a", big}});
  REQUIRE(results[0].integer(0) == 1537228672809129301);
  REQUIRE(results[0].integer(1) == -428571428);
  REQUIRE(results[1].integer(0) == (int64_t{1} << 62) + 4);
}

TEST_CASE("float division and pow follow IEEE at zero and infinity") {
  REQUIRE_THAT(apply("div", DType::kF32, {1, -1, 0, kInf}, {0, 0, 0, kInf}),
               matches_tensor(make_tensor(DType::kF32, {4}, {kInf, -kInf, kNaN, kNaN})));
  REQUIRE_THAT(apply("pow", DType::kF32, {2, 0, -8, 1, kNaN}, {-1, 0, 1.0 / 3, kNaN, 0}),
               matches_tensor(make_tensor(DType::kF32, {5}, {0.5, 1, kNaN, 1, 1})));
  REQUIRE_THAT(apply("pow", DType::kI32, {3, -2, 2, -1, 7}, {4, 31, -1, -3, 0}),
               matches_tensor(make_tensor(DType::kI32, {5}, {81, -2147483648.0, 0, -1, 1})));
  REQUIRE_THAT(apply("rem", DType::kF32, {5.5, -5.5, kInf}, {2, 2, 2}),
               matches_tensor(make_tensor(DType::kF32, {3}, {1.5, -1.5, kNaN})));
}

TEST_CASE("shifts outside the width give 0, or -1 for negative values to the right") {
  REQUIRE_THAT(apply("shift", DType::kI32, {1, 1, -8, -8, -8}, {31, 32, 1, 32, -1}, " {kind=left}"),
               matches_tensor(make_tensor(DType::kI32, {5}, {-2147483648.0, 0, -16, 0, 0})));
  REQUIRE_THAT(apply("shift", DType::kI32, {8, -8, -8, 8, -8}, {1, 1, 32, 32, -1}, " {kind=right}"),
               matches_tensor(make_tensor(DType::kI32, {5}, {4, -4, -1, 0, -1})));
  REQUIRE_THAT(apply("shift", DType::kU8, {200, 200}, {3, 8}, " {kind=right}"),
               matches_tensor(make_tensor(DType::kU8, {2}, {25, 0})));
}

TEST_CASE("comparisons with NaN are false") {
  const std::vector<double> a = {1, kNaN, kNaN, -0.0}, b = {1, 1, kNaN, 0.0};
  REQUIRE_THAT(apply("compare", DType::kF32, a, b, " {kind=eq}"),
               matches_tensor(make_tensor(DType::kBool, {4}, {1, 0, 0, 1})));
  REQUIRE_THAT(apply("compare", DType::kF32, a, b, " {kind=le}"),
               matches_tensor(make_tensor(DType::kBool, {4}, {1, 0, 0, 1})));
  REQUIRE_THAT(apply("compare", DType::kF32, a, b, " {kind=lt}"),
               matches_tensor(make_tensor(DType::kBool, {4}, {0, 0, 0, 0})));
}

TEST_CASE("select does not leak the value that is not chosen") {
  const Tensor y = run_text(
      "%c = constant {bool[3] [1, 0, 1]}\n%a = constant {f32[3] [1, nan, -0]}\n"
      "%b = constant {f32[3] [nan, 2, inf]}\n%y = select(%c, %a, %b)\noutput \"y\" %y")[0];
  REQUIRE_THAT(y, matches_tensor(make_tensor(DType::kF32, {3}, {1, 2, -0.0}), kExact));
}

TEST_CASE("casts of floats to integers are defined everywhere") {
  const double i32_low = std::numeric_limits<int32_t>::min();
  REQUIRE_THAT(cast(DType::kF32, DType::kI32, {1.9, -1.9, kNaN, kInf, -kInf, 3e9, 2147483648.0}),
               matches_tensor(make_tensor(DType::kI32, {7},
                                          {1, -1, i32_low, i32_low, i32_low, i32_low, i32_low})));
  const Tensor wide = cast(DType::kF64, DType::kI64, {9.3e18, kNaN, 4503599627370497.0});
  REQUIRE(wide.integer(0) == std::numeric_limits<int64_t>::min());
  REQUIRE(wide.integer(1) == std::numeric_limits<int64_t>::min());
  REQUIRE(wide.integer(2) == 4503599627370497);
  REQUIRE_THAT(cast(DType::kF32, DType::kU8, {300, -1, kNaN, 255.9}),
               matches_tensor(make_tensor(DType::kU8, {4}, {44, 255, 0, 255})));
  REQUIRE_THAT(cast(DType::kF32, DType::kI8, {200, -129, 127.5}),
               matches_tensor(make_tensor(DType::kI8, {3}, {-56, 127, 127})));
  REQUIRE_THAT(
      cast(DType::kF32, DType::kU32, {5e9, kNaN, -1, kInf}),
      matches_tensor(make_tensor(DType::kU32, {4}, {4294967295.0, 0, 4294967295.0, 4294967295.0})));
  REQUIRE(cast(DType::kF32, DType::kU64, {2e19}).integer(0) == -1);
}

TEST_CASE("casts between other types keep low bits, or round once") {
  REQUIRE_THAT(cast(DType::kI32, DType::kI8, {300, -129}),
               matches_tensor(make_tensor(DType::kI8, {2}, {44, 127})));
  REQUIRE_THAT(cast(DType::kF32, DType::kBool, {0, -0.0, 0.5, kNaN}),
               matches_tensor(make_tensor(DType::kBool, {4}, {0, 0, 1, 1})));
  REQUIRE_THAT(
      cast(DType::kF32, DType::kF16, {65504, 65519, 65520, 1e-8, 5.9604645e-8, kNaN}),
      matches_tensor(make_tensor(DType::kF16, {6}, {65504, 65504, kInf, 0, 5.9604645e-8, kNaN}),
                     kExact));
  // 1 + 2^-11 + 2^-40: rounding to f32 first would make it a tie and give 1.
  REQUIRE(cast(DType::kF64, DType::kF16, {1 + 0x1p-11 + 0x1p-40}).real(0) == 1 + 0x1p-10);
  REQUIRE(cast(DType::kF64, DType::kBF16, {1 + 0x1p-8 + 0x1p-40}).real(0) == 1 + 0x1p-7);
  REQUIRE(cast(DType::kI64, DType::kF32, {16777217}).real(0) == 16777216);
  // 2^60 + 2^52 + 1 lies just above the middle of two bf16 values; as a double it is the middle.
  const Tensor tie = run_text(
      "%x = constant {i64[1] [1157425104234217473]}\n%y = cast(%x) : bf16[1]\noutput \"y\" %y")[0];
  REQUIRE(tie.real(0) == 0x1p60 + 0x1p53);
}

TEST_CASE("in f64 precision floats keep f64 through casts, and integers see it") {
  const Tensor wide = cast(DType::kF64, DType::kF16, {0.1}, EvaluationPrecision::kF64);
  REQUIRE(wide.dtype() == DType::kF64);
  REQUIRE(wide.real(0) == 0.1);
  // 0.99999999 rounds to 1 in f32; its f64 value truncates to 0.
  const Tensor truncated = run_text(
      "input %x \"x\" : f64[1]\n%h = cast(%x) : f32[1]\n%y = cast(%h) : i32[1]\noutput \"y\" %y",
      {{"x", make_tensor(DType::kF64, {1}, {0.99999999})}}, EvaluationPrecision::kF64)[0];
  REQUIRE(truncated.integer(0) == 0);
}

TEST_CASE("bitcast keeps the bits of the stored type") {
  const std::string text = "input %x \"x\" : f16[2]\n%y = bitcast(%x) : i16[2]\noutput \"y\" %y";
  for (const auto precision : {EvaluationPrecision::kNative, EvaluationPrecision::kF64}) {
    const Tensor y = run_text(text, {{"x", make_tensor(DType::kF16, {2}, {1, -2})}}, precision)[0];
    REQUIRE_THAT(y, matches_tensor(make_integers(DType::kI16, {2}, {0x3c00, -16384})));
  }
}

TEST_CASE("native f16 arithmetic rounds after every op") {
  // 2048 + 1 is not an f16 value; the tie goes to 2048 twice.
  const std::string text =
      "input %x \"x\" : f16[1]\n%one = constant {f16[1] [1]}\n%a = add(%x, %one)\n"
      "%b = add(%a, %one)\noutput \"y\" %b";
  const std::map<std::string, Tensor> inputs = {{"x", make_tensor(DType::kF16, {1}, {2048})}};
  REQUIRE(run_text(text, inputs)[0].real(0) == 2048);
  REQUIRE(run_text(text, inputs, EvaluationPrecision::kF64)[0].real(0) == 2050);
}

TEST_CASE("rounding to 16-bit floats agrees with the exact conversion on every exponent") {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    std::vector<double> values;
    for (int exponent = -30; exponent <= 17; ++exponent) {
      for (const double fraction : {1.0, 1.00048828125, 1.00146484375, 1.99951171875, 1.99976,
                                    1.00390625, 1.01171875, 1.3}) {
        values.push_back(static_cast<float>(std::ldexp(fraction, exponent)));
        values.push_back(-values.back());
      }
    }
    const Tensor expected = make_tensor(dtype, {static_cast<int64_t>(values.size())}, values);
    REQUIRE_THAT(cast(DType::kF32, dtype, values), matches_tensor(expected, kExact));
  }
}

TEST_CASE("not is logical on bool and bitwise on integers") {
  REQUIRE_THAT(apply("not", DType::kBool, {0, 1}),
               matches_tensor(make_tensor(DType::kBool, {2}, {1, 0})));
  REQUIRE_THAT(apply("not", DType::kU8, {0, 0xf0}),
               matches_tensor(make_tensor(DType::kU8, {2}, {255, 15})));
}

TEST_CASE("libm functions are right on special values") {
  REQUIRE_THAT(apply("erf", DType::kF32, {0, 1, -kInf, kNaN}),
               matches_tensor(make_tensor(DType::kF32, {4}, {0, 0.8427007929, -1, kNaN})));
  REQUIRE_THAT(apply("log", DType::kF32, {0, -1, 1, kInf}),
               matches_tensor(make_tensor(DType::kF32, {4}, {-kInf, kNaN, 0, kInf})));
  REQUIRE_THAT(apply("log1p", DType::kF32, {1e-10, -1}),
               matches_tensor(make_tensor(DType::kF32, {2}, {1e-10, -kInf})));
  REQUIRE_THAT(apply("expm1", DType::kF64, {1e-10}),
               matches_tensor(make_tensor(DType::kF64, {1}, {1.00000000005e-10})));
  REQUIRE_THAT(apply("sin", DType::kF32, {1e6}),
               matches_tensor(make_tensor(DType::kF32, {1}, {std::sin(1e6)})));
}

TEST_CASE("an input that is missing or of another type is named") {
  const std::string text = "input %x \"ids\" : i64[2]\n%y = neg(%x)\noutput \"y\" %y";
  REQUIRE_THROWS_WITH(run_text(text), "input \"ids\" (i64[2]) is missing");
  REQUIRE_THROWS_WITH(run_text(text, {{"ids", make_tensor(DType::kI32, {2}, {})}}),
                      "input \"ids\" is i64[2], found i32[2]");
  REQUIRE_THROWS_WITH(run_text("input %x \"ids\" : i64[n]\n%y = neg(%x)\noutput \"y\" %y",
                               {{"ids", make_tensor(DType::kI64, {2}, {})}}),
                      "input \"ids\" is i64[n], expected constant extents");
}
