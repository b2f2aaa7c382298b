#include "frontend/dim_arithmetic.h"

#include <algorithm>

namespace stitch {
namespace {

using Operands = std::vector<Dim>;
using Rule = std::optional<Dim> (*)(const Operands&);

bool is_negative(const Dim& d) { return d.is_constant() && d.constant() < 0; }

std::optional<Dim> divide(const Operands& x) {
  // Truncating division equals floordiv where nothing is negative.
  if (is_negative(x[0]) || is_negative(x[1]) || x[1] == Dim(0)) return {};
  return floordiv(x[0], x[1]);
}

std::optional<Dim> modulo(const Operands& x) {
  if (is_negative(x[0]) || is_negative(x[1]) || x[1] == Dim(0)) return {};
  return mod(x[0], x[1]);
}

std::optional<Dim> equal(const Operands& x) {
  if (x[0] == x[1]) return Dim(1);
  if (x[0].is_constant() && x[1].is_constant()) return Dim(0);
  if (is_negative(x[0]) || is_negative(x[1])) return Dim(0);  // an extent is never negative
  return {};
}

std::optional<Dim> less(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return Dim(a.constant() < b.constant() ? 1 : 0);
  if (a == b || is_negative(b) || b == Dim(0)) return Dim(0);
  if (is_negative(a)) return Dim(1);
  return {};
}

std::optional<Dim> negated(std::optional<Dim> x) {
  if (!x || !x->is_constant()) return {};
  return Dim(x->constant() == 0 ? 1 : 0);
}

struct NamedRule {
  std::string_view op_type;
  size_t operands;  // 0: two or more, folded from the left
  Rule rule;
};

constexpr NamedRule kRules[] = {
    {"Add", 2, [](const Operands& x) -> std::optional<Dim> { return x[0] + x[1]; }},
    {"Sub", 2, [](const Operands& x) -> std::optional<Dim> { return x[0] - x[1]; }},
    {"Mul", 2, [](const Operands& x) -> std::optional<Dim> { return x[0] * x[1]; }},
    {"Div", 2, divide},
    {"Mod", 2, modulo},
    {"Neg", 1, [](const Operands& x) -> std::optional<Dim> { return Dim(0) - x[0]; }},
    {"Min", 0, [](const Operands& x) -> std::optional<Dim> { return min(x[0], x[1]); }},
    {"Max", 0, [](const Operands& x) -> std::optional<Dim> { return max(x[0], x[1]); }},
    {"Equal", 2, equal},
    {"Less", 2, [](const Operands& x) { return less(x[0], x[1]); }},
    {"Greater", 2, [](const Operands& x) { return less(x[1], x[0]); }},
    {"LessOrEqual", 2, [](const Operands& x) { return negated(less(x[1], x[0])); }},
    {"GreaterOrEqual", 2, [](const Operands& x) { return negated(less(x[0], x[1])); }},
    {"Where", 3,
     [](const Operands& x) -> std::optional<Dim> {
       if (!x[0].is_constant()) return {};
       return x[0].constant() != 0 ? x[1] : x[2];
     }},
};

bool is_comparison(std::string_view op_type) {
  return op_type == "Equal" || op_type.starts_with("Less") || op_type.starts_with("Greater");
}

std::optional<std::vector<int64_t>> broadcast_extents(
    const std::vector<const ElementTensor*>& operands) {
  std::vector<int64_t> extents;
  for (const ElementTensor* operand : operands) {
    const size_t rank = operand->rank();
    if (rank > extents.size()) extents.insert(extents.begin(), rank - extents.size(), 1);
    for (size_t i = 0; i < rank; ++i) {
      int64_t& out = extents[extents.size() - 1 - i];
      const int64_t extent = operand->extents[rank - 1 - i];
      if (out != extent && out != 1 && extent != 1) return {};
      if (extent != 1) out = extent;
    }
  }
  return extents;
}

// The element of `operand` that broadcasting puts at `position` of the result.
const Element& element_at(const ElementTensor& operand, const std::vector<int64_t>& extents,
                          int64_t position) {
  int64_t index = 0;
  int64_t stride = 1;
  for (size_t i = 0; i < extents.size(); ++i) {  // from the last axis
    const int64_t extent = extents[extents.size() - 1 - i];
    if (i < operand.rank()) {
      const int64_t own = operand.extents[operand.rank() - 1 - i];
      if (own != 1) index += position % extent * stride;
      stride *= own;
    }
    position /= extent;
  }
  return operand.elements[static_cast<size_t>(index)];
}

}  // namespace

std::optional<ElementTensor> fold_dims(std::string_view op_type,
                                       const std::vector<const ElementTensor*>& operands) {
  const auto named = std::find_if(std::begin(kRules), std::end(kRules),
                                  [&](const NamedRule& r) { return r.op_type == op_type; });
  if (named == std::end(kRules) || operands.size() < std::max<size_t>(1, named->operands))
    return {};
  const auto extents = broadcast_extents(operands);
  if (!extents) return {};
  int64_t count = 1;
  for (const int64_t extent : *extents) count *= extent;
  if (count > ElementTensor::kLargestCount) return {};
  ElementTensor result{
      is_comparison(op_type) ? DType::kBool : operands.back()->dtype, *extents, {}};
  for (int64_t position = 0; position < count; ++position) {
    Operands values;
    for (const ElementTensor* operand : operands) {
      const Dim* dim = std::get_if<Dim>(&element_at(*operand, *extents, position));
      if (!dim) return {};
      values.push_back(*dim);
    }
    std::optional<Dim> value;
    if (named->operands != 0) {
      value = named->rule(values);
    } else {
      value = values.front();
      for (size_t i = 1; value && i < values.size(); ++i) value = named->rule({*value, values[i]});
    }
    if (!value) return {};
    result.elements.emplace_back(*value);
  }
  return result;
}

}  // namespace stitch
