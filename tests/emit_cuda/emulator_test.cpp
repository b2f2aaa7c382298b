// Emitted kernels of small graphs on the emulated device against the evaluation, one kernel per
// node and stitched.
#include "emit_cuda/planned_kernels.h"
#include "planner/planned.h"
#include "support/catch.h"

using namespace stitch;
using namespace stitch::test;

namespace {

std::string graph(const std::string& body) { return "graph \"g\" {\n" + body + "\n}"; }

}  // namespace

TEST_CASE("a softmax over rows of odd and even lengths") {
  for (const char* columns : {"64", "31", "1000"}) {
    const std::string n = columns;
    check_on_emulator(graph("input %0 \"scores\" : f32[6," + n + "]\n" +
                            "%1 = reduce(%0) {kind=max, axes=[1]}\n"
                            "%2 = broadcast(%1) {axes=[0]} : f32[6," +
                            n + "]\n" +
                            "%3 = sub(%0, %2)\n%4 = exp(%3)\n"
                            "%5 = reduce(%4) {kind=sum, axes=[1]}\n"
                            "%6 = broadcast(%5) {axes=[0]} : f32[6," +
                            n + "]\n" + "%7 = div(%4, %6)\noutput \"probs\" %7"));
  }
}

TEST_CASE("element-wise operations of floats") {
  for (const char* type : {"f32", "f16", "bf16", "f64"}) {
    check_on_emulator(graph("input %0 \"x\" : " + std::string(type) + "[5,36]\n" +
                            "input %1 \"y\" : " + type + "[36]\n" +
                            "%2 = broadcast(%1) {axes=[1]} : " + type + "[5,36]\n" +
                            "%a = add(%0, %2)\n%b = mul(%a, %0)\n%c = sub(%b, %2)\n"
                            "%d = abs(%c)\n%e = sqrt(%d)\n%f = exp(%0)\n%g = div(%e, %f)\n"
                            "%h = tanh(%g)\n%i = erf(%h)\n%j = max(%i, %0)\n%k = min(%j, %2)\n"
                            "%l = neg(%k)\n%m = sign(%l)\n%n = floor(%a)\n%o = ceil(%a)\n"
                            "%p = round(%a)\n%q = compare(%0, %2) {kind=lt}\n"
                            "%r = select(%q, %l, %m)\n%s = log1p(%d)\n%t = sin(%0)\n"
                            "%u = cos(%0)\n%v = pow(%d, %2)\n"
                            "output \"r\" %r\noutput \"n\" %n\noutput \"o\" %o\noutput \"p\" %p\n"
                            "output \"s\" %s\noutput \"t\" %t\noutput \"u\" %u\noutput \"v\" %v"));
  }
}

TEST_CASE("element-wise operations of integers") {
  for (const char* type : {"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"}) {
    check_on_emulator(graph("input %0 \"x\" : " + std::string(type) + "[3,20]\n" +
                            "input %1 \"y\" : " + type + "[3,20]\n" +
                            "%a = add(%0, %1)\n%b = mul(%a, %0)\n%c = sub(%b, %1)\n"
                            "%d = div(%c, %1)\n%e = rem(%c, %1)\n%f = max(%d, %e)\n"
                            "%g = min(%f, %0)\n%h = bitwise(%g, %1) {kind=xor}\n%i = not(%h)\n"
                            "%j = compare(%0, %1) {kind=eq}\n%k = select(%j, %i, %h)\n"
                            "%l = cast(%c) {saturate=true} : f32[3,20]\n"
                            "%s = reduce(%0) {kind=sum, axes=[1]}\n"
                            "output \"k\" %k\noutput \"l\" %l\noutput \"s\" %s\noutput \"j\" %j"));
  }
}

TEST_CASE("movement is index arithmetic in the reads") {
  check_on_emulator(graph(R"(input %0 "x" : f32[2,5,12]
  input %1 "y" : f32[2,3,12]
  %z = constant {f32[] 0.25}
  %p = pad(%0, %z) {low=[0, 1, 0], high=[0, 2, 0], mode=constant}
  %c = concat(%p, %1) {axis=1}
  %s = slice(%c) {starts=[0, 2, 1], limits=[2, 10, 12], steps=[1, 2, 1]}
  %t = transpose(%s) {perm=[2, 0, 1]}
  %r = reverse(%t) {axes=[0]}
  %e = exp(%r)
  output "moved" %e)"));
}

TEST_CASE("gathered rows: negative indices count from the end") {
  check_on_emulator(graph(R"(input %i "ids" : i64[2,6]
  input %t "table" : f32[17,12]
  %g = gather(%t, %i) {axis=0}
  %y = mul(%g, %g)
  output "embedded" %y)"));
}

TEST_CASE("columns are reduced with lanes along the rows") {
  check_on_emulator(graph(R"(input %0 "x" : f32[70,64]
  %s = reduce(%0) {kind=sum, axes=[0]}
  %m = reduce(%0) {kind=max, axes=[0]}
  output "s" %s
  output "m" %m)"));
}

TEST_CASE("positions of extreme elements") {
  check_on_emulator(graph(R"(input %0 "x" : f32[6,40]
  %a = argreduce(%0) {kind=max, axis=1, last=false}
  %b = argreduce(%0) {kind=min, axis=0, last=true}
  output "a" %a
  output "b" %b)"));
}

TEST_CASE("a layer norm keeps its rows on chip") {
  check_on_emulator(graph(R"(input %0 "dense" : f32[7,96]
  input %r "residual" : f32[7,96]
  input %w "weight" : f32[96]
  %h = add(%0, %r)
  %s = reduce(%h) {kind=sum, axes=[1]}
  %n = constant {f32[] 96}
  %nb = broadcast(%n) {axes=[]} : f32[7]
  %m = div(%s, %nb)
  %mb = broadcast(%m) {axes=[0]} : f32[7,96]
  %d = sub(%h, %mb)
  %q = mul(%d, %d)
  %v = reduce(%q) {kind=sum, axes=[1]}
  %vm = div(%v, %nb)
  %sd = sqrt(%vm)
  %sdb = broadcast(%sd) {axes=[0]} : f32[7,96]
  %nn = div(%d, %sdb)
  %wb = broadcast(%w) {axes=[1]} : f32[7,96]
  %y = mul(%nn, %wb)
  output "hidden" %h
  output "normed" %y)"));
}

TEST_CASE("matrix products in tiles, whole and ragged") {
  check_on_emulator(graph(R"(input %0 "a" : f32[3,50,47]
  input %1 "b" : f32[3,47,68]
  %m = matmul(%0, %1) {accumulate=f32}
  output "c" %m)"));
  check_on_emulator(graph(R"(input %0 "a" : f16[64,32]
  input %1 "b" : f16[64,32]
  %t = transpose(%1) {perm=[1, 0]}
  %m = matmul(%0, %t) {accumulate=f32}
  output "c" %m)"));
}

TEST_CASE("convolutions with groups and padding, and pooling") {
  check_on_emulator(graph(R"(input %0 "image" : f32[2,8,9,10]
  input %1 "w" : f32[6,4,3,3]
  %m = conv(%0, %1) {strides=[2, 1], dilations=[1, 1], low=[1, 1], high=[1, 1], output_padding=[], groups=2, accumulate=f32}
  %p = reduce_window(%m) {kind=max, kernel=[2, 2], strides=[2, 2], dilations=[1, 1], low=[0, 1], high=[1, 0]}
  output "c" %m
  output "p" %p)"));
}

TEST_CASE("convolutions with a residual and an activation on their results") {
  check_on_emulator(graph(R"(input %0 "image" : f32[2,8,9,7]
  input %1 "shortcut" : f32[2,6,5,7]
  input %2 "w" : f32[6,4,3,3]
  input %3 "bias" : f32[6]
  %m = conv(%0, %2) {strides=[2, 1], dilations=[1, 1], low=[1, 1], high=[1, 1], output_padding=[], groups=2, accumulate=f32}
  %b = broadcast(%3) {axes=[1]} : f32[2,6,5,7]
  %s = add(%m, %b)
  %h = tanh(%1)
  %r = add(%s, %h)
  %y = exp(%r)
  output "before" %s
  output "y" %y)"));
  check_on_emulator(graph(R"(input %0 "signal" : f32[2,3,21]
  input %1 "w" : f32[5,3,4]
  %m = conv(%0, %1) {strides=[1], dilations=[1], low=[1], high=[2], output_padding=[], groups=1, accumulate=f32}
  %e = exp(%m)
  %t = transpose(%e) {perm=[0, 2, 1]}
  output "y" %t)"));
  check_on_emulator(graph(R"(input %0 "volume" : f32[1,2,5,6,7]
  input %1 "w" : f32[4,2,2,2,2]
  %m = conv(%0, %1) {strides=[1, 1, 1], dilations=[1, 1, 1], low=[0, 0, 0], high=[0, 0, 0], output_padding=[], groups=1, accumulate=f32}
  %a = abs(%m)
  %f = reshape(%a) : f32[1,480]
  output "y" %f)"));
}

TEST_CASE("convolutions and products that compute their operands while they load them") {
  check_on_emulator(graph(R"(input %0 "image" : f32[2,5,9,8]
  input %1 "gate" : f32[2,5]
  input %2 "w" : f32[6,5,3,3]
  %g = broadcast(%1) {axes=[0, 1]} : f32[2,5,9,8]
  %x = mul(%0, %g)
  %m = conv(%x, %2) {strides=[1, 2], dilations=[1, 1], low=[1, 1], high=[1, 1], output_padding=[], groups=1, accumulate=f32}
  %y = abs(%m)
  output "y" %y)"));
  check_on_emulator(graph(R"(input %0 "a" : u8[33,20]
  input %1 "b" : i8[20,19]
  input %2 "zero" : i32[33]
  %x = cast(%0) : i32[33,20]
  %z = broadcast(%2) {axes=[0]} : i32[33,20]
  %d = sub(%x, %z)
  %w = cast(%1) : i32[20,19]
  %m = matmul(%d, %w) {accumulate=i32}
  output "y" %m)"));
}

TEST_CASE("matrix products with a bias, a gate and a rounded result in their kernels") {
  check_on_emulator(graph(R"(input %0 "a" : f16[50,40]
  input %1 "b" : f16[40,36]
  input %2 "bias" : f16[36]
  input %3 "gate" : f32[50,1]
  %m = matmul(%0, %1) {accumulate=f32}
  %c = broadcast(%2) {axes=[1]} : f16[50,36]
  %s = add(%m, %c)
  %f = cast(%s) : f32[50,36]
  %g = broadcast(%3) {axes=[0,1]} : f32[50,36]
  %y = mul(%f, %g)
  output "y" %y)"));
  check_on_emulator(graph(R"(input %0 "a" : i8[33,20]
  input %1 "b" : i8[20,19]
  %x = cast(%0) : i32[33,20]
  %w = cast(%1) : i32[20,19]
  %m = matmul(%x, %w) {accumulate=i32}
  %f = cast(%m) : f32[33,19]
  %2 = constant {f32[] 0.0078} : f32[]
  %3 = broadcast(%2) {axes=[]} : f32[33,19]
  %p = mul(%f, %3)
  %r = round(%p)
  %y = cast(%r) : i8[33,19]
  output "y" %y)"));
}

TEST_CASE("quotients of negative indices round down, not toward zero") {
  check_on_emulator(graph(R"(input %0 "image" : f32[1,3,5,4]
  input %1 "w" : f32[3,2,4,4]
  %m = conv_transpose(%0, %1) {strides=[2, 2], dilations=[1, 1], low=[1, 1], high=[1, 1], output_padding=[0, 0], groups=1, accumulate=f32}
  output "c" %m)"));
}

TEST_CASE("two kernels whose last blocks finish the work share a launch") {
  const std::string text = graph(R"(input %x "x" : f32[2,200000]
  input %z "z" : f32[2,160000]
  %a = reduce(%x) {kind=sum, axes=[1]}
  %b = reduce(%z) {kind=max, axes=[1]}
  output "a" %a
  output "b" %b)");
  const std::vector<KernelSource> kernels = emitted(text, FusionMode::kStitch);
  REQUIRE(kernels.size() == 1);
  // The counters of the second lie behind those of the first.
  REQUIRE(occurrences(kernels[0].text, "stitch_arrives_last(counters + (block % 2 * 8), ") == 1);
  REQUIRE(occurrences(kernels[0].text, "stitch_arrives_last(counters + (block % 2 * 8 + 16), ") ==
          1);
  check_on_emulator(text, FusionMode::kStitch);
}

TEST_CASE("sums over rows and over columns of the same inputs, in one sweep over the rows") {
  // Even stretches and ragged ones, one vector per thread and several, a single column a thread;
  // the last block joins the sums, or all blocks meet first.
  for (const auto& [rows, columns] :
       {std::pair(64, 96), std::pair(1000, 40), std::pair(333, 1021), std::pair(870, 512)}) {
    INFO(rows << " x " << columns);
    check_on_emulator(norm_gradient_graph(rows, columns), FusionMode::kStitch);
  }
}

TEST_CASE("the steps of two recurrences are computed where their joined sequences lie") {
  std::string body =
      "input %h \"x\" : f32[1,16]\ninput %v \"w\" : f32[16,16]\n"
      "%k = constant {f32[16,16] splat 0.1}\n%w = mul(%v, %k)\n";
  std::string joined[2];
  for (int chain = 0; chain < 2; ++chain) {
    std::string previous = "h";
    for (int i = 0; i < 18; ++i) {
      const std::string name = (chain == 0 ? "a" : "b") + std::to_string(i);
      body += "%m" + name + " = matmul(%" + previous + ", %w) {accumulate=f32}\n%t" + name + " = " +
              (chain == 0 ? "tanh" : "sin") + "(%m" + name + ")\n";
      previous = "t" + name;
      joined[chain] += (i == 0 ? "%" : ", %") + previous;
    }
  }
  check_on_emulator(
      graph(body + "%a = concat(" + joined[0] + ") {axis=0}\n%b = concat(" + joined[1] +
            ") {axis=0}\n%c = concat(%a, %b) {axis=1}\n" + "output \"c\" %c"),
      FusionMode::kStitch);
}

TEST_CASE("statistics of few channels by blocks that share a channel, each statistic stored once") {
  for (const auto& [batch, channels, points] :
       {std::tuple(16, 3, 1024), std::tuple(33, 5, 1147), std::tuple(4, 2, 8)}) {
    INFO(batch << " x " << channels << " x " << points);
    check_on_emulator(batch_norm_graph(batch, channels, points), FusionMode::kStitch);
  }
}

TEST_CASE("reductions over several axes in turn meet in shared memory") {
  for (const char* extents : {"5,13,37", "3,8,64", "2,40,6"}) {
    const std::string e = extents;
    const std::string n = e.substr(0, 1), c = e.substr(e.rfind(',') + 1);
    const std::string r = e.substr(2, e.rfind(',') - 2);
    check_on_emulator(
        graph("input %0 \"x\" : f32[" + e + "]\n" +
              "%1 = reduce(%0) {kind=sum, axes=[2]}\n"
              "%2 = broadcast(%1) {axes=[0, 1]} : f32[" +
              e + "]\n%3 = sub(%0, %2)\n%4 = reduce(%3) {kind=max, axes=[1]}\n" +
              "%5 = broadcast(%4) {axes=[0, 2]} : f32[" + e +
              "]\n%6 = sub(%3, %5)\n%7 = argreduce(%6) {kind=min, axis=1, last=false}\n" +
              "%8 = reduce(%6) {kind=sum, axes=[0, 1, 2]}\n" +
              "output \"y\" %6\noutput \"at\" %7\noutput \"all\" %8\noutput \"rows\" "
              "%1"));
  }
}

TEST_CASE("modes that are compared with the planner's own choice compute the same") {
  for (const FusionMode mode :
       {FusionMode::kXla, FusionMode::kFusionStitching, FusionMode::kAStitch}) {
    check_on_emulator(softmax_graph(40, 70), mode);
    check_on_emulator(norm_gradient_graph(64, 96), mode);
    check_on_emulator(batch_norm_graph(8, 5, 64), mode);
    // A result of each row that every column needs, twice over: barriers in mode astitch.
    check_on_emulator(graph("input %0 \"x\" : f32[300,200]\n"
                            "%1 = reduce(%0) {kind=sum, axes=[1]}\n"
                            "%2 = broadcast(%1) {axes=[0]} : f32[300,200]\n%3 = sub(%0, %2)\n"
                            "%4 = reduce(%3) {kind=max, axes=[0]}\n"
                            "%5 = broadcast(%4) {axes=[1]} : f32[300,200]\n%6 = div(%3, %5)\n"
                            "%7 = reduce(%6) {kind=sum, axes=[1]}\noutput \"y\" %7"),
                      mode);
  }
}
