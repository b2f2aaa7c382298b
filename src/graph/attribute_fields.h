// Names and access of every attribute field, once: printer, parser, equality, hashing and binding
// of dims are all written over it.
#pragma once
#include <array>
#include <string_view>
#include <type_traits>

#include "graph/attributes.h"

namespace stitch {

// Spellings of enumerators in the text form, in the order of the enum.
constexpr auto enumerator_names(CompareKind) {
  return std::to_array<std::string_view>({"eq", "lt", "le"});
}
constexpr auto enumerator_names(BitwiseKind) {
  return std::to_array<std::string_view>({"and", "or", "xor"});
}
constexpr auto enumerator_names(ShiftKind) {
  return std::to_array<std::string_view>({"left", "right"});
}
constexpr auto enumerator_names(PadMode) {
  return std::to_array<std::string_view>({"constant", "edge", "reflect", "wrap"});
}
constexpr auto enumerator_names(ReduceKind) {
  return std::to_array<std::string_view>({"sum", "prod", "min", "max"});
}
constexpr auto enumerator_names(ScatterKind) {
  return std::to_array<std::string_view>({"none", "add", "mul", "min", "max"});
}

template <class Enum>
requires std::is_enum_v<Enum> std::string_view enumerator_name(Enum value) {
  return enumerator_names(value)[static_cast<size_t>(value)];
}

// Calls visit(name, field) for each field of an attribute struct, const or not.
template <class Struct, class Visit>
void visit_fields(Struct& a, Visit&& visit) {
  using T = std::remove_const_t<Struct>;
  if constexpr (std::is_same_v<T, CompareAttributes> || std::is_same_v<T, BitwiseAttributes> ||
                std::is_same_v<T, ShiftAttributes>) {
    visit("kind", a.kind);
  } else if constexpr (std::is_same_v<T, CastAttributes>) {
    visit("saturate", a.saturate);
  } else if constexpr (std::is_same_v<T, ConstantAttributes>) {
    visit("tensor", a.tensor);
  } else if constexpr (std::is_same_v<T, IotaAttributes> || std::is_same_v<T, AxisAttributes>) {
    visit("axis", a.axis);
  } else if constexpr (std::is_same_v<T, PhiloxAttributes>) {
    visit("seed", a.seed);
    visit("stream", a.stream);
  } else if constexpr (std::is_same_v<T, BroadcastAttributes> ||
                       std::is_same_v<T, ReverseAttributes>) {
    visit("axes", a.axes);
  } else if constexpr (std::is_same_v<T, TransposeAttributes>) {
    visit("perm", a.perm);
  } else if constexpr (std::is_same_v<T, SliceAttributes>) {
    visit("starts", a.starts);
    visit("limits", a.limits);
    visit("steps", a.steps);
  } else if constexpr (std::is_same_v<T, PadAttributes>) {
    visit("low", a.low);
    visit("high", a.high);
    visit("mode", a.mode);
  } else if constexpr (std::is_same_v<T, GatherNdAttributes>) {
    visit("batch_dims", a.batch_dims);
  } else if constexpr (std::is_same_v<T, ScatterAttributes>) {
    visit("axis", a.axis);
    visit("kind", a.kind);
  } else if constexpr (std::is_same_v<T, ReduceAttributes>) {
    visit("kind", a.kind);
    visit("axes", a.axes);
  } else if constexpr (std::is_same_v<T, ArgReduceAttributes>) {
    visit("kind", a.kind);
    visit("axis", a.axis);
    visit("last", a.last);
  } else if constexpr (std::is_same_v<T, WindowAttributes>) {
    visit("kind", a.kind);
    visit("kernel", a.kernel);
    visit("strides", a.strides);
    visit("dilations", a.dilations);
    visit("low", a.low);
    visit("high", a.high);
  } else if constexpr (std::is_same_v<T, CumulativeAttributes>) {
    visit("kind", a.kind);
    visit("axis", a.axis);
    visit("exclusive", a.exclusive);
    visit("reverse", a.reverse);
  } else if constexpr (std::is_same_v<T, TopKAttributes>) {
    visit("axis", a.axis);
    visit("k", a.k);
    visit("largest", a.largest);
    visit("sorted", a.sorted);
  } else if constexpr (std::is_same_v<T, MatmulAttributes>) {
    visit("accumulate", a.accumulate);
  } else if constexpr (std::is_same_v<T, ConvAttributes>) {
    visit("strides", a.strides);
    visit("dilations", a.dilations);
    visit("low", a.low);
    visit("high", a.high);
    visit("output_padding", a.output_padding);
    visit("groups", a.groups);
    visit("accumulate", a.accumulate);
  } else {
    static_assert(std::is_same_v<T, std::monostate>, "an attribute struct has no row here");
  }
}

}  // namespace stitch
