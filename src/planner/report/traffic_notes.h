// Why a kernel moves more than its compulsory bytes: lines for --explain and for tables.
#pragma once
#include <string>
#include <vector>

#include "planner/plan/plan.h"

namespace stitch {

// One line per kernel that moves more than 1.02 times its compulsory bytes.
//   "k00_softmax moves 1.31 times its compulsory bytes: x is loaded by 2 parts, whose blocks own
//    different indices"
std::vector<std::string> traffic_notes(const Plan& plan);

}  // namespace stitch
