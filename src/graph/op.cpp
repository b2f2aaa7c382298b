#include "graph/op.h"

#include <array>

namespace stitch {
namespace {

constexpr OpFacts kOps[] = {
#define STITCH_OP(name, class, operands, weight) {#name, OpClass::k_##class, operands, weight},
#include "graph/ops.def"
};

}  // namespace

const OpFacts& facts(Op op) { return kOps[static_cast<size_t>(op)]; }

std::optional<Op> parse_op(std::string_view text) {
  for (size_t i = 0; i < std::size(kOps); ++i) {
    if (kOps[i].name == text) return static_cast<Op>(i);
  }
  return std::nullopt;
}

}  // namespace stitch
