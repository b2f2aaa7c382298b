// Rows that are read at other columns: from registers, through shared memory, or again.
#include <algorithm>

#include "planned.h"
#include "planner/make_plan.h"
#include "support/catch.h"

using namespace stitch;

namespace {

// Rows divided by the root of their sum of squares, plus themselves rolled by `shift` columns.
std::string rolled(int64_t columns, int64_t shift) {
  const auto slice = [&](int64_t from, int64_t to) {
    return "{starts=[0," + std::to_string(from) + "], limits=[16384," + std::to_string(to) +
           "], steps=[1,1]} : f32[16384," + std::to_string(to - from) + "]\n";
  };
  const std::string type = " : f32[16384," + std::to_string(columns) + "]";
  return "graph \"rolled\" {\n  input %0 \"x\"" + type + "\n  %1 = mul(%0, %0)" + type +
         "\n  %2 = reduce(%1) {kind=sum, axes=[1]} : f32[16384]\n"
         "  %3 = broadcast(%2) {axes=[0]}" +
         type + "\n  %4 = div(%0, %3)" + type + "\n  %5 = slice(%4) " + slice(shift, columns) +
         "  %6 = slice(%4) " + slice(0, shift) + "  %7 = concat(%5, %6) {axis=1}" + type +
         "\n  %8 = add(%4, %7)" + type + "\n  output \"y\" %8\n}";
}

const StageMapping& mapping_of(const Planned& planned) { return planned.stage().mapping; }

bool has_barrier(const Planned& planned) {
  const std::vector<Group>& groups = planned.stage().groups;
  return std::any_of(groups.begin(), groups.end(), [](const Group& g) { return g.block_barrier; });
}

}  // namespace

TEST_CASE("a thread whose steps divide the distance has the other half of its row itself") {
  // 64 columns in vectors of 4: 8 threads, two steps of 32.
  const auto planned = plan_text_graph(rolled(64, 32));
  CHECK(planned->problems().empty());
  const Kernel& kernel = *planned->kernels().at(0);
  CHECK(mapping_of(*planned).threads_per_row == 8);
  CHECK(places_of_kind(kernel, PlaceKind::kRegisterArray) == 1);
  CHECK(places_of_kind(kernel, PlaceKind::kShared) == 0);
  CHECK_FALSE(has_barrier(*planned));
  CHECK(kernel.bytes.bytes == kernel.bytes.compulsory);
}

TEST_CASE("threads exchange a row that no step of many threads divides") {
  const auto planned = plan_text_graph(rolled(64, 4));
  CHECK(planned->problems().empty());
  const Kernel& kernel = *planned->kernels().at(0);
  CHECK(mapping_of(*planned).threads_per_row == 16);
  CHECK(places_of_kind(kernel, PlaceKind::kShared) == 1);
  CHECK(has_barrier(*planned));
  CHECK(kernel.bytes.bytes == kernel.bytes.compulsory);
}
