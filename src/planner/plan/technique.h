// What the planner does to make kernels fewer or faster; each can be left out, to see what it is
// worth (`--without`).
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace stitch {

enum class Technique : uint8_t {
  kSearch,           // inside of regions (region_search.h); mode stitch
  kProducts,         // matrix-vector products computed by the kernels that read them
  kMatrixLayout,     // constant matrices of such products stored by the summed dims
  kValueOrder,       // values between kernels stored in the order of their operands; mode stitch
  kEpilogues,        // element-wise nodes in own contraction kernels; mode stitch
  kPacking,          // independent kernels in one launch
  kChains,           // kernels that follow each other across a product become one; mode stitch
  kSiblings,         // independent kernels that read the same inputs become one
  kGridScope,        // blocks that wait for each other
  kClusterScope,     // blocks of a cluster that share rows (sm_90 and later)
  kSharedRows,       // coarse rows with everything between groups in shared memory
  kAdaptiveMapping,  // threads per row and rows per block by size, rows split over blocks
  kDominantMerging,  // reduces of equal depth and columns in one pass
};

struct TechniqueName {
  Technique technique;
  std::string_view name;
};
inline constexpr std::array<TechniqueName, 13> kTechniques = {{
    {Technique::kSearch, "search"},
    {Technique::kProducts, "products"},
    {Technique::kMatrixLayout, "matrix-layout"},
    {Technique::kValueOrder, "value-order"},
    {Technique::kEpilogues, "epilogues"},
    {Technique::kPacking, "packing"},
    {Technique::kChains, "chains"},
    {Technique::kSiblings, "siblings"},
    {Technique::kGridScope, "grid-scope"},
    {Technique::kClusterScope, "cluster-scope"},
    {Technique::kSharedRows, "shared-rows"},
    {Technique::kAdaptiveMapping, "adaptive-mapping"},
    {Technique::kDominantMerging, "dominant-merging"},
}};

// All of them at first.
class Techniques {
 public:
  bool has(Technique technique) const { return (left_out_ & bit(technique)) == 0; }
  void leave_out(Technique technique) { left_out_ |= bit(technique); }

 private:
  static uint32_t bit(Technique technique) { return uint32_t{1} << static_cast<int>(technique); }
  uint32_t left_out_ = 0;
};

}  // namespace stitch
