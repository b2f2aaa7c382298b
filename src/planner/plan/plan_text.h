// The text form of a plan: printer and parser that round-trip. Ids are those of the plan, so that a
// line can be found again in a dump; nodes and values that no step uses are left out.
//
//   kernel "k00_softmax" block 256 ...
//     part blocks 512
//       stage none row rows [a0] threads_per_row 32 row_threads 8 ...
//         group columns [a1] threads 32 vector 4 unrolled
//           place v7
//           reduce v8
//       ...
//     at v7 register_array
#pragma once
#include <string>
#include <string_view>

#include "planner/plan/plan.h"

namespace stitch {

std::string print_plan(const Plan& plan);
// `graph` is the one that the plan was made from: constants and provenance. ModelError with line
// and column.
Plan parse_plan(std::string_view text, const Graph& graph);

}  // namespace stitch
