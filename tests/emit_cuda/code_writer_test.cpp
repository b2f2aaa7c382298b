#include "emit_cuda/code_writer.h"

#include "support/catch.h"

using namespace stitch;

TEST_CASE("blocks close their braces and indent what is inside") {
  CodeWriter writer;
  {
    const auto loop = writer.block("for (;;)");
    writer.pragma("unroll");
    writer.line("x = 1;");
  }
  CHECK(writer.text() == "for (;;) {\n#pragma unroll\n  x = 1;\n}\n");
}

TEST_CASE("a long line is continued behind a comma or an operator, least nested first") {
  CodeWriter writer;
  writer.line("function<1, 2>(" + std::string(60, 'a') + ", (b + c), " + std::string(30, 'd') +
              ");");
  CHECK(writer.text() == "function<1, 2>(" + std::string(60, 'a') + ", (b + c),\n    " +
                             std::string(30, 'd') + ");\n");
}

TEST_CASE("comments are wrapped at 100 columns") {
  CodeWriter writer;
  writer.comment(std::string(60, 'a') + " " + std::string(60, 'b'));
  CHECK(writer.text() == "// " + std::string(60, 'a') + "\n// " + std::string(60, 'b') + "\n");
}
