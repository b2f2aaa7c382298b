#include "graph/dim.h"

#include <algorithm>
#include <set>

#include "graph/dim_expression.h"
#include "graph/error.h"

namespace stitch {

int64_t checked_add(int64_t a, int64_t b) {
  int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) {
    throw ModelError("the sum of the extents " + std::to_string(a) + " and " + std::to_string(b) +
                     " does not fit into 64 bits");
  }
  return result;
}

int64_t checked_multiply(int64_t a, int64_t b) {
  int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) {
    throw ModelError("the product of the extents " + std::to_string(a) + " and " +
                     std::to_string(b) + " does not fit into 64 bits");
  }
  return result;
}

int64_t floor_divide(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

int order_of(const DimTerm& a, const DimTerm& b) {
  if (a.atoms.size() != b.atoms.size()) return a.atoms.size() > b.atoms.size() ? 1 : -1;
  for (size_t i = 0; i < a.atoms.size(); ++i) {
    const int order = b.atoms[i]->text.compare(a.atoms[i]->text);
    if (order != 0) return order;
  }
  return 0;
}

DimSum Dim::Expression::sum_of(const Dim& dim) {
  if (dim.is_constant()) return {{}, dim.constant_};
  return dim.expression_->sum;
}

Dim Dim::Expression::make(DimSum sum) {
  std::sort(sum.terms.begin(), sum.terms.end(),
            [](const DimTerm& a, const DimTerm& b) { return order_of(a, b) > 0; });
  std::vector<DimTerm> merged;
  for (DimTerm& term : sum.terms) {
    if (term.atoms.empty()) {
      sum.constant = checked_add(sum.constant, term.coefficient);
    } else if (!merged.empty() && order_of(merged.back(), term) == 0) {
      merged.back().coefficient = checked_add(merged.back().coefficient, term.coefficient);
    } else {
      merged.push_back(std::move(term));
    }
    if (!merged.empty() && merged.back().coefficient == 0) merged.pop_back();
  }
  if (merged.empty()) return sum.constant;
  sum.terms = std::move(merged);
  auto expression = std::make_shared<Expression>();
  expression->text = text_of(sum);
  expression->sum = std::move(sum);
  return Dim(std::move(expression));
}

Dim Dim::Expression::make(DimAtom atom) {
  atom.text = text_of(atom);
  return make(DimSum{{{{std::make_shared<const DimAtom>(std::move(atom))}, 1}}, 0});
}

Dim::Dim(std::shared_ptr<const Expression> expression) : expression_(std::move(expression)) {}

Dim Dim::symbol(const std::string& name) {
  DimAtom atom;
  atom.name = name;
  return Expression::make(std::move(atom));
}

int64_t Dim::constant() const {
  if (!is_constant()) {
    throw InternalError("the extent " + to_string() + " was used as a number");
  }
  return constant_;
}

namespace {

Dim bind_atom(const DimAtom& atom, const DimBindings& bindings) {
  switch (atom.kind) {
    case DimAtomKind::kSymbol: {
      const auto found = bindings.find(atom.name);
      return found == bindings.end() ? Dim::symbol(atom.name) : Dim(found->second);
    }
    case DimAtomKind::kFloorDiv:
      return floordiv(atom.a.bind(bindings), atom.b.bind(bindings));
    case DimAtomKind::kMod:
      return mod(atom.a.bind(bindings), atom.b.bind(bindings));
    case DimAtomKind::kMin:
      return min(atom.a.bind(bindings), atom.b.bind(bindings));
    case DimAtomKind::kMax:
      return max(atom.a.bind(bindings), atom.b.bind(bindings));
  }
  throw InternalError("a dim atom has no kind");
}

void collect_symbols(const Dim& dim, std::set<std::string>& names) {
  for (const DimTerm& term : Dim::Expression::sum_of(dim).terms) {
    for (const auto& atom : term.atoms) {
      if (atom->kind == DimAtomKind::kSymbol) {
        names.insert(atom->name);
      } else {
        collect_symbols(atom->a, names);
        collect_symbols(atom->b, names);
      }
    }
  }
}

}  // namespace

Dim Dim::bind(const DimBindings& bindings) const {
  if (is_constant() || bindings.empty()) return *this;
  Dim result = expression_->sum.constant;
  for (const DimTerm& term : expression_->sum.terms) {
    Dim product = term.coefficient;
    for (const auto& atom : term.atoms) product = product * bind_atom(*atom, bindings);
    result = result + product;
  }
  return result;
}

std::vector<std::string> Dim::symbols() const {
  std::set<std::string> names;
  collect_symbols(*this, names);
  return {names.begin(), names.end()};
}

std::string Dim::to_string() const {
  return is_constant() ? std::to_string(constant_) : expression_->text;
}

bool operator==(const Dim& a, const Dim& b) {
  if (a.is_constant() || b.is_constant()) {
    return a.is_constant() && b.is_constant() && a.constant_ == b.constant_;
  }
  return a.expression_ == b.expression_ || a.expression_->text == b.expression_->text;
}

Dim operator+(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return checked_add(a.constant_, b.constant_);
  DimSum sum = Dim::Expression::sum_of(a);
  const DimSum other = Dim::Expression::sum_of(b);
  sum.terms.insert(sum.terms.end(), other.terms.begin(), other.terms.end());
  sum.constant = checked_add(sum.constant, other.constant);
  return Dim::Expression::make(std::move(sum));
}

Dim operator-(const Dim& a, const Dim& b) { return a + Dim(-1) * b; }

Dim operator*(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return checked_multiply(a.constant_, b.constant_);
  DimSum left = Dim::Expression::sum_of(a);
  DimSum right = Dim::Expression::sum_of(b);
  left.terms.push_back({{}, left.constant});
  right.terms.push_back({{}, right.constant});
  DimSum product;
  for (const DimTerm& x : left.terms) {
    for (const DimTerm& y : right.terms) {
      DimTerm term;
      std::merge(x.atoms.begin(), x.atoms.end(), y.atoms.begin(), y.atoms.end(),
                 std::back_inserter(term.atoms),
                 [](const auto& p, const auto& q) { return p->text < q->text; });
      term.coefficient = checked_multiply(x.coefficient, y.coefficient);
      if (term.coefficient != 0) product.terms.push_back(std::move(term));
    }
  }
  return Dim::Expression::make(std::move(product));
}

Dim element_count(const Shape& shape) {
  Dim count = 1;
  for (const Dim& dim : shape) count = count * dim;
  return count;
}

std::vector<int64_t> constant_extents(const Shape& shape) {
  std::vector<int64_t> extents;
  extents.reserve(shape.size());
  for (const Dim& dim : shape) extents.push_back(dim.constant());
  return extents;
}

bool is_constant(const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [](const Dim& dim) { return dim.is_constant(); });
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (const Dim& dim : shape) {
    if (text.size() > 1) text += ',';
    text += dim.to_string();
  }
  return text + "]";
}

}  // namespace stitch
