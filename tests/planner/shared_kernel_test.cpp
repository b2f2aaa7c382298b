#include "planner/kernel/shared_kernel.h"

#include "planned.h"
#include "support/catch.h"

using namespace stitch;

namespace {

// Centres x[n,r,c] over c, then takes from it the largest of each column c over r.
std::string two_axes(const std::string& n, const std::string& r, const std::string& c) {
  const std::string all = "f32[" + n + "," + r + "," + c + "]";
  return "graph \"two axes\" {\n  input %0 \"x\" : " + all +
         "\n  %1 = reduce(%0) {kind=sum, axes=[2]} : f32[" + n + "," + r + "]" +
         "\n  %2 = broadcast(%1) {axes=[0, 1]} : " + all + "\n  %3 = sub(%0, %2) : " + all +
         "\n  %4 = reduce(%3) {kind=max, axes=[1]} : f32[" + n + "," + c + "]" +
         "\n  %5 = broadcast(%4) {axes=[0, 2]} : " + all + "\n  %6 = sub(%3, %5) : " + all +
         "\n  output \"y\" %6\n}\n";
}

}  // namespace

TEST_CASE("reductions over two axes in turn meet in shared memory") {
  const auto planned = plan_text_graph(two_axes("64", "20", "48"));
  REQUIRE(planned->kernels().size() == 1);
  CHECK(planned->problems().empty());
  const Kernel& kernel = *planned->kernels()[0];
  CHECK(kernel.bytes.bytes == 2 * 4 * 64 * 20 * 48);
  CHECK(kernel.bytes.bytes == kernel.bytes.compulsory);
  const Stage& stage = planned->stage();
  CHECK(stage.mapping.rows.size() == 1);
  CHECK(stage.mapping.grid_x == 64);
  REQUIRE(stage.groups.size() == 3);
  CHECK(stage.groups[0].mapping.inner_rows.size() == 1);
  CHECK(stage.groups[1].mapping.inner_rows == stage.groups[0].mapping.columns);
  CHECK(stage.groups[1].block_barrier);
  CHECK(stage.groups[2].mapping.inner_rows.empty());
  CHECK(stage.groups[2].block_barrier);
  CHECK(places_of_kind(kernel, PlaceKind::kShared) >= 3);
}

TEST_CASE("rows that do not fit in shared memory stay several kernels") {
  const auto planned = plan_text_graph(two_axes("64", "512", "640"));
  CHECK(planned->kernels().size() > 1);
  CHECK(planned->problems().empty());
}

TEST_CASE("independent work on one row that a block can hold shares its load") {
  const auto planned = plan_text_graph(R"(graph "groups" {
  input %0 "x" : f32[256,32,40]
  %1 = reduce(%0) {kind=max, axes=[2]} : f32[256,32]
  %2 = reduce(%0) {kind=sum, axes=[1]} : f32[256,40]
  output "rows" %1
  output "columns" %2
})");
  REQUIRE(planned->kernels().size() == 1);
  const Kernel& kernel = *planned->kernels()[0];
  CHECK(kernel.parts.size() == 1);
  CHECK(kernel.bytes.bytes == kernel.bytes.compulsory);
  CHECK(planned->problems().empty());
}
