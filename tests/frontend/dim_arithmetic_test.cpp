#include "frontend/dim_arithmetic.h"

#include "support/catch.h"

namespace stitch {
namespace {

const Dim kBatch = Dim::symbol("batch");
const Dim kSeq = Dim::symbol("seq");

// "[batch,seq]", or "none" where the rule cannot decide.
std::string folded(std::string_view op, const std::vector<ElementTensor>& operands) {
  std::vector<const ElementTensor*> pointers;
  for (const ElementTensor& operand : operands) pointers.push_back(&operand);
  const auto result = fold_dims(op, pointers);
  if (!result) return "none";
  Shape dims;
  for (const Element& element : result->elements) dims.push_back(std::get<Dim>(element));
  return to_string(dims);
}

ElementTensor scalar(const Dim& dim) { return scalar_of(DType::kI64, dim); }

}  // namespace

TEST_CASE("arithmetic on extents is the algebra of dims") {
  CHECK(folded("Mul", {scalar(kBatch), scalar(kSeq)}) == to_string(Shape{kBatch * kSeq}));
  CHECK(folded("Add", {vector_of({kBatch, kSeq}), scalar(Dim(1))}) ==
        to_string(Shape{kBatch + Dim(1), kSeq + Dim(1)}));
  CHECK(folded("Div", {scalar(kSeq), scalar(Dim(2))}) == to_string(Shape{floordiv(kSeq, Dim(2))}));
  CHECK(folded("Max", {scalar(kSeq), scalar(kSeq)}) == "[seq]");
}

TEST_CASE("an extent is never equal to a negative number") {
  CHECK(folded("Equal", {vector_of({kBatch, Dim(-1), Dim(3)}), scalar(Dim(-1))}) == "[0,1,0]");
  CHECK(folded("Less", {scalar(kBatch), scalar(Dim(0))}) == "[0]");
}

TEST_CASE("what cannot be proved is left alone") {
  CHECK(folded("Equal", {scalar(kBatch), scalar(Dim(1))}) == "none");
  CHECK(folded("Equal", {scalar(kBatch), scalar(kSeq)}) == "none");
  CHECK(folded("Div", {scalar(kSeq), scalar(Dim(0))}) == "none");
  CHECK(folded("Tanh", {scalar(kSeq)}) == "none");
}

TEST_CASE("a selection takes the extents of the chosen branch") {
  ElementTensor condition = vector_of({Dim(1), Dim(0)});
  condition.dtype = DType::kBool;
  CHECK(folded("Where", {condition, vector_of({kBatch, kBatch}), vector_of({kSeq, kSeq})}) ==
        "[batch,seq]");
}

}  // namespace stitch
