#include "graph/run_text.h"
#include "support/catch.h"
#include "support/make_tensor.h"
#include "support/matches_tensor.h"

using namespace stitch;

namespace {

// One node over %x, counting up from 0, and more operands declared in `more`.
Tensor moved(const std::vector<int64_t>& extents, const std::string& node,
             const std::string& more = "", DType dtype = DType::kF32) {
  Tensor x(dtype, extents);
  for (int64_t i = 0; i < x.element_count(); ++i) x.set_integer(i, i);
  std::string type = std::string(name(dtype)) + "[";
  for (size_t i = 0; i < extents.size(); ++i) {
    type += (i == 0 ? "" : ",") + std::to_string(extents[i]);
  }
  return run_text(
      "input %x \"x\" : " + type + "]\n" + more + "\n%y = " + node + "\noutput \"y\" %y",
      {{"x", x}})[0];
}

Tensor floats(std::vector<int64_t> extents, const std::vector<double>& values) {
  return make_tensor(DType::kF32, std::move(extents), values);
}

}  // namespace

TEST_CASE("transpose, reshape and broadcast place every element") {
  REQUIRE_THAT(moved({2, 3}, "transpose(%x) {perm=[1,0]}"),
               matches_tensor(floats({3, 2}, {0, 3, 1, 4, 2, 5})));
  REQUIRE_THAT(moved({2, 3, 2}, "transpose(%x) {perm=[2,0,1]}"),
               matches_tensor(floats({2, 2, 3}, {0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11})));
  REQUIRE_THAT(moved({2, 3}, "reshape(%x) : f32[3,1,2]"),
               matches_tensor(floats({3, 1, 2}, {0, 1, 2, 3, 4, 5})));
  REQUIRE_THAT(moved({2, 1}, "broadcast(%x) {axes=[0,2]} : f32[2,2,3]"),
               matches_tensor(floats({2, 2, 3}, {0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1})));
  REQUIRE_THAT(moved({3}, "broadcast(%x) {axes=[1]} : f32[2,3]"),
               matches_tensor(floats({2, 3}, {0, 1, 2, 0, 1, 2})));
}

TEST_CASE("slice and reverse step through elements") {
  REQUIRE_THAT(moved({3, 4}, "slice(%x) {starts=[1,0], limits=[3,4], steps=[1,3]}"),
               matches_tensor(floats({2, 2}, {4, 7, 8, 11})));
  REQUIRE(moved({3}, "slice(%x) {starts=[2], limits=[2], steps=[1]}").element_count() == 0);
  REQUIRE_THAT(moved({2, 3}, "reverse(%x) {axes=[1]}"),
               matches_tensor(floats({2, 3}, {2, 1, 0, 5, 4, 3})));
}

TEST_CASE("pad repeats as its mode says, as often as needed") {
  const std::string fill = "%v = constant {f32[] 9}";
  REQUIRE_THAT(moved({2, 2}, "pad(%x, %v) {low=[1,0], high=[0,2]}", fill),
               matches_tensor(floats({3, 4}, {9, 9, 9, 9, 0, 1, 9, 9, 2, 3, 9, 9})));
  REQUIRE_THAT(moved({3}, "pad(%x, %v) {low=[2], high=[1], mode=edge}", fill),
               matches_tensor(floats({6}, {0, 0, 0, 1, 2, 2})));
  REQUIRE_THAT(moved({3}, "pad(%x, %v) {low=[2], high=[2], mode=reflect}", fill),
               matches_tensor(floats({7}, {2, 1, 0, 1, 2, 1, 0})));
  REQUIRE_THAT(moved({2}, "pad(%x, %v) {low=[3], high=[0], mode=reflect}", fill),
               matches_tensor(floats({5}, {1, 0, 1, 0, 1})));
  REQUIRE_THAT(moved({3}, "pad(%x, %v) {low=[4], high=[1], mode=wrap}", fill),
               matches_tensor(floats({8}, {2, 0, 1, 2, 0, 1, 2, 0})));
  REQUIRE_THAT(moved({1}, "pad(%x, %v) {low=[1], high=[1], mode=reflect}", fill),
               matches_tensor(floats({3}, {0, 0, 0})));
}

TEST_CASE("concat joins operands, empty ones too") {
  REQUIRE_THAT(moved({2, 2}, "concat(%x, %e, %x) {axis=1}", "%e = constant {f32[2,0] []}"),
               matches_tensor(floats({2, 4}, {0, 1, 0, 1, 2, 3, 2, 3})));
}

TEST_CASE("gathers wrap negative indices once and clamp the rest") {
  REQUIRE_THAT(moved({4}, "gather(%x, %i) {axis=0}", "%i = constant {i64[5] [-1, 0, -9, 7, 2]}"),
               matches_tensor(floats({5}, {3, 0, 0, 3, 2})));
  REQUIRE_THAT(moved({2, 3}, "gather(%x, %i) {axis=1}", "%i = constant {i32[1,2] [2, 0]}"),
               matches_tensor(floats({2, 1, 2}, {2, 0, 5, 3})));
  REQUIRE_THAT(
      moved({2, 3}, "gather_elements(%x, %i) {axis=1}", "%i = constant {i64[2,2] [0, -1, 1, 9]}"),
      matches_tensor(floats({2, 2}, {0, 2, 4, 5})));
  REQUIRE_THAT(moved({3, 2}, "gather_elements(%x, %i) {axis=0}", "%i = constant {i64[1,2] [2, 1]}"),
               matches_tensor(floats({1, 2}, {4, 3})));
  REQUIRE_THAT(moved({2, 2, 2}, "gather_nd(%x, %i)", "%i = constant {i64[2,2] [0, 1, -1, 0]}"),
               matches_tensor(floats({2, 2}, {2, 3, 4, 5})));
  REQUIRE_THAT(moved({2, 3}, "gather_nd(%x, %i) {batch_dims=1}", "%i = constant {i64[2,1] [2, 0]}"),
               matches_tensor(floats({2}, {2, 3})));
}

TEST_CASE("scatters drop what is outside; of equal targets the last wins or all combine") {
  const std::string operands =
      "%i = constant {i64[4] [1, -1, 1, 7]}\n%u = constant {f32[4] [10, 20, 30, 40]}";
  REQUIRE_THAT(moved({4}, "scatter_elements(%x, %i, %u) {axis=0, kind=none}", operands),
               matches_tensor(floats({4}, {0, 30, 2, 20})));
  REQUIRE_THAT(moved({4}, "scatter_elements(%x, %i, %u) {axis=0, kind=add}", operands),
               matches_tensor(floats({4}, {0, 41, 2, 23})));
  REQUIRE_THAT(moved({4}, "scatter_elements(%x, %i, %u) {axis=0, kind=min}", operands),
               matches_tensor(floats({4}, {0, 1, 2, 3})));
  REQUIRE_THAT(moved({3, 2}, "scatter_nd(%x, %i, %u) {axis=0, kind=mul}",
                     "%i = constant {i64[2,1] [2, 2]}\n%u = constant {f32[2,2] [2, 3, 5, 7]}"),
               matches_tensor(floats({3, 2}, {0, 1, 2, 3, 40, 105})));
  REQUIRE_THAT(moved({2, 2}, "scatter_nd(%x, %i, %u) {axis=0, kind=none}",
                     "%i = constant {i64[2,2] [0, -1, 5, 0]}\n%u = constant {f32[2] [8, 9]}"),
               matches_tensor(floats({2, 2}, {0, 8, 2, 3})));
}

TEST_CASE("movement keeps the values of 16-bit floats and 64-bit integers") {
  REQUIRE_THAT(moved({2, 2}, "transpose(%x) {perm=[1,0]}", "", DType::kBF16),
               matches_tensor(make_tensor(DType::kBF16, {2, 2}, {0, 2, 1, 3})));
  const Tensor big = make_integers(DType::kI64, {2}, {int64_t{1} << 40, -(int64_t{1} << 50)});
  REQUIRE_THAT(
      run_text("input %x \"x\" : i64[2]\n%y = reverse(%x) {axes=[0]}\noutput \"y\" %y",
               {{"x", big}})[0],
      matches_tensor(make_integers(DType::kI64, {2}, {-(int64_t{1} << 50), int64_t{1} << 40})));
}

TEST_CASE("iota counts along its axis, philox depends on seed, stream and index only") {
  REQUIRE_THAT(run_text("%y = iota() {axis=0} : i32[2,3]\noutput \"y\" %y")[0],
               matches_tensor(make_integers(DType::kI32, {2, 3}, {0, 0, 0, 1, 1, 1})));
  REQUIRE_THAT(run_text("%y = iota() {axis=1} : f16[1,3]\noutput \"y\" %y")[0],
               matches_tensor(make_tensor(DType::kF16, {1, 3}, {0, 1, 2})));
  // Known answers of Philox4x32-10 (Random123, kat_vectors): counter and key zero.
  const Tensor words = run_text("%y = philox() {seed=0, stream=0} : u32[5]\noutput \"y\" %y")[0];
  REQUIRE(words.integer(0) == 0x6627e8d5);
  REQUIRE(words.integer(1) == 0xe169c58d);
  REQUIRE(words.integer(2) == 0xbc57ac4c);
  REQUIRE(words.integer(3) == 0x9b00dbd8);
  REQUIRE(words.integer(4) != words.integer(0));
}
