// A stage whose groups meet in shared memory. Its blocks own rows so coarse that every reduce of
// the kernel stays in a block, whatever it reduces: softmax over rows beside a sum over columns,
// groups of channels whose channels are normalised again.
//
//   rows r, inside of them a and b:   group 0   keep x[a,b], max over b -> m[a]
//                                     group 1   max over a of x - m    -> k[b]
//                                     group 2   store x - m + k
//
// What a group leaves (whole rows, results of reduces) lies in shared memory, and a block barrier
// stands between the group that writes and the one that reads. Rows that every thread reads only
// where it has written them stay in registers.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "planner/stage/stage_builder.h"
#include "planner/structure/kernel_structure.h"

namespace stitch {

// The atoms that every root keeps and reads at its own index: what blocks can own so that none
// needs another's results. Roots that every block computes whole are not asked (null: there are
// none).
std::vector<AtomId> common_rows(
    const KernelNodes& nodes, const KernelStructure& structure,
    const std::function<bool(const StructureRoot&)>& is_repeated = nullptr);

// `structure` has one cluster, over common_rows; what lacks some of these atoms is computed by
// every block and stored by one. None when a row does not fit in shared memory, or is so short that
// a block of it would idle.
std::optional<BuiltStage> build_shared_stage(KernelNodes& nodes, const KernelStructure& structure,
                                             const StageRequest& request);

}  // namespace stitch
