// What is gained where a contraction is compiled by us and not called from the library: the
// element-wise nodes behind it become its epilogue (fusion/epilogue.h), and their kernel goes.
#pragma once
#include <cstdint>
#include <vector>

#include "planner/access/access_graph.h"

namespace stitch {

// Bytes of the contraction's result that would be written and read again by that kernel; 0 where a
// kernel remains behind it in any case, or the library takes over the nodes too. `readers`: of
// every value (readers_of).
int64_t epilogue_gain(const AccessGraph& graph,
                      const std::vector<std::vector<AccessNodeId>>& readers,
                      AccessNodeId contraction);

}  // namespace stitch
