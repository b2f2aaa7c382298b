#include "planner/access/regions.h"

#include "graph/text_form.h"
#include "support/catch.h"

using namespace stitch;

namespace {

std::vector<size_t> region_sizes(const AccessGraph& graph) {
  std::vector<size_t> sizes;
  for (const Region& region : depth_regions(graph)) sizes.push_back(region.nodes.size());
  return sizes;
}

}  // namespace

TEST_CASE("a contraction separates two regions") {
  const Graph graph = parse_graph(R"(graph "" {
    input %0 "x" : f32[8,16]
    input %1 "w" : f32[16,4]
    %2 = exp(%0) : f32[8,16]
    %3 = neg(%2) : f32[8,16]
    %4 = matmul(%3, %1) {accumulate=f32} : f32[8,4]
    %5 = abs(%4) : f32[8,4]
    output "y" %5
  })");
  const AccessGraph access = build_access_graph(graph);
  CHECK(region_sizes(access) == std::vector<size_t>{2, 1});
  CHECK(depth_regions(access)[0].depth == 0);
  CHECK(depth_regions(access)[1].depth == 1);
}

TEST_CASE("nodes on both sides of a contraction that also meet directly are two regions") {
  // x feeds the product and the sum behind it: one kernel for both would have to wait for itself.
  const Graph graph = parse_graph(R"(graph "" {
    input %0 "x" : f32[4,4]
    input %1 "w" : f32[4,4]
    %2 = exp(%0) : f32[4,4]
    %3 = matmul(%2, %1) {accumulate=f32} : f32[4,4]
    %4 = add(%3, %2) : f32[4,4]
    output "y" %4
  })");
  CHECK(region_sizes(build_access_graph(graph)) == std::vector<size_t>{1, 1});
}

TEST_CASE("nodes that share nothing but an input are separate regions") {
  const Graph graph = parse_graph(R"(graph "" {
    input %0 "x" : f32[4]
    %1 = exp(%0) : f32[4]
    %2 = neg(%0) : f32[4]
    output "y" %1
    output "z" %2
  })");
  CHECK(region_sizes(build_access_graph(graph)) == std::vector<size_t>{1, 1});
}

TEST_CASE("an element-wise node of stored values belongs to the region of its only reader") {
  const auto regions = [](const std::string& outputs) {
    const Graph graph = parse_graph(R"(graph "" {
      input %0 "x" : f32[4,4]
      input %1 "w" : f32[4,4]
      %2 = matmul(%0, %1) {accumulate=f32} : f32[4,4]
      %3 = neg(%2) : f32[4,4]
      %4 = abs(%3) : f32[4,4]
      %5 = matmul(%2, %1) {accumulate=f32} : f32[4,4]
      %6 = add(%4, %5) : f32[4,4]
      output "y" %6)" + outputs + "}");
    AccessGraph access = build_access_graph(graph);
    CHECK(region_sizes(access) == std::vector<size_t>{2, 1});
    sink_to_readers(access);
    return region_sizes(access);
  };
  CHECK(regions("") == std::vector<size_t>{3});
  // An output is stored where it is computed.
  CHECK(regions("\n output \"z\" %4\n") == std::vector<size_t>{2, 1});
}

TEST_CASE("an index that is read connects its producer") {
  const Graph graph = parse_graph(R"(graph "" {
    input %0 "x" : f32[9,4]
    input %1 "i" : i64[3]
    %2 = add(%1, %1) : i64[3]
    %3 = gather(%0, %2) {axis=0} : f32[3,4]
    %4 = neg(%3) : f32[3,4]
    output "y" %4
  })");
  CHECK(region_sizes(build_access_graph(graph)) == std::vector<size_t>{2});
}
