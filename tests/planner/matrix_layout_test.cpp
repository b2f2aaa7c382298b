#include "planner/absorb/matrix_layout.h"

#include "planned.h"
#include "support/catch.h"

using namespace stitch;

namespace {

const Buffer& constant_of(const Plan& plan) {
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.kind == BufferKind::kConstant) return buffer;
  }
  FAIL("the plan has no constant");
  return plan.buffers.front();
}

// y[n] = sum over k of x[k] * w[k,n], and what else reads w.
std::string product(int k, int n, const std::string& more) {
  std::string values = "[0.5";
  for (int i = 1; i < k * n; ++i) values += ", 0.5";
  values += "]";
  const std::string matrix = "f32[" + std::to_string(k) + "," + std::to_string(n) + "]";
  return "graph \"product\" {\n  input %x \"x\" : f32[1," + std::to_string(k) +
         "]\n  input %z \"z\" : " + matrix + "\n  %w = constant {" + matrix + " " + values +
         "} : " + matrix + "\n  %y = matmul(%x, %w)\n" + more + "  output \"y\" %y\n}";
}

}  // namespace

TEST_CASE("a constant matrix lies in memory along the dim that a product with a vector sums over") {
  const auto planned = plan_text_graph(product(160, 48, ""));
  CHECK(planned->problems().empty());
  const Buffer& matrix = constant_of(planned->plan);
  CHECK(matrix.extents == std::vector<int64_t>{160, 48});
  CHECK(matrix.strides == std::vector<int64_t>{1, 160});
  CHECK(planned->stage().mapping.lanes_along_rows == false);
}

TEST_CASE("matrices with other readers, and those of short sums, stay as they are") {
  const auto also_added =
      plan_text_graph(product(160, 48, "  %s = add(%w, %z)\n  output \"s\" %s\n"));
  CHECK(constant_of(also_added->plan).strides == std::vector<int64_t>{48, 1});
  const auto is_short = plan_text_graph(product(96, 48, ""));
  CHECK(constant_of(is_short->plan).strides == std::vector<int64_t>{48, 1});
  PlanOptions without;
  without.techniques.leave_out(Technique::kMatrixLayout);
  const auto as_given = plan_text_graph(product(160, 48, ""), without);
  CHECK(constant_of(as_given->plan).strides == std::vector<int64_t>{48, 1});
}
