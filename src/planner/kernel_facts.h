// What tables and reports ask of a planned kernel.
#pragma once
#include "planner/plan.h"

namespace stitch {

// One of its stages is a contraction: the kernel counts as such, not as memory-intensive.
bool holds_contraction(const Kernel& kernel);

// Row and grid barriers of all parts: separations at which blocks wait. Tickets are none.
int waiting_barriers(const Kernel& kernel);

}  // namespace stitch
