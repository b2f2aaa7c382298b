// The text of single elements: names, loads under their predicates, choices.
#include <fmt/format.h>

#include <algorithm>

#include "emit_cuda/cuda_types.h"
#include "emit_cuda/scalar_text.h"
#include "emit_cuda/scope_writer.h"
#include "graph/error.h"

namespace stitch {

std::string ScopeWriter::name_of(ElementId id) {
  const Element& e = graph_.at(id);
  if (!e.target.empty()) return e.target;
  if (!e.name.empty()) return e.name;
  std::string& name = names_[id.index];
  if (name.empty()) {
    KernelContext& context = builder_.context();
    std::string wish = e.value.valid() ? context.wish(e.value) : "value";
    // A sum over a loop of one thread is not the sum of a row.
    if (e.kind == ElementKind::kReduction && wish.starts_with("row_"))
      wish = "window" + wish.substr(3);
    if (e.kind == ElementKind::kCondition) wish = "holds";
    if (e.kind == ElementKind::kLoad) wish += e.vector ? "_part" : "_value";
    if (e.kind == ElementKind::kGathered) wish += "_index";
    if (!context.names().is_free(wish)) wish += e.lanes ? "_part" : "_value";
    name = context.names().take(wish);
  }
  return name;
}

CudaText ScopeWriter::text(ElementId id) {
  const Element& e = graph_.at(id);
  if (!is_named(id)) return expression(id);
  std::string name = name_of(id);
  const bool reduction = e.kind == ElementKind::kReduction || e.kind == ElementKind::kArgReduction;
  const bool indexed =
      e.lanes && (e.vector || reduction || array_[id.index] != 0 || !e.target.empty());
  if (indexed) name += "[j]";
  if (e.kind == ElementKind::kArgReduction) name += ".index";
  return {name, Precedence::kPrimary};
}

CudaText ScopeWriter::expression(ElementId id) {
  const Element& e = graph_.at(id);
  switch (e.kind) {
    case ElementKind::kLiteral:
      return {e.text, e.text.starts_with('-') ? Precedence::kUnary : Precedence::kPrimary};
    case ElementKind::kRegister:
      return {e.text + (e.lanes ? "[j]" : ""), Precedence::kPrimary};
    case ElementKind::kIndex: {
      const CudaText index = index_.text(e.expr);
      if (e.dtype == DType::kI32 && builder_.context().index_type() == "int") return index;
      return {"static_cast<" + register_type(e.dtype) + ">(" + index.text + ")",
              Precedence::kPrimary};
    }
    case ElementKind::kCondition: {
      std::string result;
      for (const Guard& guard : e.guards) {
        result += (result.empty() ? "" : " && ") + index_.guard(guard);
      }
      return {result, Precedence::kAnd};
    }
    case ElementKind::kGathered:
      return {fmt::format("stitch_gathered({}, {}, {})", text(e.operands[0]).text, e.range.low,
                          e.range.high),
              Precedence::kPrimary};
    case ElementKind::kLoad:
      return load_text(e);
    case ElementKind::kChoice:
      return choice_text(e);
    case ElementKind::kOperation: {
      std::vector<ScalarOperand> operands;
      for (const ElementId operand_id : e.operands) {
        const Element& x = graph_.at(operand_id);
        ScalarOperand operand = {text(operand_id), x.dtype, std::nullopt};
        if (x.kind == ElementKind::kLiteral && is_float(x.dtype)) {
          try {
            operand.constant = std::stod(x.text);
          } catch (const std::invalid_argument&) {
            operand.constant = std::nullopt;  // infinity and NaN are calls
          }
        }
        operands.push_back(std::move(operand));
      }
      return scalar_text(e.op, e.attributes, {e.dtype, e.uncontracted}, operands);
    }
    case ElementKind::kReduction:
    case ElementKind::kArgReduction:
      break;
  }
  throw InternalError("a loop has no expression");
}

CudaText ScopeWriter::load_text(const Element& e) {
  const std::string at = e.memory.pointer + "[" + index_.text(e.expr).text + "]";
  CudaText value = {at, Precedence::kPrimary};
  if (is_half(e.memory.dtype)) {
    value.text = "stitch_load_one(" + e.memory.pointer + displacement(index_.text(e.expr)) + ")";
  }
  if (e.memory.dtype == DType::kBool) value = {at + " != 0", Precedence::kEquality};
  const std::string when = condition_text(graph_.at(e.predicate), active_);
  if (when.empty()) return value;
  return {when + " ? " + value.text + " : " + integer_literal(e.memory.dtype, 0),
          Precedence::kChoice};
}

CudaText ScopeWriter::choice_text(const Element& e) {
  const Predicate outside = active_;
  std::string result;
  for (size_t i = 0; i < e.operands.size(); ++i) {
    const bool last = i == e.conditions.size();
    if (!last) {
      result += operand(text(e.conditions[i]), Precedence::kOr) + " ? ";
      active_.emplace_back(e.conditions[i], false);
    }
    result += operand(text(e.operands[i]), Precedence::kOr);
    if (last) break;
    result += " : ";
    active_.back().second = true;
  }
  active_ = outside;
  return {result, Precedence::kChoice};
}

// The conditions of a predicate that nothing around the text has asked yet.
std::string ScopeWriter::condition_text(const Predicate& predicate, const Predicate& known) {
  std::string result;
  for (const auto& condition : predicate) {
    if (std::find(known.begin(), known.end(), condition) != known.end()) continue;
    const CudaText asked = text(condition.first);
    if (!result.empty()) result += " && ";
    result += condition.second ? "!" + operand(asked, Precedence::kPrimary)
                               : operand(asked, Precedence::kAnd);
  }
  return result;
}

}  // namespace stitch
