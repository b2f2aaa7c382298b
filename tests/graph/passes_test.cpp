#include "graph/passes.h"

#include <fmt/format.h>

#include <ctime>
#include <limits>

#include "graph/graph_equality.h"
#include "graph/run_text.h"
#include "support/catch.h"
#include "support/make_tensor.h"
#include "support/matches_tensor.h"

using namespace stitch;

namespace {

using PassFunction = Graph (*)(const Graph&);

// Values that break identities which hold for real numbers only.
Tensor adversarial(DType dtype, const std::vector<int64_t>& extents, uint32_t seed) {
  Tensor tensor = random_tensor(dtype, extents, seed);
  if (!is_float(dtype)) return tensor;
  const double special[] = {std::numeric_limits<double>::quiet_NaN(),
                            std::numeric_limits<double>::infinity(),
                            -std::numeric_limits<double>::infinity(),
                            -0.0,
                            0.0,
                            1e-40,
                            65504};
  for (int64_t i = 0; i < std::min<int64_t>(7, tensor.element_count()); ++i) {
    tensor.set_real(i, special[(i + seed) % 7]);
  }
  return tensor;
}

// Runs `pass` to its end, checks that a second run changes nothing and that the results are the
// same to the bit; gives the text of the body.
std::string run_pass(PassFunction pass, const std::string& body,
                     TensorTolerance tolerance = {.relative_to_row = 0, .signed_zeros = true}) {
  const Graph before = parse_graph("graph \"test\" {\n" + body + "\n}\n");
  const Graph after = pass(before);
  validate(after);
  REQUIRE(equal(pass(after), after));
  std::map<std::string, Tensor> inputs;
  uint32_t seed = 1;
  for (const ValueId input : before.inputs()) {
    const ValueType& type = before.type(input);
    inputs[before.value(input).name] =
        adversarial(type.dtype, constant_extents(type.shape), seed++);
  }
  for (const auto precision : {EvaluationPrecision::kNative, EvaluationPrecision::kF64}) {
    const std::vector<Tensor> expected = evaluate(before, inputs, precision);
    const std::vector<Tensor> actual = evaluate(after, inputs, precision);
    for (size_t i = 0; i < expected.size(); ++i) {
      REQUIRE_THAT(actual[i], matches_tensor(expected[i], tolerance));
    }
  }
  return print_graph(after);
}

std::string simplified(const std::string& body) {
  return run_pass([](const Graph& graph) { return remove_dead(simplify(graph)); }, body);
}

std::string folded(const std::string& body) {
  return run_pass([](const Graph& graph) { return remove_dead(fold_constants(graph)); }, body);
}

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

const std::string kX = "input %x \"x\" : f32[2,4]\n";

// A graph whose output is `expression` over x, with a splat constant %c of the given value.
std::string with_splat(const std::string& value, const std::string& expression,
                       const std::string& type = "f32") {
  return "input %x \"x\" : " + type + "[2,4]\n%s = constant {" + type + "[] " + value +
         "}\n%c = broadcast(%s) {axes=[]} : " + type + "[2,4]\n%y = " + expression +
         "\noutput \"y\" %y";
}

}  // namespace

TEST_CASE("neutral operands disappear") {
  const std::string nothing =
      "graph \"test\" {\n  input %0 \"x\" : f32[2,4]\n  output \"y\" %0\n}\n";
  REQUIRE(simplified(with_splat("1", "mul(%x, %c)")) == nothing);
  REQUIRE(simplified(with_splat("1", "mul(%c, %x)")) == nothing);
  REQUIRE(simplified(with_splat("1", "div(%x, %c)")) == nothing);
  REQUIRE(simplified(with_splat("-0", "add(%x, %c)")) == nothing);
  REQUIRE(simplified(with_splat("0", "sub(%x, %c)")) == nothing);
  REQUIRE(simplified(with_splat("1", "pow(%x, %c)")) == nothing);
  REQUIRE(simplified(with_splat("-inf", "max(%x, %c)")) == nothing);
  REQUIRE(simplified(with_splat("inf", "min(%c, %x)")) == nothing);
}

TEST_CASE("operands that are neutral for real numbers only stay") {
  REQUIRE(count(simplified(with_splat("0", "add(%x, %c)")), "add(") == 1);   // -0 + 0 is 0
  REQUIRE(count(simplified(with_splat("-0", "sub(%x, %c)")), "sub(") == 1);  // -0 - -0 is 0
  REQUIRE(count(simplified(with_splat("0", "mul(%x, %c)")), "mul(") == 1);   // 0 * NaN
  REQUIRE(count(simplified(with_splat("0", "sub(%c, %x)")), "sub(") == 1);   // 0 - 0 is not -0
  REQUIRE(count(simplified(with_splat("nan", "max(%x, %c)")), "max(") == 1);
  REQUIRE(count(simplified(kX + "%y = sub(%x, %x)\noutput \"y\" %y"), "sub(") == 1);
}

TEST_CASE("integers keep their own identities") {
  REQUIRE(count(simplified(with_splat("0", "add(%x, %c)", "i32")), "add(") == 0);
  REQUIRE(count(simplified(with_splat("0", "mul(%x, %c)", "i32")), "mul(") == 0);
  REQUIRE(count(simplified(with_splat("2", "div(%x, %c)", "i32")), "div(") == 1);
  REQUIRE(count(simplified(with_splat("-1", "bitwise(%x, %c) {kind=and}", "i32")), "bitwise") == 0);
  REQUIRE(count(simplified(with_splat("255", "bitwise(%x, %c) {kind=xor}", "u8")), "not(") == 1);
}

TEST_CASE("selecting 0 where x differs from itself is kept: it removes NaN") {
  const std::string text = simplified(
      kX +
      "%s = constant {f32[] 0}\n%z = broadcast(%s) {axes=[]} : f32[2,4]\n"
      "%e = compare(%x, %x) {kind=eq}\n%n = not(%e)\n%y = select(%n, %z, %x)\noutput \"y\" %y");
  REQUIRE(count(text, "compare(") == 1);
  REQUIRE(count(text, "select(") == 1);
  REQUIRE(count(text, "not(") == 0);  // the branches are swapped instead
}

TEST_CASE("division by a power of two becomes multiplication, by others it stays") {
  REQUIRE(count(simplified(with_splat("8", "div(%x, %c)")), "{f32[] 0.125}") == 1);
  REQUIRE(count(simplified(with_splat("-0.5", "div(%x, %c)")), "mul(") == 1);
  REQUIRE(count(simplified(with_splat("3", "div(%x, %c)")), "div(") == 1);
  REQUIRE(count(simplified(with_splat("0", "div(%x, %c)")), "div(") == 1);
  REQUIRE(count(simplified(with_splat("inf", "div(%x, %c)")), "div(") == 1);
  REQUIRE(count(simplified(with_splat("1e-45", "div(%x, %c)")), "div(") == 1);
}

TEST_CASE("small powers become multiplications and roots where the signs allow") {
  REQUIRE(count(simplified(with_splat("2", "pow(%x, %c)")), "mul(%0, %0)") == 1);
  REQUIRE(count(simplified(with_splat("0", "pow(%x, %c)")), "pow(") == 0);
  REQUIRE(count(simplified(with_splat("0.5", "pow(%x, %c)")), "pow(") == 1);  // -inf, -0
  const std::string text =
      simplified(kX +
                 "%s = constant {f32[] 0.5}\n%h = broadcast(%s) {axes=[]} : f32[2,4]\n"
                 "%q = mul(%x, %x)\n%y = pow(%q, %h)\noutput \"y\" %y");
  REQUIRE(count(text, "sqrt(") == 1);
}

TEST_CASE("a cube is two products, within a rounding of pow") {
  const std::string text = run_pass([](const Graph& graph) { return remove_dead(simplify(graph)); },
                                    with_splat("3", "pow(%x, %c)"), {.relative_to_row = 1e-6});
  REQUIRE(count(text, "mul(") == 2);
}

TEST_CASE("moves that move nothing disappear, and two moves become one") {
  REQUIRE(count(simplified(kX + "%a = reshape(%x) : f32[8]\n%b = reshape(%a) : f32[4,2]\n"
                                "output \"y\" %b"),
                "reshape(") == 1);
  REQUIRE(count(simplified(kX + "%a = reshape(%x) : f32[8]\n%b = reshape(%a) : f32[2,4]\n"
                                "output \"y\" %b"),
                "reshape(") == 0);
  REQUIRE(count(simplified(kX + "%a = transpose(%x) {perm=[1,0]}\n%b = transpose(%a) {perm=[1,0]}\n"
                                "output \"y\" %b"),
                "transpose(") == 0);
  REQUIRE(count(simplified("input %x \"x\" : f32[2,1,4]\n%a = transpose(%x) {perm=[1,0,2]}\n"
                           "output \"y\" %a"),
                "reshape(%0) : f32[1,2,4]") == 1);
  REQUIRE(count(simplified(kX + "%a = slice(%x) {starts=[0,1], limits=[2,4], steps=[1,1]}\n"
                                "%b = slice(%a) {starts=[0,0], limits=[1,3], steps=[1,2]}\n"
                                "output \"y\" %b"),
                "starts=[0, 1], limits=[1, 4], steps=[1, 2]") == 1);
  REQUIRE(count(simplified(kX + "%a = slice(%x) {starts=[0,0], limits=[2,4], steps=[1,1]}\n"
                                "output \"y\" %a"),
                "slice(") == 0);
  REQUIRE(count(simplified(kX + "%a = reverse(%x) {axes=[0,1]}\n%b = reverse(%a) {axes=[1]}\n"
                                "output \"y\" %b"),
                "reverse(%0) {axes=[0]}") == 1);
  REQUIRE(count(simplified(kX + "%a = concat(%x) {axis=1}\noutput \"y\" %a"), "concat(") == 0);
  REQUIRE(count(simplified(kX + "%a = concat(%x, %x) {axis=1}\n%b = concat(%a, %x) {axis=1}\n"
                                "output \"y\" %b"),
                "concat(%0, %0, %0)") == 1);
  REQUIRE(count(simplified(kX + "%z = constant {f32[] 0}\n"
                                "%a = pad(%x, %z) {low=[0,0], high=[0,0]}\noutput \"y\" %a"),
                "pad(") == 0);
  REQUIRE(count(simplified(kX + "%a = broadcast(%x) {axes=[1,2]} : f32[3,2,4]\n"
                                "%b = broadcast(%a) {axes=[0,1,3]} : f32[3,2,5,4]\n"
                                "output \"y\" %b"),
                "broadcast(%0) {axes=[1, 3]}") == 1);
}

TEST_CASE("casts through a type that loses nothing are direct") {
  REQUIRE(count(simplified("input %x \"x\" : f16[4]\n%a = cast(%x) : f32[4]\n%b = cast(%a) : "
                           "f16[4]\noutput \"y\" %b"),
                "cast(") == 0);
  REQUIRE(count(simplified("input %x \"x\" : i64[4]\n%a = cast(%x) : i32[4]\n%b = cast(%a) : "
                           "i8[4]\noutput \"y\" %b"),
                "cast(") == 1);
  // f32 to f16 and back rounds: compared in native precision, where it shows.
  REQUIRE(count(print_graph(simplify(
                    parse_graph("graph \"t\" {\ninput %x \"x\" : f32[4]\n%a = cast(%x) : f16[4]\n"
                                "%b = cast(%a) : f32[4]\noutput \"y\" %b\n}"))),
                "cast(") == 2);
}

TEST_CASE("element-wise work on broadcasts is done before the broadcast") {
  const std::string text = simplified(
      "input %w \"w\" : f32[4]\n%s = constant {f32[] 3}\n"
      "%a = broadcast(%w) {axes=[1]} : f32[2,4]\n%c = broadcast(%s) {axes=[]} : f32[2,4]\n"
      "%b = add(%a, %c)\n%y = exp(%b)\noutput \"y\" %y");
  REQUIRE(count(text, ": f32[2,4]") == 1);
  REQUIRE(count(text, "broadcast(") == 2);
}

TEST_CASE("reductions over extent 1 are reshapes, and max of max is one") {
  REQUIRE(count(simplified("input %x \"x\" : f32[2,1,7]\n%y = reduce(%x) {kind=sum, axes=[1]}\n"
                           "output \"y\" %y"),
                "reshape(") == 1);
  REQUIRE(count(simplified("input %x \"x\" : f32[2,3,7]\n%a = reduce(%x) {kind=max, axes=[1]}\n"
                           "%y = reduce(%a) {kind=max, axes=[1]}\noutput \"y\" %y"),
                "axes=[1, 2]") == 1);
}

TEST_CASE("a reduction of no elements is its identity") {
  for (const char* type : {"f32", "f16", "bf16", "f64", "i8", "i64", "u64"}) {
    for (const char* kind : {"sum", "prod", "min", "max"}) {
      CAPTURE(type, kind);
      const std::string text =
          simplified(fmt::format("input %x \"x\" : {}[3,0,2]\n%y = reduce(%x) {{kind={}, "
                                 "axes=[1]}}\noutput \"y\" %y",
                                 type, kind));
      REQUIRE(count(text, "broadcast(") == 1);
      REQUIRE(count(text, "reduce(") == 0);
    }
  }
  REQUIRE(count(simplified("input %a \"a\" : f32[3,0]\ninput %b \"b\" : f32[0,5]\n"
                           "%y = matmul(%a, %b) {accumulate=f32}\noutput \"y\" %y"),
                "matmul(") == 0);
}

TEST_CASE("a gather by constant indices in a row is a slice") {
  const std::string text = simplified(
      "input %x \"x\" : f32[2,5]\n%i = constant {i64[] -2}\n%y = gather(%x, %i) {axis=1}\n"
      "output \"y\" %y");
  REQUIRE(count(text, "starts=[0, 3], limits=[2, 4]") == 1);
  REQUIRE(count(simplified("input %x \"x\" : f32[2,5]\n%i = constant {i64[2] [3, 1]}\n"
                           "%y = gather(%x, %i) {axis=1}\noutput \"y\" %y"),
                "gather(") == 1);
}

TEST_CASE("conditions that are known choose") {
  REQUIRE(count(simplified(kX + "%a = neg(%x)\n%t = constant {bool[2,4] splat 1}\n"
                                "%y = select(%t, %x, %a)\noutput \"y\" %y"),
                "select(") == 0);
  REQUIRE(count(simplified(kX + "%e = compare(%x, %x) {kind=lt}\noutput \"y\" %e"), "compare(") ==
          0);
  REQUIRE(count(simplified(kX + "%e = compare(%x, %x) {kind=le}\noutput \"y\" %e"), "compare(") ==
          1);
  REQUIRE(count(simplified("input %x \"x\" : i32[4]\n%e = compare(%x, %x) {kind=le}\n"
                           "output \"y\" %e"),
                "compare(") == 0);
}

TEST_CASE("nodes over constants are folded") {
  const std::string text =
      folded(kX +
             "%w = constant {f32[4,2] [1, 2, 3, 4, 5, 6, 7, 8]}\n%t = transpose(%w) {perm=[1,0]}\n"
             "%y = add(%x, %t)\noutput \"y\" %y");
  REQUIRE(count(text, "[1, 3, 5, 7, 2, 4, 6, 8]") == 1);
  REQUIRE(count(text, "transpose(") == 0);
}

TEST_CASE("broadcasts of constants are never stored, but are seen through") {
  const std::string text = folded(
      "%s = constant {f32[] 2}\n%b = broadcast(%s) {axes=[]} : f32[100,1000]\n"
      "%r = reduce(%b) {kind=sum, axes=[1]}\noutput \"b\" %b\noutput \"r\" %r");
  REQUIRE(count(text, "broadcast(") == 1);
  REQUIRE(count(text, "{f32[100] splat 2000}") == 1);
}

TEST_CASE("small tables over iota are folded, large ones stay computed") {
  const auto table = [](int64_t n) {
    return fmt::format(
        "%i = iota() {{axis=0}} : i64[{0}]\n%j = mul(%i, %i)\n%y = add(%j, %i)\noutput \"y\" %y",
        n);
  };
  REQUIRE(count(folded(table(5)), "{i64[5] [0, 2, 6, 12, 20]}") == 1);
  REQUIRE(count(folded(table(100000)), "add(") == 1);
}

TEST_CASE("a large weight that only products read transposed is not copied") {
  const auto graph = [](const std::string& rest) {
    return "input %x \"x\" : f32[1,256]\n%w = constant {f32[256,256] splat 0.5}\n"
           "%t = transpose(%w) {perm=[1,0]}\n%y = matmul(%x, %t)\noutput \"y\" %y" +
           rest;
  };
  const auto fold = [](const std::string& body) {
    return print_graph(fold_constants(parse_graph("graph \"t\" {\n" + body + "\n}")));
  };
  REQUIRE(count(fold(graph("")), "transpose(") == 1);
  REQUIRE(count(fold(graph("\n%z = neg(%t)\noutput \"z\" %z")), "transpose(") == 0);
}

TEST_CASE("equal nodes are merged, commuted operands included") {
  const std::string text = run_pass(
      [](const Graph& graph) { return remove_dead(merge_common(graph)); },
      "input %x \"x\" : f32[4]\ninput %z \"z\" : f32[4]\n%a = add(%x, %z)  # first (Add)\n"
      "%b = add(%z, %x)  # second (Add)\n%c = constant {f32[4] [1, 2, 3, 4]}\n"
      "%d = constant {f32[4] [1, 2, 3, 4]}\n%e = mul(%a, %c)\n%f = mul(%b, %d)\n%y = sub(%e, %f)\n"
      "output \"y\" %y");
  REQUIRE(count(text, "add(") == 1);
  REQUIRE(count(text, "constant") == 1);
  REQUIRE(count(text, "mul(") == 1);
  REQUIRE(count(text, "# first (Add), second (Add)") == 1);
}

TEST_CASE("nodes that differ in attributes or type only are not merged") {
  const std::string text =
      run_pass(merge_common,
               "input %x \"x\" : f32[4]\n%a = cast(%x) : f16[4]\n%b = cast(%x) : f64[4]\n"
               "%c = reduce(%x) {kind=min, axes=[0]}\n%d = reduce(%x) {kind=max, axes=[0]}\n"
               "%e = sub(%c, %d)\n%f = sub(%d, %c)\n"
               "output \"a\" %a\noutput \"b\" %b\noutput \"e\" %e\noutput \"f\" %f");
  REQUIRE(count(text, "cast(") == 2);
  REQUIRE(count(text, "reduce(") == 2);
  REQUIRE(count(text, "sub(") == 2);
}

TEST_CASE("products of one matrix with slices of one value become one product") {
  const auto body = [](const std::string& last) {
    return "input %x \"x\" : f32[3,1,4]\ninput %w \"w\" : f32[4,5]\n"
           "%a = slice(%x) {starts=[0,0,0], limits=[1,1,4], steps=[1,1,1]}\n"
           "%b = reshape(%a) : f32[1,4]\n%c = matmul(%b, %w) {accumulate=f32}\n"
           "%d = slice(%x) {starts=[2,0,0], limits=[3,1,4], steps=[1,1,1]}\n"
           "%e = reshape(%d) : f32[1,4]\n%f = neg(%c)\n%g = matmul(" +
           last + ") {accumulate=f32}\noutput \"f\" %f\noutput \"g\" %g";
  };
  const auto merge = [](const std::string& text) {
    return run_pass([](const Graph& graph) { return remove_dead(merge_products(graph)); }, text,
                    {.relative_to_row = 1e-6});
  };
  const std::string merged = merge(body("%e, %w"));
  REQUIRE(count(merged, "matmul(") == 1);
  REQUIRE(count(merged, "f32[3,5]") == 1);
  // Another matrix; an operand that is no slice.
  REQUIRE(count(merge("input %v \"v\" : f32[4,5]\n" + body("%e, %v")), "matmul(") == 2);
  REQUIRE(count(merge("input %v \"v\" : f32[1,4]\n" + body("%v, %w")), "matmul(") == 2);
}

TEST_CASE("few rows of a large value are not multiplied together") {
  const std::string text =
      run_pass(merge_products,
               "input %x \"x\" : f32[9,4]\ninput %w \"w\" : f32[4,5]\n"
               "%a = slice(%x) {starts=[0,0], limits=[2,4], steps=[1,1]}\n"
               "%b = slice(%x) {starts=[6,0], limits=[8,4], steps=[1,1]}\n"
               "%c = matmul(%a, %w) {accumulate=f32}\n%d = matmul(%b, %w) {accumulate=f32}\n"
               "output \"c\" %c\noutput \"d\" %d",
               {.relative_to_row = 1e-6});
  REQUIRE(count(text, "matmul(") == 2);
}

TEST_CASE("constant matrices that one value is multiplied with are packed, rows added to it too") {
  const auto pack = [](const std::string& text) {
    return run_pass([](const Graph& graph) { return remove_dead(pack_matrices(graph)); }, text,
                    {.relative_to_row = 1e-6});
  };
  const std::string matrices =
      "input %x \"x\" : f32[6,4]\n"
      "%w = constant {f32[4,2] [1, -2, 3, 4, 5, -6, 7, 8]} : f32[4,2]\n"
      "%v = constant {f32[4,3] [1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3]} : f32[4,3]\n";
  const std::string products =
      "%a = matmul(%x, %w) {accumulate=f32}\n%b = matmul(%x, %v) {accumulate=f32}\n";
  const std::string used = "%c = exp(%a)\n%d = exp(%b)\noutput \"c\" %c\noutput \"d\" %d";
  const std::string packed = pack(matrices + products + used);
  REQUIRE(count(packed, "matmul(") == 1);
  REQUIRE(count(packed, "f32[6,5]") == 1);
  REQUIRE(pack(matrices + products + used) == packed);
  // A row for one of them only: the other gets -0.
  const std::string added = pack(matrices + products +
                                 "%r = constant {f32[3] [7, 8, 9]} : f32[3]\n"
                                 "%s = broadcast(%r) {axes=[1]} : f32[6,3]\n%e = add(%b, %s)\n"
                                 "%c = exp(%a)\n%d = exp(%e)\noutput \"c\" %c\noutput \"d\" %d");
  REQUIRE(count(added, "matmul(") == 1);
  REQUIRE(count(added, "add(") == 1);
  // Transposed matrices are packed before they are transposed.
  const std::string transposed =
      "input %x \"x\" : f32[6,2]\n"
      "%w = constant {f32[4,2] [1, -2, 3, 4, 5, -6, 7, 8]} : f32[4,2]\n"
      "%v = constant {f32[1,2] [3, 4]} : f32[1,2]\n"
      "%wt = transpose(%w) {perm=[1, 0]}\n%vt = transpose(%v) {perm=[1, 0]}\n"
      "%a = matmul(%x, %wt) {accumulate=f32}\n%b = matmul(%x, %vt) {accumulate=f32}\n";
  REQUIRE(count(pack(transposed + used), "matmul(") == 1);
  REQUIRE(count(pack(transposed + used), "transpose(") == 1);
}

TEST_CASE("matrices stay apart where packing would cost a copy or calls") {
  const auto pack = [](const std::string& text) {
    return count(run_pass(pack_matrices, text, {.relative_to_row = 1e-6}), "matmul(");
  };
  const std::string matrices =
      "%w = constant {f32[2,2] [1, -2, 3, 4]} : f32[2,2]\n%v = constant {f32[2,2] [5, 6, 7, 8]} : "
      "f32[2,2]\n";
  const std::string products =
      matrices + "%a = matmul(%x, %w) {accumulate=f32}\n%b = matmul(%x, %v) {accumulate=f32}\n";
  const std::string used = "%c = exp(%a)\n%d = exp(%b)\noutput \"c\" %c\noutput \"d\" %d";
  const std::string rows = "input %x \"x\" : f32[6,2]\n";
  REQUIRE(pack(rows + products + used) == 1);
  // A vector; an output; a matrix that is read elsewhere.
  REQUIRE(pack("input %x \"x\" : f32[1,2]\n" + products + used) == 2);
  REQUIRE(pack(rows + products + "%r = reshape(%a) : f32[2,6]\n%d = exp(%b)\noutput \"r\" %r\n" +
               "output \"d\" %d") == 2);
  REQUIRE(pack(rows + products + "%e = exp(%w)\noutput \"e\" %e\n" + used) == 2);
  // Six rows as a batch of two, which are multiplied with each other.
  const std::string batch = products +
                            "%p = reshape(%a) : f32[2,3,2]\n%q = reshape(%b) : f32[2,3,2]\n"
                            "%t = transpose(%q) {perm=[0, 2, 1]}\n"
                            "%y = matmul(%p, %t) {accumulate=f32}\noutput \"y\" %y";
  REQUIRE(pack(rows + batch) == 3);
}

TEST_CASE("what reaches no output is removed, inputs stay") {
  const std::string text = run_pass(remove_dead,
                                    "input %x \"x\" : f32[4]\ninput %z \"z\" : f32[4]\n"
                                    "%a = exp(%z)\n%b = neg(%a)\n%y = abs(%x)\noutput \"y\" %y");
  REQUIRE(text ==
          "graph \"test\" {\n  input %0 \"x\" : f32[4]\n  input %1 \"z\" : f32[4]\n"
          "  %2 = abs(%0) : f32[4]\n  output \"y\" %2\n}\n");
}

TEST_CASE("sources of nodes that vanish go to the node that read them") {
  const std::string text =
      simplified(kX +
                 "%a = exp(%x)  # e (Exp)\n%r = reshape(%a) : f32[2,4]  # r (Reshape)\n"
                 "%y = neg(%r)  # n (Neg)\noutput \"y\" %y");
  REQUIRE(count(text, "# n (Neg), r (Reshape)") == 1);
}

TEST_CASE("the pass runner ends, times each pass and reports unchanged ones") {
  std::vector<PassTime> times;
  std::vector<std::string> dumps;
  PassOptions options;
  options.dump = [&](const std::string& pass, const std::string& text) {
    dumps.push_back(pass + (text == "unchanged" ? " unchanged" : ""));
  };
  const Graph graph = parse_graph("graph \"t\" {\n" + with_splat("1", "mul(%x, %c)") + "\n}");
  const Graph result = run_passes(graph, options, &times);
  REQUIRE(result.node_count() == 0);
  REQUIRE(dumps[0] == "import");
  REQUIRE(dumps[1] == "remove_dead unchanged");
  REQUIRE(dumps[2] == "simplify");
  REQUIRE(dumps.size() > 5);
  for (size_t i = dumps.size() - 4; i < dumps.size(); ++i) {
    REQUIRE(dumps[i].ends_with(" unchanged"));
  }
  REQUIRE(times.size() + 1 == dumps.size());
}

TEST_CASE("passes take near linear time on a graph of 20000 nodes") {
  Graph graph;
  const ValueType type{DType::kF32, {64, 256}};
  ValueId x = graph.add_input("x", type);
  for (int i = 0; i < 4000; ++i) {
    const ValueId scale = graph.add_constant(Tensor::scalar(DType::kF32, 1.0 + i % 7));
    const ValueId wide = graph.add(Op::k_broadcast, {scale}, BroadcastAttributes{}, {}, &type);
    const ValueId product = graph.add(Op::k_mul, {x, wide});
    const ValueId sum = graph.add(Op::k_add, {product, x});
    x = graph.add(Op::k_tanh, {sum});
  }
  graph.add_output("y", x);
  const std::clock_t start = std::clock();  // of the processor: other programs do not count
  const Graph result = run_passes(graph);
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  INFO(result.node_count() << " nodes left after " << seconds << " s");
  REQUIRE(seconds < 3);  // about 0.2 s optimised; with sanitizers several times that
}
