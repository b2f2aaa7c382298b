// The op table: enum, names and facts of every primitive, all derived from ops.def.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace stitch {

enum class Op : uint8_t {
#define STITCH_OP(name, class, operands, weight) k_##name,
#include "graph/ops.def"
};

enum class OpClass : uint8_t {
  k_light,
  k_expensive,
  k_generator,
  k_movement,
  k_indexed,
  k_reduce,
  k_window,
  k_scan,
  k_contraction,
  k_control,
  k_dynamic,
};

struct OpFacts {
  std::string_view name;
  OpClass op_class;
  int operands;  // -1: any number
  int weight;    // instructions per element
};

const OpFacts& facts(Op op);
inline std::string_view name(Op op) { return facts(op).name; }
std::optional<Op> parse_op(std::string_view text);
inline bool is_elementwise(Op op) {
  return facts(op).op_class == OpClass::k_light || facts(op).op_class == OpClass::k_expensive;
}
inline bool is_movement(Op op) { return facts(op).op_class == OpClass::k_movement; }

}  // namespace stitch
