// Graphs that FusionStitching (arXiv 2009.10924) and AStitch (ASPLOS 2022) discuss, and others of
// their kind, each with what a plan for an A100 has to be: kernels, scopes and bytes.
#include <fmt/format.h>

#include "planned.h"
#include "support/catch.h"

using namespace stitch;

namespace {

constexpr int64_t kF32 = 4;

// The only kernel of the graph.
struct OnlyKernel {
  std::unique_ptr<Planned> planned;
  const Kernel& kernel() const { return *planned->kernels().at(0); }
  int64_t bytes() const { return kernel().bytes.bytes; }
  const Stage& stage() const { return planned->stage(); }
};

OnlyKernel only_kernel(const std::string& graph, PlanOptions options = {}) {
  OnlyKernel result{plan_text_graph(graph, options)};
  CHECK(result.planned->problems().empty());
  REQUIRE(result.planned->plan.steps.size() == 1);
  REQUIRE(result.planned->kernels().size() == 1);
  return result;
}

std::string row_reduce(int64_t rows, int64_t columns) {
  return fmt::format(
      "graph \"rows\" {{\n  input %x \"x\" : f32[{0},{1}]\n"
      "  %s = reduce(%x) {{kind=sum, axes=[1]}} : f32[{0}]\n  output \"s\" %s\n}}",
      rows, columns);
}

// (x - mean) / sqrt(variance + e) * gamma + beta over the columns.
std::string layer_norm(int64_t rows, int64_t columns) {
  return fmt::format(R"(graph "norm" {{
  input %x "x" : f32[{0},{1}]
  input %g "gamma" : f32[{1}]
  input %b "beta" : f32[{1}]
  %n = constant {{f32[] {1}}}
  %nb = broadcast(%n) {{axes=[]}} : f32[{0}]
  %e = constant {{f32[] 1e-5}}
  %eb = broadcast(%e) {{axes=[]}} : f32[{0}]
  %s = reduce(%x) {{kind=sum, axes=[1]}}
  %m = div(%s, %nb)
  %mb = broadcast(%m) {{axes=[0]}} : f32[{0},{1}]
  %d = sub(%x, %mb)
  %q = mul(%d, %d)
  %r = reduce(%q) {{kind=sum, axes=[1]}}
  %v = div(%r, %nb)
  %ve = add(%v, %eb)
  %h = sqrt(%ve)
  %hb = broadcast(%h) {{axes=[0]}} : f32[{0},{1}]
  %z = div(%d, %hb)
  %gb = broadcast(%g) {{axes=[1]}} : f32[{0},{1}]
  %y = mul(%z, %gb)
  %bb = broadcast(%b) {{axes=[1]}} : f32[{0},{1}]
  %o = add(%y, %bb)
  output "y" %o
}})",
                     rows, columns);
}

}  // namespace

TEST_CASE("LayerNorm of 128 x 1024 is one kernel that reads and writes every element once") {
  const OnlyKernel norm = only_kernel(layer_norm(128, 1024));
  CHECK(norm.bytes() == kF32 * (2 * 128 * 1024 + 2 * 1024));
  CHECK_FALSE(norm.kernel().cooperative);
  CHECK(norm.kernel().parts[0].stages.size() == 1);
  CHECK(norm.stage().mapping.kind == MappingKind::kRow);
  // One row is kept in registers between the passes.
  CHECK(places_of_kind(norm.kernel(), PlaceKind::kRegisterArray) >= 1);
  CHECK(places_of_kind(norm.kernel(), PlaceKind::kShared) == 0);
}

TEST_CASE("a power that is broadcast and added is computed once per row") {
  const OnlyKernel sum = only_kernel(R"(graph "pow" {
  input %x "x" : f32[1024]
  input %y "y" : f32[1024,512]
  %e = constant {f32[] 3}
  %eb = broadcast(%e) {axes=[]} : f32[1024]
  %p = pow(%x, %eb)
  %b = broadcast(%p) {axes=[0]} : f32[1024,512]
  %s = add(%y, %b)
  output "s" %s
})");
  CHECK(sum.bytes() == kF32 * (1024 + 2 * 1024 * 512));
}

TEST_CASE("many short rows share a block, and a few long ones are split over blocks") {
  const OnlyKernel narrow = only_kernel(row_reduce(750000, 32));
  CHECK(narrow.bytes() == kF32 * (750000 * 32 + 750000));
  CHECK(narrow.stage().mapping.threads_per_row <= 32);
  CHECK(narrow.stage().mapping.row_threads >= 8);
  CHECK(narrow.kernel().counters == 0);

  // Half of the multiprocessors saturate memory, each with the largest block.
  const OnlyKernel wide = only_kernel(row_reduce(64, 30000));
  CHECK(wide.bytes() == kF32 * (64 * 30000 + 64));
  CHECK(wide.stage().mapping.threads_per_row == 1024);
  CHECK(wide.kernel().counters == 0);

  const OnlyKernel few = only_kernel(row_reduce(8, 240000));
  const std::vector<Stage>& stages = few.kernel().parts[0].stages;
  REQUIRE(stages.size() == 2);
  CHECK(stages[1].before == Separation::kTicket);
  CHECK(stages[0].mapping.grid_x * stages[0].mapping.grid_y >= 108);
  CHECK(few.kernel().bytes.compulsory == kF32 * (8 * 240000 + 8));
  CHECK(few.bytes() <= few.kernel().bytes.compulsory * 101 / 100);
}

TEST_CASE("softmax is one kernel whatever its columns") {
  for (const int columns : {702, 1023}) {
    const OnlyKernel softmax = only_kernel(softmax_graph(4096, columns));
    CHECK(softmax.bytes() == kF32 * 2 * 4096 * columns);
    CHECK(places_of_kind(softmax.kernel(), PlaceKind::kRegisterArray) >= 1);
  }
  // No block holds a row: it is read for the maximum and the sum, and once more for the quotient.
  const OnlyKernel large = only_kernel(softmax_graph(256, 131072));
  CHECK(large.bytes() == int64_t{kF32} * 3 * 256 * 131072);
}

TEST_CASE("one row of a vocabulary is shared by blocks that meet, and is read once") {
  const OnlyKernel softmax = only_kernel(softmax_graph(1, 32768));
  CHECK(softmax.kernel().cooperative);
  CHECK_FALSE(softmax.kernel().twin.empty());
  CHECK(softmax.kernel().bytes.compulsory == kF32 * 2 * 32768);
  CHECK(softmax.bytes() <= softmax.kernel().bytes.compulsory * 102 / 100);
  CHECK(softmax.kernel().parts[0].blocks > 1);
}

TEST_CASE("sums over rows and over columns of the gradient of a norm load each input once") {
  const OnlyKernel gradient = only_kernel(norm_gradient_graph(8192, 1024));
  CHECK(gradient.kernel().bytes.compulsory == kF32 * (3 * 8192 * 1024 + 8192 + 3 * 1024));
  CHECK(gradient.bytes() <= gradient.kernel().bytes.compulsory * 102 / 100);
}

TEST_CASE("statistics of a batch and its normalisation are one kernel") {
  const OnlyKernel norm = only_kernel(batch_norm_graph(32, 256, 196));
  CHECK(norm.bytes() == kF32 * (2 * 32 * 256 * 196 + 2 * 256));
}

TEST_CASE("three reductions of one tensor load it once") {
  const OnlyKernel sums = only_kernel(R"(graph "three" {
  input %x "x" : f32[4096,1024]
  %q = mul(%x, %x)
  %a = reduce(%x) {kind=sum, axes=[1]}
  %b = reduce(%x) {kind=max, axes=[1]}
  %c = reduce(%q) {kind=sum, axes=[1]}
  output "sum" %a
  output "max" %b
  output "squares" %c
})");
  CHECK(sums.bytes() == kF32 * (4096 * 1024 + 3 * 4096));
  CHECK(roots_of(sums.stage(), RootKind::kReduce).size() == 3);
  // In one pass.
  size_t passes = 0;
  for (const Group& group : sums.stage().groups) passes += group.mapping.columns.empty() ? 0 : 1;
  CHECK(passes == 1);
}

TEST_CASE("attention with a mask is one kernel between two library calls") {
  PlanOptions options;
  options.contractions = ContractionMode::kLibrary;
  const auto planned = plan_text_graph(R"(graph "attention" {
  input %q "q" : f32[12,128,64]
  input %k "k" : f32[12,128,64]
  input %v "v" : f32[12,128,64]
  input %m "mask" : f32[1,128]
  %t = transpose(%k) {perm=[0,2,1]}
  %s = matmul(%q, %t) : f32[12,128,128]
  %c = constant {f32[] 0.125}
  %cb = broadcast(%c) {axes=[]} : f32[12,128,128]
  %u = mul(%s, %cb)
  %mr = reshape(%m) : f32[128]
  %mb = broadcast(%mr) {axes=[2]} : f32[12,128,128]
  %a = add(%u, %mb)
  %x = reduce(%a) {kind=max, axes=[2]}
  %xb = broadcast(%x) {axes=[0,1]} : f32[12,128,128]
  %d = sub(%a, %xb)
  %e = exp(%d)
  %z = reduce(%e) {kind=sum, axes=[2]}
  %zb = broadcast(%z) {axes=[0,1]} : f32[12,128,128]
  %p = div(%e, %zb)
  %o = matmul(%p, %v) : f32[12,128,64]
  output "o" %o
})",
                                       options);
  CHECK(planned->problems().empty());
  REQUIRE(planned->kernels().size() == 1);
  CHECK(planned->plan.steps.size() == 3);
  CHECK(planned->kernels()[0]->bytes.bytes == kF32 * (2 * 12 * 128 * 128 + 128));
}

TEST_CASE("sampling above a threshold without a sort is one kernel") {
  const OnlyKernel sample = only_kernel(R"(graph "sample" {
  input %x "logits" : f32[64,32000]
  input %t "threshold" : f32[64]
  input %n "noise" : f32[64,32000]
  %m = reduce(%x) {kind=max, axes=[1]}
  %mb = broadcast(%m) {axes=[0]} : f32[64,32000]
  %d = sub(%x, %mb)
  %e = exp(%d)
  %s = reduce(%e) {kind=sum, axes=[1]}
  %sb = broadcast(%s) {axes=[0]} : f32[64,32000]
  %p = div(%e, %sb)
  %tb = broadcast(%t) {axes=[0]} : f32[64,32000]
  %k = compare(%tb, %p) {kind=le}
  %z = constant {f32[] 0}
  %zb = broadcast(%z) {axes=[]} : f32[64,32000]
  %w = select(%k, %p, %zb)
  %r = div(%w, %n)
  %i = argreduce(%r) {kind=max, axis=1} : i64[64]
  output "token" %i
})");
  CHECK(sample.kernel().bytes.compulsory == kF32 * (2 * 64 * 32000 + 64) + 8 * 64);
  CHECK(sample.bytes() <= sample.kernel().bytes.compulsory * 102 / 100);
}

TEST_CASE("groups of three elements are summed by single threads") {
  const OnlyKernel norm = only_kernel(R"(graph "groups" {
  input %x "x" : f32[4096,32,3]
  %n = constant {f32[] 3}
  %nb = broadcast(%n) {axes=[]} : f32[4096,32]
  %s = reduce(%x) {kind=sum, axes=[2]}
  %m = div(%s, %nb)
  %mb = broadcast(%m) {axes=[0,1]} : f32[4096,32,3]
  %d = sub(%x, %mb)
  %q = mul(%d, %d)
  %r = reduce(%q) {kind=sum, axes=[2]}
  %v = div(%r, %nb)
  %h = sqrt(%v)
  %hb = broadcast(%h) {axes=[0,1]} : f32[4096,32,3]
  %y = div(%d, %hb)
  output "y" %y
})");
  CHECK(norm.bytes() == kF32 * 2 * 4096 * 32 * 3);
  CHECK(roots_of(norm.stage(), RootKind::kReduce).empty());
}

TEST_CASE("the norm of the gradients of 100 tensors reads each once, several in a launch") {
  std::string text = "graph \"gradients\" {\n";
  std::string sums;
  int64_t elements = 0;
  for (int i = 0; i < 100; ++i) {
    const int count = 512 * (1 + i % 13);
    elements += count;
    text += fmt::format("  input %x{0} \"g{0}\" : f32[{1}]\n", i, count);
    sums += fmt::format(
        "  %q{0} = mul(%x{0}, %x{0})\n  %s{0} = reduce(%q{0}) {{kind=sum, axes=[0]}}\n", i);
    sums +=
        i == 0 ? "  %t0 = add(%s0, %s0)\n" : fmt::format("  %t{0} = add(%t{1}, %s{0})\n", i, i - 1);
  }
  const auto planned = plan_text_graph(text + sums + "  %n = sqrt(%t99)\n  output \"norm\" %n\n}");
  CHECK(planned->problems().empty());
  // Eight parts in a launch, and one kernel that adds up.
  CHECK(planned->kernels().size() <= 14);
  int64_t bytes = 0;
  for (const Kernel* kernel : planned->kernels()) bytes += kernel->bytes.bytes;
  CHECK(bytes <= kF32 * (elements + 2 * 100 + 1));
}

TEST_CASE("the gates of an LSTM cell are one kernel that reads the products once") {
  const OnlyKernel cell = only_kernel(R"(graph "cell" {
  input %x "input_gates" : f32[32,1024]
  input %h "hidden_gates" : f32[32,1024]
  input %c "cell" : f32[32,256]
  %g = add(%x, %h)
  %gi = slice(%g) {starts=[0,0], limits=[32,256], steps=[1,1]}
  %gf = slice(%g) {starts=[0,256], limits=[32,512], steps=[1,1]}
  %gc = slice(%g) {starts=[0,512], limits=[32,768], steps=[1,1]}
  %go = slice(%g) {starts=[0,768], limits=[32,1024], steps=[1,1]}
  %i = tanh(%gi)
  %f = tanh(%gf)
  %n = tanh(%gc)
  %o = tanh(%go)
  %fc = mul(%f, %c)
  %in = mul(%i, %n)
  %c1 = add(%fc, %in)
  %tc = tanh(%c1)
  %h1 = mul(%o, %tc)
  output "c" %c1
  output "h" %h1
})");
  CHECK(cell.bytes() == kF32 * (2 * 32 * 1024 + 3 * 32 * 256));
}

TEST_CASE("bias, residual, norm and the next bias of a Transformer layer are one kernel") {
  // AStitch, figure 3: two reductions between element-wise operators, and a second output.
  const OnlyKernel layer = only_kernel(R"(graph "layer" {
  input %p "product" : f32[512,768]
  input %b "bias" : f32[768]
  input %r "residual" : f32[512,768]
  %bb = broadcast(%b) {axes=[1]} : f32[512,768]
  %a = add(%p, %bb)
  %x = add(%a, %r)
  %n = constant {f32[] 768}
  %nb = broadcast(%n) {axes=[]} : f32[512]
  %s = reduce(%x) {kind=sum, axes=[1]}
  %m = div(%s, %nb)
  %mb = broadcast(%m) {axes=[0]} : f32[512,768]
  %d = sub(%x, %mb)
  %q = mul(%d, %d)
  %v = reduce(%q) {kind=sum, axes=[1]}
  %w = div(%v, %nb)
  %h = sqrt(%w)
  %hb = broadcast(%h) {axes=[0]} : f32[512,768]
  %y = div(%d, %hb)
  output "sum" %x
  output "norm" %y
})");
  CHECK(layer.bytes() == kF32 * (4 * 512 * 768 + 768));
  CHECK_FALSE(layer.kernel().cooperative);
}
