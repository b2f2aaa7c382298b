// The numbers that docs/numerics.md calls part of verification, through stitched kernels: rows of
// -inf, one finite element, NaN, infinities, denormals, the largest of f16, huge and tiny rows,
// negative zero, integers beyond 32 bits; rows of 1, odd, prime and long extents.
#include <fmt/format.h>

#include <limits>

#include "graph/evaluate.h"
#include "graph/text_form.h"
#include "plan_batch.h"
#include "support/catch.h"
#include "support/make_tensor.h"
#include "support/matches_tensor.h"

using namespace stitch;
using namespace stitch::test;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t kColumns[] = {1, 2, 7, 31, 64, 127, 1009, 4099};

// One kind of row each; `x` is an ordinary number.
using RowKind = double (*)(int64_t column, int64_t columns, double x);
constexpr RowKind kRows[] = {
    [](int64_t, int64_t, double x) { return x; },
    [](int64_t, int64_t, double) { return -kInfinity; },
    [](int64_t, int64_t, double) { return kInfinity; },
    [](int64_t c, int64_t n, double x) { return c == n / 2 ? x : -kInfinity; },
    [](int64_t c, int64_t n, double x) { return c == n - 1 ? kNan : x; },
    [](int64_t c, int64_t, double x) { return c == 0 ? kInfinity : x; },
    [](int64_t c, int64_t, double x) { return c == 0 ? -kInfinity : x; },
    [](int64_t c, int64_t, double x) { return c % 2 == 0 ? kInfinity : -kInfinity + 0 * x; },
    [](int64_t, int64_t, double x) { return x * 1e-40; },
    [](int64_t c, int64_t, double) { return c % 3 == 0 ? 65504.0 : -65504.0; },
    [](int64_t, int64_t, double x) { return x * 1e18; },
    [](int64_t, int64_t, double x) { return x * 1e-18; },
    [](int64_t c, int64_t, double) { return c % 2 == 0 ? -0.0 : 0.0; },
    [](int64_t, int64_t, double) { return -0.0; },
    [](int64_t, int64_t, double) { return 3.0; },  // no variance, and every position a maximum
};

Tensor hostile_rows(DType dtype, int64_t columns) {
  const auto rows = std::ssize(kRows);
  Tensor tensor(dtype, {rows, columns});
  const Tensor ordinary = random_tensor(DType::kF64, {rows, columns}, 11);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      tensor.set_real(r * columns + c, kRows[r](c, columns, ordinary.real(r * columns + c)));
  return tensor;
}

// {0}: type of the matrix, {1}: that of a column, {2}: the element type, {3}: how many columns, as
// the type of x has it.
constexpr const char* kSoftmax = R"(
  %m = reduce(%x) {{kind=max, axes=[1]}}
  %mb = broadcast(%m) {{axes=[0]}} : {0}
  %d = sub(%x, %mb)
  %e = exp(%d)
  %s = reduce(%e) {{kind=sum, axes=[1]}}
  %sb = broadcast(%s) {{axes=[0]}} : {0}
  %y = div(%e, %sb)
  output "y" %y)";
constexpr const char* kLayerNorm = R"(
  %n = constant {{{2}[] {3}}}
  %eps = constant {{{2}[] 0.0009765625}}
  %nb = broadcast(%n) {{axes=[]}} : {1}
  %eb = broadcast(%eps) {{axes=[]}} : {1}
  %s = reduce(%x) {{kind=sum, axes=[1]}}
  %m = div(%s, %nb)
  %mb = broadcast(%m) {{axes=[0]}} : {0}
  %d = sub(%x, %mb)
  %q = mul(%d, %d)
  %v = reduce(%q) {{kind=sum, axes=[1]}}
  %vm = div(%v, %nb)
  %ve = add(%vm, %eb)
  %sd = sqrt(%ve)
  %sdb = broadcast(%sd) {{axes=[0]}} : {0}
  %y = div(%d, %sdb)
  output "y" %y)";
constexpr const char* kExtremes = R"(
  %a = reduce(%x) {{kind=max, axes=[1]}}
  %b = reduce(%x) {{kind=min, axes=[1]}}
  %c = argreduce(%x) {{kind=max, axis=1, last=false}}
  %d = argreduce(%x) {{kind=min, axis=1, last=false}}
  %e = argreduce(%x) {{kind=max, axis=1, last=true}}
  %f = reduce(%x) {{kind=max, axes=[0]}}
  %g = argreduce(%x) {{kind=min, axis=0, last=true}}
  output "max" %a
  output "min" %b
  output "first max" %c
  output "first min" %d
  output "last max" %e
  output "column max" %f
  output "column min" %g)";
constexpr const char* kElementwise = R"(
  %z = neg(%x)
  %a = max(%x, %z)
  %b = min(%a, %x)
  %c = sign(%b)
  %d = round(%x)
  %e = compare(%x, %z) {{kind=le}}
  %f = select(%e, %c, %d)
  %g = floor(%z)
  output "b" %b
  output "f" %f
  output "g" %g
  output "e" %e)";

std::string casts(const std::string& shape) {
  std::string text;
  for (const char* type : {"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bool"})
    text += fmt::format("  %{0} = cast(%x) {{saturate=true}} : {0}{1}\n  output \"{0}\" %{0}\n",
                        type, shape);
  return text;
}

std::unique_ptr<BatchCase> make_case(const std::string& title, const std::string& body,
                                     const Tensor& x) {
  const std::string text = fmt::format("graph \"{}\" {{\n  input %x \"x\" : {}[{}]\n{}\n}}\n",
                                       title, name(x.dtype()), fmt::join(x.extents(), ","), body);
  PlanOptions options;
  options.device = "a100";
  return plan_case({title, parse_graph(text), {{"x", x}}, options});
}

void check_all(const std::vector<std::unique_ptr<BatchCase>>& cases, TensorTolerance tolerance,
               const std::map<std::string, Graph>& in_place_of = {}) {
  run_batch(cases, 3);
  for (const auto& done : cases) {
    INFO(done->name << "\n" << print_graph(done->graph));
    CHECK(done->faults == std::vector<std::string>());
    const auto other = in_place_of.find(done->name);
    const auto expected = evaluate(other == in_place_of.end() ? done->graph : other->second,
                                   done->inputs, EvaluationPrecision::kNative);
    REQUIRE(done->outputs.size() == expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      INFO("output " << done->graph.outputs()[i].name);
      CHECK_THAT(done->outputs[i], matches_tensor(expected[i], tolerance));
    }
  }
}

// The body for x of `dtype`, computed in `computed`.
std::string body_text(const char* body, DType dtype, DType computed, int64_t columns) {
  const std::string element(name(computed));
  const auto rows = std::ssize(kRows);
  const double count = Tensor::scalar(dtype, static_cast<double>(columns)).real(0);
  return fmt::format(fmt::runtime(body), fmt::format("{}[{},{}]", element, rows, columns),
                     fmt::format("{}[{}]", element, rows), element, count);
}

// The distance of the smallest numbers of bf16.
constexpr double kDenormal = 0x1p-133;

constexpr DType kFloats[] = {DType::kF32, DType::kF64, DType::kF16, DType::kBF16};

void check_pattern(const char* title, const char* body, TensorTolerance tolerance) {
  std::vector<std::unique_ptr<BatchCase>> cases;
  for (const DType dtype : kFloats) {
    for (const int64_t columns : kColumns) {
      cases.push_back(make_case(fmt::format("{}_{}_{}", title, name(dtype), columns),
                                body_text(body, dtype, dtype, columns),
                                hostile_rows(dtype, columns)));
      REQUIRE(cases.back() != nullptr);
    }
  }
  check_all(cases, tolerance);
}

// A kernel computes 16-bit floats in f32 and rounds what it stores, so that a square of 65504 is no
// infinity there: the evaluation to compare with does the same.
void check_rounded_once(const char* title, const char* body) {
  std::vector<std::unique_ptr<BatchCase>> cases;
  std::map<std::string, Graph> in_f32;
  for (const DType dtype : kFloats) {
    for (const int64_t columns : kColumns) {
      const std::string full = fmt::format("{}_{}_{}", title, name(dtype), columns);
      cases.push_back(
          make_case(full, body_text(body, dtype, dtype, columns), hostile_rows(dtype, columns)));
      REQUIRE(cases.back() != nullptr);
      if (size_bytes(dtype) != 2) continue;
      std::string wide = body_text(body, dtype, DType::kF32, columns);
      for (size_t at = wide.find("%x"); at != std::string::npos; at = wide.find("%x", at))
        wide.replace(at, 2, "%wide");
      wide.replace(wide.find("output \"y\" %y"), std::string::npos,
                   fmt::format("%back = cast(%y) {{saturate=true}} : {}[{},{}]\n"
                               "  output \"y\" %back",
                               name(dtype), std::ssize(kRows), columns));
      in_f32[full] =
          parse_graph(fmt::format("graph \"wide\" {{\n  input %x \"x\" : {0}[{1},{2}]\n"
                                  "  %wide = cast(%x) {{saturate=true}} : f32[{1},{2}]\n{3}\n}}\n",
                                  name(dtype), std::ssize(kRows), columns, wide));
    }
  }
  check_all(cases, {.absolute = kDenormal}, in_f32);
}

constexpr TensorTolerance kExact = {.relative_to_row = 0, .signed_zeros = true};

}  // namespace

TEST_CASE("softmax of hostile rows") { check_rounded_once("softmax", kSoftmax); }

TEST_CASE("layer norm of hostile rows") { check_rounded_once("layer_norm", kLayerNorm); }

TEST_CASE("extremes and their positions in hostile rows") {
  check_pattern("extremes", kExtremes, {.relative_to_row = 0});
}

TEST_CASE("choices among hostile numbers") { check_pattern("choices", kElementwise, kExact); }

TEST_CASE("casts of hostile numbers to integers") {
  std::vector<std::unique_ptr<BatchCase>> cases;
  const std::vector<double> numbers = {0,
                                       -0.0,
                                       0.5,
                                       -0.5,
                                       1.5,
                                       -1.5,
                                       127.9,
                                       -128.9,
                                       128,
                                       255.5,
                                       -1,
                                       256,
                                       32767.9,
                                       65535.9,
                                       -32769,
                                       65504,
                                       2147483647.0,
                                       2147483648.0,
                                       -2147483648.0,
                                       -2147483904.0,
                                       4294967295.0,
                                       4294967296.0,
                                       9007199254740993.0,
                                       9223372036854774784.0,
                                       9223372036854775808.0,
                                       -9223372036854775808.0,
                                       18446744073709549568.0,
                                       18446744073709551616.0,
                                       1e30,
                                       -1e30,
                                       kInfinity,
                                       -kInfinity,
                                       kNan,
                                       1e-40,
                                       -1e-40};
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16}) {
    const Tensor x = make_tensor(dtype, {std::ssize(numbers)}, numbers);
    cases.push_back(make_case(fmt::format("casts_{}", name(dtype)),
                              casts(fmt::format("[{}]", std::ssize(numbers))), x));
  }
  const std::vector<int64_t> wide = {0,
                                     -1,
                                     int64_t{1} << 31,
                                     (int64_t{1} << 31) - 1,
                                     -(int64_t{1} << 31) - 1,
                                     int64_t{1} << 32,
                                     (int64_t{1} << 53) + 1,
                                     INT64_MAX,
                                     INT64_MIN,
                                     -(int64_t{1} << 40) + 5};
  cases.push_back(make_case("casts_i64", casts(fmt::format("[{}]", std::ssize(wide))),
                            make_integers(DType::kI64, {std::ssize(wide)}, wide)));
  check_all(cases, kExact);
}

TEST_CASE("sums and extremes of integers beyond 32 bits") {
  const int64_t columns = 37;
  Tensor x(DType::kI64, {3, columns});
  for (int64_t i = 0; i < x.element_count(); ++i)
    x.set_integer(i, (i % 2 == 0 ? 1 : -1) * ((int64_t{1} << 33) * i + i));
  std::vector<std::unique_ptr<BatchCase>> cases;
  cases.push_back(make_case("wide", R"(
  %s = reduce(%x) {kind=sum, axes=[1]}
  %sb = broadcast(%s) {axes=[0]} : i64[3,37]
  %d = sub(%x, %sb)
  %m = reduce(%d) {kind=max, axes=[1]}
  %a = argreduce(%d) {kind=min, axis=1, last=false}
  output "d" %d
  output "m" %m
  output "a" %a)",
                            x));
  check_all(cases, kExact);
}
