#include "planner/plan/naming.h"

#include "support/catch.h"

using namespace stitch;

TEST_CASE("a kernel is named by its number, its scope and its ops") {
  Graph graph;
  const std::vector<SourceId> sources = {
      graph.add_source({"/encoder/layer.0/attention/Softmax", "Softmax"}),
      graph.add_source({"/encoder/layer.0/attention/Mul_1", "Mul"})};
  CHECK(kernel_name(3, graph, sources) == "k03_layer_0_attention_softmax_mul");
}

TEST_CASE("kernel names stay short and are C identifiers") {
  Graph graph;
  std::vector<SourceId> sources;
  for (int i = 0; i < 40; ++i) {
    sources.push_back(graph.add_source(
        {"/\xc3\xa9t\xc3\xa9 " + std::to_string(i), "LayerNormalization" + std::to_string(i)}));
  }
  const std::string name = kernel_name(12, graph, sources);
  CHECK(name.size() <= 48);
  CHECK(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos);
}

TEST_CASE("a kernel without ONNX nodes says what it copies") {
  CHECK(copy_kernel_name(0, "x") == "k00_copy_of_x");
  CHECK(copy_kernel_name(7, "/encoder/Past.Key") == "k07_copy_of_past_key");
  CHECK(copy_kernel_name(1, "") == "k01_copy");
}

TEST_CASE("buffers take the last part of the name, and a number when it is taken") {
  BufferNames names;
  CHECK(names.take("/encoder/layer.0/Add_output_0") == "add_output_0");
  CHECK(names.take("/encoder/layer.1/Add_output_0") == "add_output_0_1");
  CHECK(names.take("") == "value");
  CHECK(names.take("42") == "value_42");
}
