#include "frontend/einsum.h"
#include "graph/error.h"
#include "support/catch.h"

namespace stitch {

TEST_CASE("an equation gives a label for each axis") {
  const EinsumEquation e = parse_einsum("bij, bjk -> bik", {3, 3});
  CHECK(e.operands == std::vector<std::string>{"bij", "bjk"});
  CHECK(e.result == "bik");
}

TEST_CASE("an implicit result has the labels that occur once, sorted") {
  CHECK(parse_einsum("ij,jk", {2, 2}).result == "ik");
  CHECK(parse_einsum("ba", {2}).result == "ab");
  CHECK(parse_einsum("aB", {2}).result == "Ba");
  CHECK(parse_einsum("ii", {2}).result == "");
}

TEST_CASE("an ellipsis stands for axes counted from the last one") {
  const EinsumEquation e = parse_einsum("...ij,...jk", {4, 3});
  CHECK(e.operands == std::vector<std::string>{"10ij", "0jk"});
  CHECK(e.result == "10ik");
}

TEST_CASE("malformed equations say what is wrong") {
  CHECK_THROWS_WITH(parse_einsum("ij->ik", {2}), "the result label 'k' is in no operand");
  CHECK_THROWS_WITH(parse_einsum("ij->ii", {2}), "the result label 'i' is given twice");
  CHECK_THROWS_WITH(parse_einsum("ij", {3}), "the term 'ij' for an operand of rank 3");
  CHECK_THROWS_WITH(parse_einsum("ij,j", {2}), "the equation 'ij,j' has 2 terms for 1 operands");
  CHECK_THROWS_WITH(parse_einsum("i1", {2}), "'1' in the term 'i1'");
}

}  // namespace stitch
