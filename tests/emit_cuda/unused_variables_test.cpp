#include "emit_cuda/unused_variables.h"

#include "support/catch.h"

using namespace stitch;

TEST_CASE("an index that its block does not use is left out, and what only it used") {
  const std::string text =
      "  const int lane = threadIdx.x;\n"
      "  const int row = blockIdx.x + lane;\n"
      "  x = 1;\n";
  CHECK(without_unused_variables(text) == "  x = 1;\n");
}

TEST_CASE("a variable of the same name in another block does not count") {
  const std::string text =
      "  for (;;) {\n"
      "    const int column = 1;\n"
      "#pragma unroll\n"
      "    x = 1;\n"
      "  }\n"
      "  for (;;) {\n"
      "    const int column = 2;\n"
      "    x = column;\n"
      "  }\n";
  CHECK(without_unused_variables(text) ==
        "  for (;;) {\n#pragma unroll\n    x = 1;\n  }\n  for (;;) {\n"
        "    const int column = 2;\n    x = column;\n  }\n");
}

TEST_CASE("words are compared whole") {
  CHECK(mentions("row + 1", "row"));
  CHECK_FALSE(mentions("first_row + rows", "row"));
}
