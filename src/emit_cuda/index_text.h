// Index expressions as C++ text over the variables of the emitted loops.
#pragma once
#include "emit_cuda/element_graph.h"

namespace stitch {

// The graph's coordinates must cover all atoms of an expression; `gathered` gives the names of
// indices that were read.
class IndexText {
 public:
  IndexText(const IndexPool& pool, const ElementGraph& graph,
            std::function<std::string(ElementId)> gathered)
      : pool_(pool),
        coordinates_(graph.coordinates),
        factors_(graph.factors),
        gathered_(std::move(gathered)) {}

  CudaText text(ExprId id) const;
  // low <= expr < high, less what the ranges already say.
  std::string guard(const Guard& guard) const;

 private:
  CudaText shifted(ExprId id, int64_t shift) const;  // the text of expr + shift
  int64_t steps_above_zero(const Term& term) const;
  CudaText term(const Term& term) const;  // with |coefficient|
  CudaText factor(const Term& term, int64_t* coefficient) const;
  CudaText atom(AtomId id, int64_t* coefficient) const;
  std::string number(int64_t value) const;

  const IndexPool& pool_;
  const std::map<AtomId, Coordinate>& coordinates_;
  const std::map<int64_t, std::string>& factors_;
  std::function<std::string(ElementId)> gathered_;
};

}  // namespace stitch
