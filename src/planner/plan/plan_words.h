// The words of the plan's text form for every enumerator, once for printer and parser.
#pragma once
#include <array>
#include <string_view>

#include "planner/plan/plan.h"

namespace stitch {

constexpr auto enumerator_names(AccessKind) {
  return std::to_array<std::string_view>({"elementwise", "index", "reduce", "arg_reduce",
                                          "contraction", "scan", "sort", "scatter", "assembly"});
}
constexpr auto enumerator_names(AccessValueKind) {
  return std::to_array<std::string_view>({"input", "constant", "node"});
}
constexpr auto enumerator_names(BufferKind) {
  return std::to_array<std::string_view>({"input", "output", "constant", "arena", "scratch"});
}
constexpr auto enumerator_names(PlaceKind) {
  return std::to_array<std::string_view>(
      {"register", "register_array", "shared", "cluster", "scratch", "fragment"});
}
constexpr auto enumerator_names(MappingKind) {
  return std::to_array<std::string_view>({"row", "column", "loop", "tile", "contraction"});
}
constexpr auto enumerator_names(RootKind) {
  return std::to_array<std::string_view>({"reduce", "reduce_rows", "place", "store", "contract"});
}
constexpr auto enumerator_names(CascadeRule) {
  return std::to_array<std::string_view>({"none", "shifted_exp", "squared_distance"});
}
constexpr auto enumerator_names(Separation) {
  return std::to_array<std::string_view>(
      {"none", "ticket", "row_barrier", "grid_barrier", "cluster_barrier"});
}

template <class Enum>
std::string_view word_of(Enum value) {
  return enumerator_names(value)[static_cast<size_t>(value)];
}

}  // namespace stitch
