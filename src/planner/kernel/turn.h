// Transpositions: element-wise work that reads along one atom and writes along another goes through
// a tile of shared memory, so that both sides are coalesced (TileMapping, stitching.md 4).
//
//   y[i,j] = x[j,i]    group 1 reads x along i and keeps a tile, group 2 stores y along j
#pragma once
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "planner/stage/stage_builder.h"
#include "planner/structure/kernel_structure.h"

namespace stitch {

inline constexpr int kTurnBlock = 256;

struct Turn {
  AtomId store_atom, load_atom;                           // contiguous in stores, in loads
  std::vector<std::pair<AccessNodeId, size_t>> operands;  // reads that run along load_atom
  int64_t element_bytes = 4;
};

// None where all large accesses agree, or the work is too small to matter.
std::optional<Turn> find_turn(KernelNodes& nodes, const KernelStructure& structure);

// Splits both atoms into tiles and builds the stage of the whole kernel.
BuiltStage build_turn(KernelNodes& nodes, std::span<const AccessValueId> stored, const Turn& turn,
                      const StageRequest& request);

}  // namespace stitch
