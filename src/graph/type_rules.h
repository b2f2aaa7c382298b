// The parts of type inference, by op class; each sees one op with operand count and kind of
// attributes already checked.
#pragma once
#include <fmt/format.h>

#include <span>
#include <string>
#include <vector>

#include "graph/error.h"
#include "graph/graph.h"

namespace stitch {

struct TypeQuery {
  Op op;
  std::span<const ValueType> operands;
  const Attributes& attributes;
  const ValueType* given;

  const ValueType& operand(size_t i) const { return operands[i]; }
  int rank(size_t i) const { return static_cast<int>(operands[i].shape.size()); }
  template <class T>
  const T& as() const {
    return attributes_as<T>(attributes);
  }
};

// Throws "<op> expects <expected>, found <found>".
[[noreturn]] void reject(const TypeQuery& query, const std::string& expected,
                         const std::string& found);
// The types of the operands, for messages: "f32[8] and f32[4]".
std::string operand_types(const TypeQuery& query);
void require_axis(const TypeQuery& query, int axis, int rank);

std::vector<ValueType> elementwise_types(const TypeQuery& query);
std::vector<ValueType> generator_types(const TypeQuery& query);
std::vector<ValueType> movement_types(const TypeQuery& query);
std::vector<ValueType> indexed_types(const TypeQuery& query);
std::vector<ValueType> reduction_types(const TypeQuery& query);  // reduce, window, scan
std::vector<ValueType> contraction_types(const TypeQuery& query);

// Extent of a window op's result; shared by pooling and convolution.
Dim window_extent(const TypeQuery& query, const Dim& extent, int64_t kernel, int64_t stride,
                  int64_t dilation, int64_t low, int64_t high);

}  // namespace stitch
