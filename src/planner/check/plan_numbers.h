// The numbers of a plan that others divide by, index with, or send to the device: sizes, places,
// launches, and which buffer holds what when.
#pragma once
#include <string>
#include <vector>

#include "planner/plan/plan.h"

namespace stitch {

// One lower-case sentence per violated rule, with the kernel or the buffer.
void check_numbers(const Plan& plan, std::vector<std::string>& problems);

}  // namespace stitch
