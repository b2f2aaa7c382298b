#include "planner/fusion/chain_merge.h"

#include "planned.h"
#include "support/catch.h"

using namespace stitch;

namespace {

// x [1,k] divided by its sum, times the transposed w [n,k].
std::string scaled_product(int k, int n) {
  const std::string columns = std::to_string(k), results = std::to_string(n);
  const std::string row = "f32[1," + columns + "]";
  return "graph \"scaled\" {\n  input %x \"x\" : " + row + "\n  input %w \"w\" : f32[" + results +
         "," + columns +
         "]\n  %t = transpose(%w) {perm=[1,0]}\n  %s = reduce(%x) {kind=sum, axes=[1]}\n  %b = "
         "broadcast(%s) {axes=[0]} : " +
         row + "\n  %y = div(%x, %b)\n  %p = matmul(%y, %t) : f32[1," + results + "]\n";
}

}  // namespace

TEST_CASE("every block computes again the small vector that a product reads") {
  const auto planned = plan_text_graph(scaled_product(512, 2048) + "  output \"p\" %p\n}");
  CHECK(planned->problems().empty());
  REQUIRE(planned->kernels().size() == 1);
  const Kernel& kernel = *planned->kernels()[0];
  CHECK_FALSE(kernel.cooperative);
  CHECK(kernel.counters == 0);
  // The quotient goes to shared memory once, behind a barrier.
  CHECK(places_of_kind(kernel, PlaceKind::kShared) >= 1);
  CHECK(kernel.bytes.bytes == 4 * (512 + 512 * 2048 + 2048));
  PlanOptions without;
  without.techniques.leave_out(Technique::kChains);
  const auto apart = plan_text_graph(scaled_product(512, 2048) + "  output \"p\" %p\n}", without);
  CHECK(apart->kernels().size() == 2);
  CHECK(predicted_us(planned->plan) < predicted_us(apart->plan));
}

TEST_CASE("of what every block computes one block stores") {
  const auto planned =
      plan_text_graph(scaled_product(512, 2048) + "  output \"p\" %p\n  output \"y\" %y\n}");
  CHECK(planned->problems().empty());
  REQUIRE(planned->kernels().size() == 1);
  int guarded = 0;
  for (const Group& group : planned->stage().groups) {
    if (group.roots.front().kind == RootKind::kStore) guarded += group.guards.empty() ? 0 : 1;
  }
  CHECK(guarded == 1);
}

TEST_CASE("a kernel between the two of a chain keeps them apart") {
  // The library's product waits for the norm, and the last product waits for it.
  PlanOptions options;
  options.contractions = ContractionMode::kLibrary;
  const auto planned = plan_text_graph(
      R"(graph "between" {
  input %x "x" : f32[64,256]
  input %w "w" : f32[256,64]
  input %v "v" : f32[64,1]
  %s = reduce(%x) {kind=sum, axes=[1]}
  %b = broadcast(%s) {axes=[0]} : f32[64,256]
  %y = div(%x, %b)
  %p = matmul(%y, %w) : f32[64,64]
  %r = reduce(%y) {kind=sum, axes=[1]}
  %rb = broadcast(%r) {axes=[0]} : f32[64,64]
  %q = mul(%p, %rb)
  %o = matmul(%q, %v) : f32[64,1]
  output "o" %o
})",
      options);
  CHECK(planned->problems().empty());
  CHECK(planned->kernels().size() == 2);
  CHECK(planned->plan.steps.size() == 3);
}
