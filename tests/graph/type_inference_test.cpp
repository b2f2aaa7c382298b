#include "graph/type_inference.h"

#include "graph/error.h"
#include "graph/text_form.h"
#include "support/catch.h"

using namespace stitch;

namespace {

// The message of a node on inputs of the given types, without its place in the text.
std::string message_of(const std::vector<std::string>& inputs, const std::string& node) {
  std::string text = "graph \"t\" {\n";
  for (size_t i = 0; i < inputs.size(); ++i) {
    text += "input %" + std::to_string(i) + " : " + inputs[i] + "\n";
  }
  try {
    const Graph graph = parse_graph(text + "%y = " + node + "\n}");
    return to_string(graph.type(graph.node(NodeId(graph.node_count() - 1)).results[0]));
  } catch (const ModelError& error) {
    const std::string message = error.what();
    return message.substr(message.find(": ") + 2);
  }
}

}  // namespace

TEST_CASE("element-wise operands must be of one type") {
  REQUIRE(message_of({"f32[8]", "f32[4]"}, "add(%0, %1)") ==
          "add expects operands of equal type, found f32[8] and f32[4]");
  REQUIRE(message_of({"f32[8]", "f16[8]"}, "mul(%0, %1)") ==
          "mul expects operands of equal type, found f32[8] and f16[8]");
  REQUIRE(message_of({"f32[n]", "f32[m]"}, "add(%0, %1)") ==
          "add expects operands of equal type, found f32[n] and f32[m]");
  REQUIRE(message_of({"bool[8]"}, "neg(%0)") == "neg expects numbers, found bool[8]");
  REQUIRE(message_of({"i32[8]"}, "exp(%0)") == "exp expects floats, found i32[8]");
  REQUIRE(message_of({"f32[8]"}, "not(%0)") == "not expects integers or bool, found f32[8]");
  REQUIRE(message_of({"bool[2]", "bool[2]"}, "shift(%0, %1)") ==
          "shift expects integers, found bool[2] and bool[2]");
  REQUIRE(message_of({"f32[8]"}, "add(%0)") == "add expects 2 operands, found 1");
  REQUIRE(message_of({"f32[8]", "f32[8]", "f32[8]"}, "select(%0, %1, %2)") ==
          "select expects a bool condition, found f32[8]");
  REQUIRE(message_of({"bool[8]", "f32[8]", "f32[1]"}, "select(%0, %1, %2)") ==
          "select expects a condition of the shape of two operands of equal type, found bool[8], "
          "f32[8] and f32[1]");
}

TEST_CASE("casts keep the shape, bitcasts the width") {
  REQUIRE(message_of({"f32[8]"}, "cast(%0) : f16[4]") ==
          "cast expects a result of shape [8], found f16[4]");
  REQUIRE(message_of({"f32[8]"}, "bitcast(%0) : i64[8]") ==
          "bitcast expects a result of 4 bytes an element, found i64[8]");
  REQUIRE(message_of({"f32[8]"}, "cast(%0)") == "a cast node was made without its type");
}

TEST_CASE("reshape keeps the element count where it is known") {
  REQUIRE(message_of({"f32[8,3]"}, "reshape(%0) : f32[25]") ==
          "reshape expects 24 elements, found f32[25]");
  REQUIRE(message_of({"f32[n,3]"}, "reshape(%0) : f32[3*n]") == "f32[3*n]");
  REQUIRE(message_of({"f32[n,3]"}, "reshape(%0) : f32[3*n+1]") ==
          "reshape expects 3*n elements, found f32[3*n+1]");
  REQUIRE(message_of({"f32[n,4]"}, "reshape(%0) : f32[m,2]") == "f32[m,2]");  // checked at run time
  REQUIRE(message_of({"f32[4]"}, "reshape(%0) : f16[4]") ==
          "reshape expects a result of f32, found f16[4]");
}

TEST_CASE("broadcast repeats extents of 1 along increasing axes") {
  REQUIRE(message_of({"f32[3]"}, "broadcast(%0) {axes=[1]} : f32[2,4]") ==
          "broadcast expects extent 4 or 1 on operand axis 0, found f32[3]");
  REQUIRE(message_of({"f32[3]"}, "broadcast(%0) {axes=[2]} : f32[2,3]") ==
          "broadcast expects an axis below 2, found 2");
  REQUIRE(message_of({"f32[3,3]"}, "broadcast(%0) {axes=[1,0]} : f32[3,3]") ==
          "broadcast expects increasing axes, found 0 after 1");
  REQUIRE(message_of({"f32[1,3]"}, "broadcast(%0) {axes=[0,2]} : f32[n,5,3]") == "f32[n,5,3]");
}

TEST_CASE("movement checks permutations, bounds and amounts") {
  REQUIRE(message_of({"f32[2,3]"}, "transpose(%0) {perm=[0,0]}") ==
          "transpose expects a permutation of 2 axes, found [0,0]");
  REQUIRE(message_of({"f32[5]"}, "slice(%0) {starts=[2], limits=[6], steps=[1]}") ==
          "slice expects 0 <= start <= limit <= 5 on axis 0, found start 2 and limit 6");
  REQUIRE(message_of({"f32[5]"}, "slice(%0) {starts=[0], limits=[5], steps=[0]}") ==
          "slice expects positive steps, found 0");
  REQUIRE(message_of({"f32[n]"}, "slice(%0) {starts=[0], limits=[n], steps=[2]}") ==
          "f32[floor((n+1)/2)]");
  REQUIRE(message_of({"f32[4]", "f32[]"}, "pad(%0, %1) {low=[-1], high=[0]}") ==
          "pad expects amounts of at least 0, found -1");
  REQUIRE(message_of({"f32[4]", "f16[]"}, "pad(%0, %1) {low=[1], high=[0]}") ==
          "pad expects a fill value f32[], found f16[]");
  REQUIRE(message_of({"f32[0]", "f32[]"}, "pad(%0, %1) {low=[1], high=[0], mode=edge}") ==
          "pad expects elements to repeat, found f32[0]");
  REQUIRE(message_of({"f32[2,3]", "f32[2,4]"}, "concat(%0, %1) {axis=0}") ==
          "concat expects operands of equal type but for axis 0, found f32[2,3] and f32[2,4]");
  REQUIRE(message_of({"f32[2,n]", "f32[2,4]"}, "concat(%0, %1) {axis=1}") == "f32[2,n+4]");
}

TEST_CASE("indexed ops check indices and updates") {
  REQUIRE(message_of({"f32[4]", "f32[2]"}, "gather(%0, %1) {axis=0}") ==
          "gather expects i32 or i64 indices, found f32[2]");
  REQUIRE(message_of({"f32[4,5]", "i64[2,3]"}, "gather(%0, %1) {axis=1}") == "f32[4,2,3]");
  REQUIRE(message_of({"f32[4,5]", "i64[7,1]"}, "gather_nd(%0, %1)") == "f32[7,5]");
  REQUIRE(message_of({"f32[4,5]", "i64[7,3]"}, "gather_nd(%0, %1)") ==
          "gather_nd expects indices with a constant last extent of at most 2, found i64[7,3]");
  REQUIRE(message_of({"f32[4,5]", "i64[7,1]", "f32[7,4]"}, "scatter_nd(%0, %1, %2)") ==
          "scatter_nd expects updates f32[7,5], found f32[7,4]");
  REQUIRE(message_of({"bool[4]", "i64[2]", "bool[2]"},
                     "scatter_elements(%0, %1, %2) {axis=0, kind=add}") ==
          "scatter_elements expects numbers to add or multiply, found bool[4], i64[2] and bool[2]");
}

TEST_CASE("reductions drop their axes") {
  REQUIRE(message_of({"f32[2,3,n]"}, "reduce(%0) {kind=sum, axes=[0, 2]}") == "f32[3]");
  REQUIRE(message_of({"f32[2,3]"}, "reduce(%0) {kind=sum, axes=[1, 0]}") ==
          "reduce expects sorted axes below 2, found [1,0]");
  REQUIRE(message_of({"bool[2]"}, "reduce(%0) {kind=sum, axes=[0]}") ==
          "reduce expects numbers to add or multiply, found bool[2]");
  REQUIRE(message_of({"f32[2,0]"}, "argreduce(%0) {axis=1}") ==
          "argreduce expects elements to choose from, found f32[2,0]");
  REQUIRE(message_of({"f32[2,3]"}, "top_k(%0) {axis=1, k=4}") ==
          "top_k expects k of at most 3, found 4");
}

TEST_CASE("windows and convolutions give their extents over symbols") {
  const std::string window =
      " {kind=max, kernel=[3], strides=[2], dilations=[1], low=[1], high=[1]}";
  REQUIRE(message_of({"f32[1,n]"}, "reduce_window(%0)" + window) == "f32[1,floor((n+1)/2)]");
  REQUIRE(message_of({"f32[1,0]"}, "reduce_window(%0)" + window) ==
          "reduce_window expects a padded extent of at least 3, found 2");
  const std::string conv = " {strides=[2], dilations=[1], low=[0], high=[0], groups=1}";
  REQUIRE(message_of({"f32[1,3,9]", "f32[8,4,3]"}, "conv(%0, %1)" + conv) ==
          "conv expects channels that fit 1 groups, found f32[1,3,9] and f32[8,4,3]");
  REQUIRE(message_of({"f32[b,3,9]", "f32[8,3,3]"}, "conv(%0, %1)" + conv) == "f32[b,8,4]");
  REQUIRE(message_of({"f32[b,8,4]", "f32[8,3,3]"},
                     "conv_transpose(%0, %1) {strides=[2], dilations=[1], low=[0], high=[0], "
                     "output_padding=[1]}") == "f32[b,3,10]");
}

TEST_CASE("matrix products give the type of floats and the accumulator of integers") {
  REQUIRE(message_of({"f32[2,3]", "f32[4,5]"}, "matmul(%0, %1)") ==
          "matmul expects [..., m, k] and [..., k, n] with equal leading extents, found f32[2,3] "
          "and f32[4,5]");
  REQUIRE(message_of({"f16[b,2,3]", "f16[b,3,4]"}, "matmul(%0, %1)") == "f16[b,2,4]");
  REQUIRE(message_of({"i8[2,3]", "u8[3,4]"}, "matmul(%0, %1) {accumulate=i32}") == "i32[2,4]");
  REQUIRE(message_of({"i8[2,3]", "i8[3,4]"}, "matmul(%0, %1)") ==
          "matmul expects an integer accumulator of 32 or 64 bits, found f32");
  REQUIRE(message_of({"f64[2,3]", "f64[3,4]"}, "matmul(%0, %1)") ==
          "matmul expects a float accumulator, found f32");
}

TEST_CASE("control flow is refused by name") {
  REQUIRE(message_of({"f32[2]"}, "loop(%0)") == "loop is not supported");
}
