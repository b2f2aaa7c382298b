#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "planner/access/index_expr.h"

namespace stitch {
namespace {

std::string factor_text(const IndexPool& pool, const Term& term) {
  switch (term.kind) {
    case FactorKind::kAtom: {
      const std::string& name = pool.atom(term.atom).name;
      return name.empty() ? fmt::format("a{}", term.atom.index) : name;
    }
    case FactorKind::kFloorDiv:
      return fmt::format("({}) / {}", pool.to_string(term.inner), term.operand);
    case FactorKind::kMod:
      return fmt::format("({}) % {}", pool.to_string(term.inner), term.operand);
    case FactorKind::kMin:
      return fmt::format("min({}, {})", pool.to_string(term.inner), term.operand);
    case FactorKind::kMax:
      return fmt::format("max({}, {})", pool.to_string(term.inner), term.operand);
    case FactorKind::kRead:
      return fmt::format("read{}", term.read.index);
  }
  return {};
}

}  // namespace

std::string IndexPool::to_string(ExprId id) const {
  const Expr& e = expr(id);
  std::vector<Term> terms = e.terms;
  std::stable_sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) {
    return std::llabs(a.coefficient) > std::llabs(b.coefficient);
  });
  std::string text;
  for (const Term& term : terms) {
    const int64_t size = std::llabs(term.coefficient);
    if (text.empty()) {
      text = term.coefficient < 0 ? "-" : "";
    } else {
      text += term.coefficient < 0 ? " - " : " + ";
    }
    std::string factor = factor_text(*this, term);
    const bool divided = term.kind == FactorKind::kFloorDiv || term.kind == FactorKind::kMod;
    if (divided && (terms.size() > 1 || size != 1)) factor = "(" + factor + ")";
    text += size == 1 ? factor : fmt::format("{}*{}", factor, size);
  }
  if (text.empty()) return std::to_string(e.constant);
  if (e.constant != 0) {
    text += fmt::format(" {} {}", e.constant < 0 ? '-' : '+', std::llabs(e.constant));
  }
  return text;
}

}  // namespace stitch
