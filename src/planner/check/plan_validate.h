// Checks that a plan is complete and legal, so that the emitter need not ask.
#pragma once
#include <string>
#include <vector>

#include "planner/plan/plan.h"

namespace stitch {

// One lower-case sentence per violated rule, with kernel and value; empty for a valid plan.
std::vector<std::string> plan_problems(const Plan& plan);

// InternalError with the first problems when there are any.
void validate_plan(const Plan& plan);

}  // namespace stitch
