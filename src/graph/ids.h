// Typed indices: a node id never meets a value id by accident.
#pragma once
#include <compare>
#include <cstdint>
#include <functional>

namespace stitch {

template <class Tag>
struct Id {
  static constexpr uint32_t kNone = 0xffffffffu;
  uint32_t index = kNone;

  constexpr Id() = default;
  constexpr explicit Id(size_t i) : index(static_cast<uint32_t>(i)) {}
  constexpr bool valid() const { return index != kNone; }
  friend constexpr auto operator<=>(const Id&, const Id&) = default;
};

using NodeId = Id<struct NodeTag>;
using ValueId = Id<struct ValueTag>;
using SourceId = Id<struct SourceTag>;  // an ONNX node, for provenance

}  // namespace stitch

template <class Tag>
struct std::hash<stitch::Id<Tag>> {
  size_t operator()(const stitch::Id<Tag>& id) const noexcept { return id.index; }
};
