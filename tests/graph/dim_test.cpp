#include "graph/dim.h"

#include <limits>

#include "graph/error.h"
#include "support/catch.h"

using namespace stitch;

namespace {

const Dim kBatch = Dim::symbol("batch");
const Dim kSeq = Dim::symbol("seq");

// Checks a folded expression against plain arithmetic for many values of the symbols.
template <class F>
void require_same_values(const Dim& dim, F expected) {
  for (int64_t batch = 0; batch < 5; ++batch) {
    for (int64_t seq = 0; seq < 23; ++seq) {
      INFO(dim.to_string() << " at batch=" << batch << " seq=" << seq);
      REQUIRE(dim.bind({{"batch", batch}, {"seq", seq}}).constant() == expected(batch, seq));
    }
  }
}

int64_t floor_div(int64_t a, int64_t b) {
  int64_t quotient = a / b;
  if (a % b != 0 && (a < 0) != (b < 0)) --quotient;
  return quotient;
}

}  // namespace

TEST_CASE("products and sums of symbols have one normal form") {
  REQUIRE(kBatch * kSeq == kSeq * kBatch);
  REQUIRE((kBatch + 1) * (kSeq - 1) == kBatch * kSeq + kSeq - kBatch - 1);
  REQUIRE(kSeq - kSeq == Dim(0));
  REQUIRE((kSeq * 2 + kSeq).to_string() == "3*seq");
  REQUIRE((Dim(5) + kSeq * kBatch - kSeq).to_string() == "batch*seq-seq+5");
  REQUIRE(!(kBatch == kSeq));
  REQUIRE(!(kBatch == Dim(1)));
}

TEST_CASE("divisions that come out even leave no division") {
  REQUIRE(floordiv(kBatch * kSeq * 12, kSeq) == kBatch * 12);
  REQUIRE(floordiv(kBatch * (kSeq + 1) * 12, kSeq + 1) == kBatch * 12);
  REQUIRE(floordiv(kBatch * (kSeq + 1), kBatch * (kSeq + 1)) == Dim(1));
  REQUIRE(floordiv(kSeq * 6, 3) == kSeq * 2);
  REQUIRE(mod(kBatch * kSeq, kSeq) == Dim(0));
  REQUIRE(mod(kSeq * 8, 4) == Dim(0));
}

TEST_CASE("divisions that do not come out even keep what must stay") {
  REQUIRE(floordiv(kSeq + 1, 2).to_string() == "floor((seq+1)/2)");
  REQUIRE(floordiv(kSeq * 4 + kBatch + 9, 4).to_string() == "floor((batch+1)/4)+seq+2");
  REQUIRE(floordiv(kSeq * 4 + 1, 6) == floordiv(kSeq * 2, 3));
  REQUIRE(floordiv(floordiv(kSeq, 2), 3) == floordiv(kSeq, 6));
  REQUIRE(floordiv(floordiv(kSeq - 1, 2), 2) == floordiv(kSeq - 1, 4));
  REQUIRE(mod(kSeq, 4).to_string() == "mod(seq,4)");
  REQUIRE(floordiv(mod(kSeq, 4), 4) == Dim(0));
}

TEST_CASE("folded expressions have the values of the plain ones") {
  require_same_values(floordiv(kSeq * 4 + kBatch - 7, 4),
                      [](int64_t batch, int64_t seq) { return floor_div(seq * 4 + batch - 7, 4); });
  require_same_values(floordiv(floordiv(kSeq - 3, 2) + 1, 2),
                      [](int64_t, int64_t seq) { return floor_div(floor_div(seq - 3, 2) + 1, 2); });
  require_same_values(mod(kSeq * 7 - kBatch * 3, 5), [](int64_t batch, int64_t seq) {
    const int64_t value = seq * 7 - batch * 3;
    return value - floor_div(value, 5) * 5;
  });
  require_same_values(floordiv(kSeq, -3), [](int64_t, int64_t seq) { return floor_div(seq, -3); });
  require_same_values(max(min(kSeq, 10) - 3, 0), [](int64_t, int64_t seq) {
    return std::max<int64_t>(std::min<int64_t>(seq, 10) - 3, 0);
  });
  require_same_values(min(kSeq * kBatch, kSeq) + max(kBatch, 2), [](int64_t batch, int64_t seq) {
    return std::min(seq * batch, seq) + std::max<int64_t>(batch, 2);
  });
}

TEST_CASE("minima and maxima that are known fold") {
  REQUIRE(max(kSeq, 0) == kSeq);
  REQUIRE(max(kSeq + 3, kSeq) == kSeq + 3);
  REQUIRE(min(kSeq, kSeq + kBatch) == kSeq);
  REQUIRE(min(min(kSeq, 4), 9) == min(kSeq, 4));
  REQUIRE(max(kSeq - min(kSeq, 4), 0) == kSeq - min(kSeq, 4));
  REQUIRE(max(kSeq - floordiv(kSeq, 2), 0) == kSeq - floordiv(kSeq, 2));
  REQUIRE(min(kSeq, std::numeric_limits<int64_t>::max()) == kSeq);
  REQUIRE(max(kSeq, std::numeric_limits<int64_t>::min()) == kSeq);
  REQUIRE(min(kSeq, kBatch) == min(kBatch, kSeq));
  REQUIRE(min(kSeq, kBatch).to_string() == "min(batch,seq)");
}

TEST_CASE("bounds follow from symbols being at least 0") {
  REQUIRE(lower_bound(kSeq + 3) == 3);
  REQUIRE(!upper_bound(kSeq).has_value());
  REQUIRE(upper_bound(min(kSeq, 8) * 2) == 16);
  REQUIRE(upper_bound(mod(kSeq, 8)) == 7);
  REQUIRE(!lower_bound(kSeq - kBatch).has_value());
  REQUIRE(lower_bound(floordiv(kSeq + 4, 2)) == 2);
}

TEST_CASE("binding replaces symbols and leaves the others") {
  const Dim dim = floordiv(kBatch * kSeq + 1, 2);
  REQUIRE(dim.bind({{"batch", 3}, {"seq", 5}}).constant() == 8);
  REQUIRE(dim.bind({{"batch", 2}}) == kSeq);
  REQUIRE(dim.symbols() == std::vector<std::string>{"batch", "seq"});
  REQUIRE_THROWS_WITH(dim.constant(), "the extent floor((batch*seq+1)/2) was used as a number");
}

TEST_CASE("what prints parses back") {
  const Dim odd = Dim::symbol("past + 'new'");
  for (const Dim& dim :
       {Dim(-4), kBatch, floordiv(kSeq + 1, 2) * 3 - kBatch, min(kSeq, kBatch + 1),
        mod(kSeq * 3 + kBatch, 7), floordiv(kSeq, kBatch), Dim(-1) * kSeq * kSeq, odd * 2 + 1,
        floordiv(kSeq * kBatch + 2, kSeq + 1), Dim::symbol("min"), Dim::symbol("2x")}) {
    REQUIRE(parse_dim(dim.to_string()) == dim);
  }
  REQUIRE_THROWS_WITH(parse_dim("seq+"),
                      "the extent \"seq+\" is not an expression, expected a number, a symbol or a "
                      "parenthesis at character 5");
}

TEST_CASE("extents beyond 64 bits are an error") {
  REQUIRE_THROWS_WITH(Dim(int64_t{1} << 62) * 4,
                      "the product of the extents 4611686018427387904 and 4 does not fit into 64 "
                      "bits");
  REQUIRE_THROWS_AS(floordiv(kSeq, 0), ModelError);
}

TEST_CASE("shapes count and print their elements") {
  REQUIRE(element_count({kBatch, 3, kSeq}).to_string() == "3*batch*seq");
  REQUIRE(element_count({}) == Dim(1));
  REQUIRE(to_string(Shape{kBatch, 3}) == "[batch,3]");
  REQUIRE(!is_constant(Shape{kBatch, 3}));
  REQUIRE(constant_extents({2, 3}) == std::vector<int64_t>{2, 3});
}
