#include "planner/absorb/absorb.h"

#include "graph/evaluate.h"
#include "graph/text_form.h"
#include "planner/access/regions.h"
#include "planner/access_evaluator.h"
#include "planner/random_graph.h"
#include "support/catch.h"

using namespace stitch;

namespace {

struct Absorbed {
  Graph graph;
  AccessGraph access;
  std::vector<ContractionChoice> choices;
};

Absorbed absorb_text(const std::string& body) {
  Absorbed result;
  result.graph = parse_graph("graph \"test\" {\n" + body + "\n}\n");
  result.access = build_access_graph(result.graph);
  result.choices = absorb_layouts(result.access, find_device("a100", ""));
  return result;
}

// Element index of every (batch, row, column) of a matrix, computed from its layout.
int64_t place(const MatmulMatrix& matrix, int64_t row, int64_t column) {
  return matrix.offset + (matrix.column_major ? row + column * matrix.leading_dimension
                                              : row * matrix.leading_dimension + column);
}

int64_t storage_count(const AccessGraph& graph, AccessValueId value) {
  int64_t product = 1;
  for (const int64_t extent : graph.value(value).extents) product *= extent;
  return product;
}

// Runs a layout on storages; `d` gets the sums.
void run_layout(const MatmulLayout& layout, const std::vector<double>& a,
                const std::vector<double>& b, const std::vector<double>& c,
                const std::vector<double>& bias, std::vector<double>& d) {
  int64_t batches = 1;
  for (const MatmulBatch& dim : layout.batch) batches *= dim.count;
  for (int64_t batch = 0; batch < batches; ++batch) {
    int64_t rest = batch, at_a = 0, at_b = 0, at_c = 0, at_d = 0;
    for (const MatmulBatch& dim : layout.batch) {
      const int64_t i = rest % dim.count;
      rest /= dim.count;
      at_a += i * dim.stride_a;
      at_b += i * dim.stride_b;
      at_c += i * dim.stride_c;
      at_d += i * dim.stride_d;
    }
    for (int64_t i = 0; i < layout.m; ++i) {
      for (int64_t j = 0; j < layout.n; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < layout.k; ++k) {
          sum += a.at(static_cast<size_t>(at_a + place(layout.a, i, k))) *
                 b.at(static_cast<size_t>(at_b + place(layout.b, k, j)));
        }
        sum *= layout.scale;
        if (!c.empty()) sum += c.at(static_cast<size_t>(at_c + place(layout.c, i, j)));
        if (!bias.empty()) sum += bias.at(static_cast<size_t>(layout.bias_offset + j));
        d.at(static_cast<size_t>(at_d + place(layout.d, i, j))) = sum;
      }
    }
  }
}

// Where an element of a value, given by its row-major number, lies in the value's storage.
int64_t stored_at(const AccessValue& value, int64_t number) {
  int64_t place = 0;
  for (size_t d = value.extents.size(); d-- > 0;) {
    place += number % value.extents[d] * value.strides[d];
    number /= value.extents[d];
  }
  return place;
}

}  // namespace

TEST_CASE("a plain product is one row-major call") {
  const Absorbed run = absorb_text(R"(
    input %0 "x" : f32[4,32,64]
    input %1 "w" : f32[64,48]
    %2 = broadcast(%1) {axes=[1, 2]} : f32[4,64,48]
    %3 = matmul(%0, %2) {accumulate=f32} : f32[4,32,48]
    output "y" %3)");
  REQUIRE(run.choices.size() == 1);
  REQUIRE(run.choices[0].library);
  const MatmulLayout& layout = run.choices[0].layout;
  CHECK(layout.m == 128);
  CHECK(layout.n == 48);
  CHECK(layout.k == 64);
  CHECK(layout.batch.empty());
  CHECK_FALSE(layout.b.column_major);
}

TEST_CASE("a transposed weight is read in the other order") {
  const Absorbed run = absorb_text(R"(
    input %0 "x" : f32[32,64]
    input %1 "w" : f32[48,64]
    %2 = transpose(%1) {perm=[1, 0]} : f32[64,48]
    %3 = matmul(%0, %2) {accumulate=f32} : f32[32,48]
    output "y" %3)");
  REQUIRE(run.choices[0].library);
  CHECK(run.choices[0].layout.b.column_major);
  CHECK(run.choices[0].layout.b.leading_dimension == 64);
}

TEST_CASE("attention needs no kernel for its heads") {
  // q, k, v [16, 3*4] to heads; the context goes back to [16, 12] for the projection.
  const Absorbed run = absorb_text(R"(
    input %0 "q" : f32[16,12]
    input %1 "k" : f32[16,12]
    input %2 "v" : f32[16,12]
    input %3 "w" : f32[12,12]
    %4 = reshape(%0) : f32[16,3,4]
    %5 = transpose(%4) {perm=[1, 0, 2]} : f32[3,16,4]
    %6 = reshape(%1) : f32[16,3,4]
    %7 = transpose(%6) {perm=[1, 2, 0]} : f32[3,4,16]
    %8 = matmul(%5, %7) {accumulate=f32} : f32[3,16,16]
    %9 = exp(%8) : f32[3,16,16]
    %10 = reshape(%2) : f32[16,3,4]
    %11 = transpose(%10) {perm=[1, 0, 2]} : f32[3,16,4]
    %12 = matmul(%9, %11) {accumulate=f32} : f32[3,16,4]
    %13 = transpose(%12) {perm=[1, 0, 2]} : f32[16,3,4]
    %14 = reshape(%13) : f32[16,12]
    %15 = matmul(%14, %3) {accumulate=f32} : f32[16,12]
    output "y" %15)");
  REQUIRE(run.choices.size() == 3);
  for (const ContractionChoice& choice : run.choices) {
    INFO(choice.reason);
    CHECK(choice.library);
    CHECK(choice.layout.calls() == 1);
  }
  CHECK(run.access.nodes.size() == 4);  // three products and exp
  CHECK(depth_regions(run.access).size() == 1);
  CHECK(run.choices[0].layout.batch[0].count == 3);
  CHECK(run.choices[0].layout.a.leading_dimension == 12);
  // The context lies as [16, 3, 4].
  CHECK(run.access.value(run.choices[1].layout.d.value).strides == std::vector<int64_t>{4, 12, 1});
}

TEST_CASE("a transposed output is written by the product itself") {
  const Absorbed run = absorb_text(R"(
    input %0 "a" : f32[3,16,16]
    input %1 "b" : f32[3,16,4]
    %2 = matmul(%0, %1) {accumulate=f32} : f32[3,16,4]
    %3 = transpose(%2) {perm=[1, 0, 2]} : f32[16,3,4]
    %4 = reshape(%3) : f32[16,12]
    output "y" %4)");
  REQUIRE(run.access.nodes.size() == 1);
  REQUIRE(run.choices[0].library);
  CHECK(run.choices[0].layout.d.leading_dimension == 12);
  CHECK(run.choices[0].layout.batch[0].stride_d == 4);
}

TEST_CASE("heads of a batch have two strides and get an own kernel when they are small") {
  const Absorbed run = absorb_text(R"(
    input %0 "q" : f32[8,16,12]
    input %1 "k" : f32[8,16,12]
    %2 = reshape(%0) : f32[8,16,3,4]
    %3 = transpose(%2) {perm=[0, 2, 1, 3]} : f32[8,3,16,4]
    %4 = reshape(%1) : f32[8,16,3,4]
    %5 = transpose(%4) {perm=[0, 2, 3, 1]} : f32[8,3,4,16]
    %6 = matmul(%3, %5) {accumulate=f32} : f32[8,3,16,16]
    output "y" %6)");
  REQUIRE(run.choices.size() == 1);
  CHECK_FALSE(run.choices[0].library);
  CHECK(run.choices[0].reason == "its batch has no single stride and would take 3 calls");
}

TEST_CASE("products with a vector and convolutions have kernels of their own") {
  const Absorbed vector = absorb_text(R"(
    input %0 "x" : f32[1,64]
    input %1 "w" : f32[64,48]
    %2 = matmul(%0, %1) {accumulate=f32} : f32[1,48]
    output "y" %2)");
  CHECK_FALSE(vector.choices[0].library);
  const Absorbed conv = absorb_text(R"(
    input %0 "x" : f32[1,4,9]
    input %1 "w" : f32[8,4,3]
    %2 = conv(%0, %1) {strides=[1], dilations=[1], low=[1], high=[1], groups=1, accumulate=f32} : f32[1,8,9]
    output "y" %2)");
  CHECK_FALSE(conv.choices[0].library);
  CHECK(conv.choices[0].reason == "a convolution has a kernel of its own");
}

TEST_CASE("a row added to a product becomes its bias") {
  const Absorbed run = absorb_text(R"(
    input %0 "x" : f32[1,32,64]
    input %1 "w" : f32[1,64,48]
    input %2 "b" : f32[48]
    %3 = matmul(%0, %1) {accumulate=f32} : f32[1,32,48]
    %4 = broadcast(%2) {axes=[2]} : f32[1,32,48]
    %5 = add(%4, %3) : f32[1,32,48]
    output "y" %5)");
  REQUIRE(run.access.nodes.size() == 1);
  REQUIRE(run.choices[0].library);
  CHECK(run.access.value(run.choices[0].layout.bias).name == "b");
  CHECK(run.access.outputs[0].value == run.choices[0].layout.d.value);
}

TEST_CASE("what is added to a product stays a kernel unless it is a row of it") {
  const std::string head = R"(
    input %0 "x" : f32[32,64]
    input %1 "w" : f32[64,32]
    input %2 "b" : f32[32]
    %3 = matmul(%0, %1) {accumulate=f32} : f32[32,32]
  )";
  const Absorbed column = absorb_text(head + R"(
    %4 = broadcast(%2) {axes=[0]} : f32[32,32]
    %5 = add(%3, %4) : f32[32,32]
    output "y" %5)");
  CHECK(column.access.nodes.size() == 2);
  const Absorbed twice = absorb_text(head + R"(
    %4 = broadcast(%2) {axes=[1]} : f32[32,32]
    %5 = add(%3, %4) : f32[32,32]
    %6 = neg(%3) : f32[32,32]
    output "y" %5
    output "z" %6)");
  CHECK(twice.access.nodes.size() == 3);
  const Absorbed read = absorb_text(head + R"(
    %4 = broadcast(%2) {axes=[1]} : f32[32,32]
    %5 = add(%3, %4) : f32[32,32]
    %6 = tanh(%5) : f32[32,32]
    output "y" %6)");
  CHECK(read.access.nodes.size() == 3);
  const Absorbed late = absorb_text(head + R"(
    %4 = exp(%2) : f32[32]
    %5 = broadcast(%4) {axes=[1]} : f32[32,32]
    %6 = add(%3, %5) : f32[32,32]
    output "y" %6)");
  CHECK(late.access.nodes.size() == 3);
}

TEST_CASE("a residual stream is summed up by the products that add to it") {
  // Both sums are read again behind the next product: they are in memory in any case.
  const Absorbed run = absorb_text(R"(
    input %0 "x" : f32[32,64]
    input %1 "w" : f32[64,64]
    input %2 "b" : f32[64]
    %3 = matmul(%0, %1) {accumulate=f32} : f32[32,64]
    %4 = broadcast(%2) {axes=[1]} : f32[32,64]
    %5 = add(%3, %4) : f32[32,64]
    %6 = add(%0, %5) : f32[32,64]
    %7 = tanh(%6) : f32[32,64]
    %8 = matmul(%7, %1) {accumulate=f32} : f32[32,64]
    %9 = add(%8, %6) : f32[32,64]
    output "y" %9)");
  REQUIRE(run.access.nodes.size() == 3);  // two products and tanh
  REQUIRE(run.choices.size() == 2);
  const MatmulLayout& first = run.choices[0].layout;
  const MatmulLayout& second = run.choices[1].layout;
  CHECK(run.access.value(first.c.value).name == "x");
  CHECK(run.access.value(first.bias).name == "b");
  CHECK(second.c.value == first.d.value);
  CHECK_FALSE(second.bias.valid());
  CHECK(run.access.outputs[0].value == second.d.value);
}

TEST_CASE("heads of a residual are added at the strides of their own tensor") {
  const Absorbed run = absorb_text(R"(
    input %0 "q" : f32[3,16,4]
    input %1 "w" : f32[3,4,8]
    input %2 "r" : f32[16,3,8]
    %3 = matmul(%0, %1) {accumulate=f32} : f32[3,16,8]
    %4 = transpose(%2) {perm=[1, 0, 2]} : f32[3,16,8]
    %5 = add(%3, %4) : f32[3,16,8]
    output "y" %5)");
  REQUIRE(run.access.nodes.size() == 1);
  REQUIRE(run.choices[0].library);
  const MatmulLayout& layout = run.choices[0].layout;
  CHECK(layout.c.leading_dimension == 24);
  CHECK(layout.batch[0].stride_c == 8);
  CHECK(layout.batch[0].stride_d == 128);
}

TEST_CASE("a residual stays in the kernel that keeps the sum or makes the residual") {
  const std::string head = R"(
    input %0 "x" : f32[32,64]
    input %1 "w" : f32[64,64]
    %2 = matmul(%0, %1) {accumulate=f32} : f32[32,64]
  )";
  const Absorbed kept = absorb_text(head + R"(
    %3 = add(%2, %0) : f32[32,64]
    %4 = tanh(%3) : f32[32,64]
    %5 = add(%3, %4) : f32[32,64]
    output "y" %5)");
  CHECK(kept.access.nodes.size() == 4);
  const Absorbed made = absorb_text(head + R"(
    %3 = tanh(%0) : f32[32,64]
    %4 = add(%2, %3) : f32[32,64]
    output "y" %4)");
  CHECK(made.access.nodes.size() == 3);
  // Two products of one depth: neither waits for the other.
  const Absorbed both = absorb_text(head + R"(
    %3 = matmul(%0, %1) {accumulate=f32} : f32[32,64]
    %4 = tanh(%3) : f32[32,64]
    %5 = add(%2, %4) : f32[32,64]
    output "y" %5)");
  CHECK(both.access.nodes.size() == 4);
}

TEST_CASE("a scaled query is read unscaled") {
  const Absorbed run = absorb_text(R"(
    input %0 "q" : f32[16,12]
    input %1 "k" : f32[16,12]
    %2 = constant {f32[] 0.25} : f32[]
    %3 = broadcast(%2) {axes=[]} : f32[3,16,4]
    %4 = reshape(%0) : f32[16,3,4]
    %5 = transpose(%4) {perm=[1, 0, 2]} : f32[3,16,4]
    %6 = mul(%5, %3) : f32[3,16,4]
    %7 = reshape(%1) : f32[16,3,4]
    %8 = transpose(%7) {perm=[1, 0, 2]} : f32[3,16,4]
    %9 = mul(%3, %8) : f32[3,16,4]
    %10 = transpose(%9) {perm=[0, 2, 1]} : f32[3,4,16]
    %11 = matmul(%6, %10) {accumulate=f32} : f32[3,16,16]
    output "scores" %11)");
  REQUIRE(run.access.nodes.size() == 1);
  REQUIRE(run.choices[0].library);
  CHECK(run.choices[0].layout.scale == 0.0625);
  CHECK(run.access.value(run.choices[0].layout.a.value).name == "q");
  CHECK(run.choices[0].layout.batch[0].stride_a == 4);
}

TEST_CASE("a scaled value that something else reads too is computed") {
  const Absorbed run = absorb_text(R"(
    input %0 "x" : f32[16,16]
    input %1 "w" : f32[16,16]
    %2 = constant {f32[] 0.25} : f32[]
    %3 = broadcast(%2) {axes=[]} : f32[16,16]
    %4 = mul(%0, %3) : f32[16,16]
    %5 = matmul(%4, %1) {accumulate=f32} : f32[16,16]
    %6 = neg(%4) : f32[16,16]
    output "y" %5
    output "z" %6)");
  CHECK(run.access.nodes.size() == 3);
  CHECK(run.choices[0].layout.scale == 1);
}

TEST_CASE("a gathered operand of a large product is copied first") {
  const Absorbed run = absorb_text(R"(
    input %0 "x" : f32[4096,1024]
    input %1 "rows" : i64[2048]
    input %2 "w" : f32[1024,2048]
    %3 = gather(%0, %1) {axis=0} : f32[2048,1024]
    %4 = matmul(%3, %2) {accumulate=f32} : f32[2048,2048]
    output "y" %4)");
  REQUIRE(run.access.nodes.size() == 2);
  CHECK(run.access.node(AccessNodeId(0)).op == Op::k_bitcast);
  REQUIRE(run.choices.size() == 1);
  CHECK(run.choices[0].library);
  CHECK(run.choices[0].node == AccessNodeId(1));
}

TEST_CASE("absorption changes no output of random graphs and its layouts compute the products") {
  int layouts = 0;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    const RandomGraph random = make_random_graph(seed, 4 + static_cast<int>(seed % 20));
    AccessGraph access = build_access_graph(random.graph);
    const auto choices = absorb_layouts(access, find_device("a100", ""));
    const auto expected = evaluate(random.graph, random.inputs, EvaluationPrecision::kNative);
    const AccessRun run = run_access(access, random.inputs);
    for (size_t i = 0; i < expected.size(); ++i) {
      for (int64_t e = 0; e < expected[i].element_count(); ++e) {
        INFO("seed " << seed << ", output " << i);
        if (run.outputs[i].real(e) != expected[i].real(e)) FAIL("the outputs differ");
      }
    }
    for (const ContractionChoice& choice : choices) {
      if (choice.layout.node.index == AccessNodeId::kNone) continue;
      const auto stored = [&](AccessValueId id) {
        std::vector<double> storage(static_cast<size_t>(storage_count(access, id)));
        const Tensor& tensor = run.values[id.index];
        for (int64_t e = 0; e < tensor.element_count(); ++e) {
          storage.at(static_cast<size_t>(stored_at(access.value(id), e))) = tensor.real(e);
        }
        return storage;
      };
      const std::vector<double> d = stored(choice.layout.d.value);
      std::vector<double> computed(d.size(), -1e9);
      const auto added = [&](AccessValueId id) {
        return id.valid() ? stored(id) : std::vector<double>();
      };
      run_layout(choice.layout, stored(choice.layout.a.value), stored(choice.layout.b.value),
                 added(choice.layout.c.value), added(choice.layout.bias), computed);
      INFO("seed " << seed << ", node " << choice.node.index);
      CHECK(computed == d);
      ++layouts;
    }
  }
  CHECK(layouts > 10);
}
