#include "planner/check/plan_validate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "graph/error.h"
#include "planner/check/kernel_check.h"
#include "planner/check/plan_numbers.h"
#include "planner/device/device_model.h"

namespace stitch {
namespace {

constexpr size_t kMostProblemsShown = 5;

void check_buffers(const Plan& plan, std::vector<std::string>& problems) {
  std::set<std::string> names;
  for (const Buffer& buffer : plan.buffers) {
    if (!names.insert(buffer.name).second) {
      problems.push_back(fmt::format("two buffers are named {}", buffer.name));
    }
    if (buffer.inside.valid()) {
      const Buffer& whole = plan.buffers[buffer.inside.index];
      if (buffer.kind != whole.kind || buffer.index != whole.index ||
          buffer.offset < whole.offset ||
          buffer.offset + buffer.bytes > whole.offset + whole.bytes) {
        problems.push_back(fmt::format("buffer {} does not lie in {}", buffer.name, whole.name));
      }
    }
    const bool in_workspace =
        buffer.kind == BufferKind::kArena || buffer.kind == BufferKind::kScratch;
    if (in_workspace && buffer.offset + buffer.bytes > plan.arena_bytes) {
      problems.push_back(fmt::format("buffer {} ends behind the arena", buffer.name));
    }
  }
}

void check_names(const Plan& plan, std::vector<std::string>& problems) {
  std::set<std::string> names;
  for (const Step& step : plan.steps) {
    const Kernel* const kernel = std::get_if<Kernel>(&step);
    if (kernel != nullptr && !names.insert(kernel->name).second) {
      problems.push_back(fmt::format("two kernels are named {}", kernel->name));
    }
  }
}

}  // namespace

std::vector<std::string> plan_problems(const Plan& plan) {
  std::vector<std::string> problems;
  check_buffers(plan, problems);
  check_names(plan, problems);
  check_numbers(plan, problems);
  KernelChecker checker(plan);
  for (const Step& step : plan.steps) {
    if (const Kernel* const kernel = std::get_if<Kernel>(&step)) checker.check(*kernel, problems);
  }
  return problems;
}

void validate_plan(const Plan& plan) {
  std::vector<std::string> problems = plan_problems(plan);
  if (problems.empty()) return;
  if (problems.size() > kMostProblemsShown) problems.resize(kMostProblemsShown);
  throw InternalError(fmt::format("the plan is not valid: {}", fmt::join(problems, "; ")));
}

}  // namespace stitch
