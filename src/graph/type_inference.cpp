#include "graph/type_inference.h"

#include "graph/type_rules.h"

namespace stitch {

void reject(const TypeQuery& query, const std::string& expected, const std::string& found) {
  throw ModelError(fmt::format("{} expects {}, found {}", name(query.op), expected, found));
}

std::string operand_types(const TypeQuery& query) {
  std::string text;
  for (size_t i = 0; i < query.operands.size(); ++i) {
    if (i > 0) text += i + 1 == query.operands.size() ? " and " : ", ";
    text += to_string(query.operands[i]);
  }
  return text;
}

void require_axis(const TypeQuery& query, int axis, int rank) {
  if (axis < 0 || axis >= rank) {
    reject(query, fmt::format("an axis below {}", rank), std::to_string(axis));
  }
}

std::vector<ValueType> infer_types(Op op, std::span<const ValueType> operands,
                                   const Attributes& attributes, const ValueType* given) {
  const TypeQuery query{op, operands, attributes, given};
  const OpFacts& op_facts = facts(op);
  if (op_facts.operands >= 0 && static_cast<size_t>(op_facts.operands) != operands.size()) {
    reject(query, fmt::format("{} operands", op_facts.operands), std::to_string(operands.size()));
  }
  if (attributes.index() != default_attributes(op).index()) {
    throw InternalError(fmt::format("a {} node carries the attributes of another op", name(op)));
  }
  switch (op_facts.op_class) {
    case OpClass::k_light:
    case OpClass::k_expensive:
      return elementwise_types(query);
    case OpClass::k_generator:
      return generator_types(query);
    case OpClass::k_movement:
      return movement_types(query);
    case OpClass::k_indexed:
      return indexed_types(query);
    case OpClass::k_reduce:
    case OpClass::k_window:
    case OpClass::k_scan:
      return reduction_types(query);
    case OpClass::k_contraction:
      return contraction_types(query);
    case OpClass::k_control:
    case OpClass::k_dynamic:
      throw ModelError(fmt::format("{} is not supported", name(op)));
  }
  throw InternalError("an op has no class");
}

}  // namespace stitch
