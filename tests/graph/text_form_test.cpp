#include "graph/text_form.h"

#include "graph/error.h"
#include "graph/validate.h"
#include "support/catch.h"

using namespace stitch;

namespace {

void require_round_trip(const std::string& text) {
  const Graph graph = parse_graph(text);
  validate(graph);
  REQUIRE(print_graph(graph) == text);
}

}  // namespace

TEST_CASE("a printed graph parses back to the same text") {
  require_round_trip(R"(graph "bert \"large\"" onnx_nodes=12 {
  input %0 "ids" : i64[batch,128]
  input %1 "x y" : f32[batch*seq,min(8,seq),floor((seq+1)/2),'a-b']
  %2 "weight" = constant {f32[3] [0.5, -0, inf]} : f32[3]
  %3 = constant {i64[] -9223372036854775808} : i64[]
  %4 = constant {u64[] 18446744073709551615} : u64[]
  %5 = constant {f16[4] splat 1.5} : f16[4]
  %6 = constant {bool[0] []} : bool[0]
  %7 = add(%0, %0) : i64[batch,128]  # /encoder/Add (Add), "odd name" (com.microsoft:BiasGelu)
  %8 = compare(%7, %0) {kind=lt} : bool[batch,128]
  %9 = transpose(%0) {perm=[1, 0]} : i64[128,batch]
  %10 "best", %11 = top_k(%9) {axis=0, k=3, largest=false} : i64[3,batch], i64[3,batch]
  %12 = slice(%0) {starts=[0, 2], limits=[batch, 100], steps=[1, 3]} : i64[batch,33]  # a (Slice)
  output "y" %10
  output "z" %7
}
)");
}

TEST_CASE("every kind of attributes prints and parses back") {
  require_round_trip(R"(graph "" {
  input %0 "x" : f32[2,4,8,8]
  input %1 "w" : f32[6,2,3,3]
  input %2 "i" : i64[2,4]
  input %3 "j" : i64[2,2]
  %4 = constant {f32[] 0} : f32[]
  %5 = cast(%2) {saturate=false} : f32[2,4]
  %6 = bitwise(%2, %2) {kind=xor} : i64[2,4]
  %7 = shift(%2, %2) {kind=right} : i64[2,4]
  %8 = iota() {axis=1} : i32[2,3]
  %9 = philox() {seed=7, stream=18446744073709551615} : u32[5]
  %10 = broadcast(%2) {axes=[0, 2]} : i64[2,9,4]
  %11 = reverse(%0) {axes=[2, 3]} : f32[2,4,8,8]
  %12 = pad(%0, %4) {low=[0, 0, 1, 0], high=[0, 0, 0, 2], mode=reflect} : f32[2,4,9,10]
  %13 = gather(%0, %2) {axis=3} : f32[2,4,8,2,4]
  %14 = gather_nd(%0, %3) {batch_dims=1} : f32[2,8]
  %15 = reduce(%0) {kind=max, axes=[1, 3]} : f32[2,8]
  %16 = argreduce(%0) {kind=min, axis=2, last=true} : i64[2,4,8]
  %17 = reduce_window(%0) {kind=sum, kernel=[2, 2], strides=[2, 2], dilations=[1, 1], low=[0, 0], high=[1, 1]} : f32[2,4,4,4]
  %18 = cumulative(%0) {kind=prod, axis=3, exclusive=true, reverse=true} : f32[2,4,8,8]
  %19 = matmul(%0, %0) {accumulate=f32} : f32[2,4,8,8]
  %20 = conv(%0, %1) {strides=[2, 1], dilations=[1, 1], low=[1, 1], high=[1, 1], output_padding=[], groups=2, accumulate=f32} : f32[2,6,4,8]
  %21 = constant {f32[2] [1, 2]} : f32[2]
  %22 = scatter_nd(%0, %2, %21) {axis=0, kind=add} : f32[2,4,8,8]
  output "y" %22
}
)");
}

TEST_CASE("a constant above the print limit shows its hash and does not parse back") {
  Graph graph;
  Tensor tensor(DType::kF32, {100});
  tensor.set_real(99, 2.0);
  graph.add_output("y", graph.add_constant(tensor));
  const std::string text = print_graph(graph);
  REQUIRE(text.find("constant {f32[100] hash 0x") != std::string::npos);
  REQUIRE_THROWS_WITH(parse_graph(text),
                      "graph text 2:18: only the hash of this constant was printed, so the text "
                      "cannot be read back");
}

TEST_CASE("errors in the text name line and column") {
  const auto error_of = [](const std::string& text) -> std::string {
    try {
      parse_graph(text);
    } catch (const ModelError& error) {
      return error.what();
    }
    return "no error";
  };
  REQUIRE(error_of("graph \"a\" {\n  %1 = frobnicate()\n}") ==
          "graph text 2:8: \"frobnicate\" is not an op");
  REQUIRE(error_of("graph \"a\" {\n  input %0 : f32[2\n}") ==
          "graph text 3:1: expected ']', found '}'");
  REQUIRE(error_of("graph \"a\" {\n  %1 = neg(%0)\n}") == "graph text 2:12: %0 is not defined");
  REQUIRE(error_of("graph \"a\" {\n  input %0 : f32[2]\n  %1 = neg(%0) : f32[3]\n}") ==
          "graph text 3:8: neg gives f32[2], not f32[3]");
  REQUIRE(error_of("graph \"a\" {\n  input %0 : f32[2]\n  %1 = reduce(%0) {kind=avg}\n}") ==
          "graph text 3:25: \"avg\" is none of sum, prod, min, max");
  REQUIRE(error_of("graph \"a\" {\n  input %0 : f32[2]\n  input %0 : f32[2]\n}") ==
          "graph text 3:9: %0 is defined twice");
  REQUIRE(error_of("graph \"a\" {") == "graph text 1:12: expected '%', found the end");
}
