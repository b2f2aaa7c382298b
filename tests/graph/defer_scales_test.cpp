#include <map>

#include "graph/evaluate.h"
#include "graph/passes.h"
#include "graph/text_form.h"
#include "graph/validate.h"
#include "support/catch.h"
#include "support/make_tensor.h"
#include "support/matches_tensor.h"

using namespace stitch;

namespace {

struct Deferred {
  std::string text;
  std::vector<Tensor> native, exact;  // outputs of the new graph in f32, of the old one in fp64
};

Deferred defer(const std::string& body) {
  const Graph before = parse_graph("graph \"test\" {\n" + body + "\n}\n");
  const Graph after = remove_dead(defer_scales(before));
  validate(after);
  std::map<std::string, Tensor> inputs;
  uint32_t seed = 1;
  for (const ValueId input : before.inputs()) {
    const ValueType& type = before.type(input);
    inputs[before.value(input).name] =
        random_tensor(type.dtype, constant_extents(type.shape), seed++);
  }
  return {print_graph(after), evaluate(after, inputs, EvaluationPrecision::kNative),
          evaluate(before, inputs, EvaluationPrecision::kF64)};
}

// One rounding of the scale and one of the product: the sum has none.
void require_exact_sums(const Deferred& deferred) {
  for (size_t i = 0; i < deferred.exact.size(); ++i) {
    REQUIRE_THAT(deferred.native[i],
                 matches_tensor(deferred.exact[i], {.relative_to_row = 0x1p-23}));
  }
}

bool is_deferred(const Deferred& deferred, const std::string& contraction) {
  const size_t at = deferred.text.find(contraction);
  return at != std::string::npos && deferred.text.find("mul(", at) != std::string::npos &&
         deferred.text.find("mul(") > at;
}

const std::string kLeft =
    "input %p \"p\" : i8[3,64]\n%pf = cast(%p) : f32[3,64]\n"
    "%s = constant {f32[] 0.1} : f32[]\n%sb = broadcast(%s) {axes=[]} : f32[3,64]\n"
    "%x = mul(%pf, %sb)\n";
const std::string kOutput = "\noutput \"y\" %y";

}  // namespace

TEST_CASE("scales of both operands of a product go behind it") {
  const Deferred whole =
      defer(kLeft +
            "input %q \"q\" : u8[64,5]\n%qf = cast(%q) : f32[64,5]\n"
            "%t = constant {f32[1] [0.3]} : f32[1]\n%tb = broadcast(%t) {axes=[1]} : f32[64,5]\n"
            "%w = mul(%tb, %qf)\n%y = matmul(%x, %w) {accumulate=f32}" +
            kOutput);
  REQUIRE(is_deferred(whole, "matmul("));
  require_exact_sums(whole);
}

TEST_CASE("a scale per column follows its axis through a transpose") {
  const Deferred columns = defer(
      kLeft +
      "input %q \"q\" : i8[2,64]\n%qf = cast(%q) : f32[2,64]\n"
      "%t = constant {f32[2] [0.3, 0.7]} : f32[2]\n%tb = broadcast(%t) {axes=[0]} : f32[2,64]\n"
      "%w = mul(%qf, %tb)\n%wt = transpose(%w) {perm=[1, 0]}\n"
      "%y = matmul(%x, %wt) {accumulate=f32}" +
      kOutput);
  REQUIRE(is_deferred(columns, "matmul("));
  REQUIRE(columns.text.find("{axes=[1]}") != std::string::npos);
  require_exact_sums(columns);
}

TEST_CASE("scales of rows and of columns are two factors") {
  const Deferred both = defer(
      "input %p \"p\" : i8[2,64]\n%pf = cast(%p) : f32[2,64]\n"
      "%s = constant {f32[2] [0.1, 0.9]} : f32[2]\n%sb = broadcast(%s) {axes=[0]} : f32[2,64]\n"
      "%x = mul(%pf, %sb)\n"
      "input %q \"q\" : i8[64,3]\n%qf = cast(%q) : f32[64,3]\n"
      "%t = constant {f32[3] [0.3, 0.7, 2]} : f32[3]\n%tb = broadcast(%t) {axes=[1]} : f32[64,3]\n"
      "%w = mul(%qf, %tb)\n%y = matmul(%x, %w) {accumulate=f32}" +
      kOutput);
  REQUIRE(is_deferred(both, "matmul("));
  require_exact_sums(both);
}

TEST_CASE("a convolution is scaled per output channel") {
  const Deferred channels = defer(
      "input %p \"p\" : u8[1,4,5,5]\n%pf = cast(%p) : f32[1,4,5,5]\n"
      "%s = constant {f32[] 0.1} : f32[]\n%sb = broadcast(%s) {axes=[]} : f32[1,4,5,5]\n"
      "%x = mul(%pf, %sb)\n"
      "input %q \"q\" : i8[2,4,3,3]\n%qf = cast(%q) : f32[2,4,3,3]\n"
      "%t = constant {f32[2] [0.3, 0.7]} : f32[2]\n%tb = broadcast(%t) {axes=[0]} : "
      "f32[2,4,3,3]\n%w = mul(%qf, %tb)\n"
      "%y = conv(%x, %w) {strides=[1, 1], dilations=[1, 1], low=[1, 1], high=[1, 1], groups=1}" +
      kOutput);
  REQUIRE(is_deferred(channels, "conv("));
  REQUIRE(channels.text.find("{axes=[1]}") != std::string::npos);
  require_exact_sums(channels);
}

TEST_CASE("scales stay where they do not factor out, or where nothing is gained") {
  const auto weight = [](const std::string& integers, const std::string& scale) {
    return kLeft + integers + scale + "%w = mul(%qf, %tb)\n%y = matmul(%x, %w) {accumulate=f32}" +
           kOutput;
  };
  const std::string integers = "input %q \"q\" : i8[64,2]\n%qf = cast(%q) : f32[64,2]\n";
  const auto one = [](const std::string& value) {
    return "%t = constant {f32[] " + value +
           "} : f32[]\n%tb = broadcast(%t) {axes=[]} : " + "f32[64,2]\n";
  };
  REQUIRE(is_deferred(defer(weight(integers, one("0.5"))), "matmul("));
  // Along the sum; no constant; floats that are no integers; a product below the normal numbers.
  std::string ramp;
  for (int i = 1; i <= 64; ++i) ramp += (i > 1 ? ", " : "") + std::to_string(i);
  const std::string summed = "%t = constant {f32[64] [" + ramp +
                             "]} : f32[64]\n%tb = broadcast(%t) {axes=[0]} : f32[64,2]\n";
  const std::string runtime = "input %t \"t\" : f32[]\n%tb = broadcast(%t) {axes=[]} : f32[64,2]\n";
  const std::string halves = "input %q \"q\" : f16[64,2]\n%qf = cast(%q) : f32[64,2]\n";
  REQUIRE(!is_deferred(defer(weight(integers, summed)), "matmul("));
  REQUIRE(!is_deferred(defer(weight(integers, runtime)), "matmul("));
  REQUIRE(!is_deferred(defer(weight(halves, one("0.5"))), "matmul("));
  REQUIRE(!is_deferred(defer(weight(integers, one("1e-38"))), "matmul("));
}
