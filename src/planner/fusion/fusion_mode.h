// How nodes are put together into kernels: the planner's own search, and the policies that it is
// compared with, over the same mappings, scopes and emitter.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace stitch {

enum class FusionMode : uint8_t {
  kNone,  // a kernel per arithmetic node
  kXla,   // loop fusion, siblings, horizontal fusion; a reduce only as root (xla_fusion.h)
  kFusionStitching,  // patterns of block scope by scores (fusion_stitching.h)
  kAStitch,  // every depth region one kernel, blocks meet at grid barriers (AStitch, ASPLOS 2022)
  kStitch,   // depth regions as kernels, cut only where legality or the estimate says so
};

struct FusionModeName {
  FusionMode mode;
  std::string_view name;
  std::string_view help;
};
inline constexpr std::array<FusionModeName, 5> kFusionModes = {{
    {FusionMode::kNone, "none", "a kernel per op"},
    {FusionMode::kXla, "xla", "loop fusion, reduces as roots only"},
    {FusionMode::kFusionStitching, "fusionstitching", "patterns of block scope, by scores"},
    {FusionMode::kAStitch, "astitch", "every region one kernel, with grid barriers"},
    {FusionMode::kStitch, "stitch", "the planner's choice"},
}};

}  // namespace stitch
