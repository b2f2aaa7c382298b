#include "repository/rules.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "support/catch.h"

namespace stitch::repository {
namespace {

SourceTree tree_of(std::string path, std::string_view text) {
  return {make_source_file(std::move(path), text)};
}

std::string lines(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += "\n";
  return text;
}

}  // namespace

TEST_CASE("an include of a later stage is reported with file and line") {
  const SourceTree tree =
      tree_of("src/graph/dim.cpp", "#include \"graph/dim.h\"\n\n#  include \"planner/plan.h\"\n");
  CHECK(to_text(check_includes(tree)) ==
        "src/graph/dim.cpp:3: includes planner/plan.h, which its layer may not use\n");
}

TEST_CASE("each layer may include the layers below it only") {
  const auto count = [](const std::string& folder, const std::string& header) {
    return check_includes(tree_of("src/" + folder + "/x.cpp", "#include \"" + header + "\"\n"))
        .size();
  };
  CHECK(count("frontend", "graph/graph.h") == 0);
  CHECK(count("frontend", "planner/plan.h") == 1);
  CHECK(count("planner", "graph/graph.h") == 0);
  CHECK(count("planner", "frontend/import.h") == 1);
  CHECK(count("planner", "emit_cuda/code_writer.h") == 1);
  CHECK(count("emit_cuda", "planner/plan.h") == 0);
  CHECK(count("emit_cuda", "runtime/bundle_format.h") == 0);
  CHECK(count("emit_cuda", "runtime/launcher.h") == 1);
  CHECK(count("emit_cuda", "emulator/fiber.h") == 1);
  CHECK(count("runtime", "graph/dtype.h") == 1);
  CHECK(count("emulator", "runtime/driver.h") == 0);
  CHECK(count("emulator", "emit_cuda/device/base.cuh") == 0);
  CHECK(count("emulator", "emit_cuda/emit.h") == 1);
  CHECK(check_includes(tree_of("apps/main.cpp", "#include \"emulator/driver.h\"\n")).empty());
}

TEST_CASE("protobuf headers stay in the frontend") {
  for (const char* header : {"<google/protobuf/message.h>", "\"onnx.pb.h\"", "<onnx/onnx_pb.h>"}) {
    const std::string text = std::string("#include ") + header + "\n";
    CHECK(check_includes(tree_of("src/frontend/import.cpp", text)).empty());
    CHECK(check_includes(tree_of("src/planner/plan.cpp", text)).size() == 1);
    CHECK(check_includes(tree_of("apps/main.cpp", text)).size() == 1);
  }
  CHECK(check_includes(tree_of("tests/onnx/a.cpp", "#include \"onnx/runner.h\"\n")).empty());
}

TEST_CASE("nvrtc.h is used by one file, cuda.h by the emulator and one test") {
  const SourceTree good = {
      make_source_file("src/emit_cuda/nvrtc.cpp", "#include <nvrtc.h>\n"),
      make_source_file("src/emulator/driver.cpp", "#include <cuda.h>\n"),
      make_source_file("src/emulator/memory.cpp", "#include <cuda.h>\n"),
      make_source_file("tests/runtime/driver_test.cpp", "#include <cuda.h>\n")};
  CHECK(to_text(check_includes(good)).empty());

  SourceTree second_user = good;
  second_user.push_back(make_source_file("src/emit_cuda/other.cpp", "#include <nvrtc.h>\n"));
  second_user.push_back(make_source_file("tests/runtime/second_test.cpp", "#include <cuda.h>\n"));
  CHECK(
      to_text(check_includes(second_user)) ==
      "src/emit_cuda/other.cpp:1: nvrtc.h is already used by src/emit_cuda/nvrtc.cpp\n"
      "tests/runtime/second_test.cpp:1: cuda.h is already used by tests/runtime/driver_test.cpp\n");
  CHECK(check_includes(tree_of("src/runtime/driver.h", "#include <cuda.h>\n")).size() == 1);
  CHECK(check_includes(tree_of("src/emit_cuda/nvrtc.h", "#include <nvrtc.h>\n")).size() == 1);
}

TEST_CASE("the runtime includes the standard library only") {
  CHECK(check_includes(tree_of("src/runtime/a.cpp", "#include <vector>\n#include <sys/mman.h>\n"))
            .empty());
  CHECK(check_includes(tree_of("src/runtime/a.cpp", "#include <fmt/core.h>\n")).size() == 1);
}

TEST_CASE("relative includes are reported") {
  CHECK(check_includes(tree_of("src/graph/a.cpp", "#include \"../graph/dim.h\"\n")).size() == 1);
}

TEST_CASE("a source of 500 lines passes and one of 501 does not") {
  CHECK(check_lengths(tree_of("src/graph/a.cpp", lines(500))).empty());
  CHECK(check_lengths(tree_of("src/graph/a.cpp", lines(501))).size() == 1);
  CHECK(check_lengths(tree_of("tests/golden/a.cu", lines(501))).empty());
  CHECK(check_lengths(tree_of("docs/a.md", lines(501))).empty());
}

TEST_CASE("a header says what it is") {
  CHECK(
      check_headers(tree_of("src/graph/a.h", "// A dimension: known or symbolic.\n#pragma once\n"))
          .empty());
  CHECK(check_headers(tree_of("src/graph/a.h", "#pragma once\nint f();\n")).size() == 1);
  CHECK(check_headers(tree_of("src/graph/a.h", "// a.h\n#pragma once\n")).size() == 1);
  CHECK(check_headers(tree_of("src/graph/a.h", "// A dimension: known or symbolic.\n")).size() ==
        1);
  CHECK(check_headers(tree_of("src/a.h", "/* An interface\n * for C. */\n#ifndef A_H_\n")).empty());
  CHECK(check_headers(tree_of("src/graph/a.cpp", "int f();\n")).empty());
}

TEST_CASE("file names that say nothing are reported") {
  for (const char* path : {"src/graph/utils.h", "src/graph/shape_utils.cpp", "tests/helpers.h",
                           "src/memory_manager.h"}) {
    CHECK(check_names(tree_of(path, "")).size() == 1);
  }
  CHECK(check_names(tree_of("src/graph/common.h", "")).size() == 1);
  CHECK(check_names(tree_of("src/graph/commonality.h", "")).empty());
  CHECK(check_names(tree_of("src/graph/merge_common.h", "")).empty());
}

TEST_CASE("words that do not belong are reported") {
  const auto count = [](const std::string& line) {
    return check_words(tree_of("src/a.cpp", line)).size();
  };
  CHECK(count(std::string("open(\"") + "/home" + "/me/model.onnx\")") == 1);
  CHECK(count("open(\"/usr/local/cuda\")") == 0);
  CHECK(count("int x;  // see the work/life balance") == 0);
  CHECK(count(std::string("// TO") + "DO handle this") == 1);
  CHECK(count(std::string("// TO") + "DO(needs cuDNN 9): handle this") == 0);
  CHECK(count(std::string("// FIX") + "ME") == 1);
  CHECK(count(std::string("CHECK(tr") + "ue);") == 1);
  CHECK(count(std::string("TEST_CASE(\"x\", \"[") + ".]\")") == 1);
}

TEST_CASE("CMake names its sources and downloads nothing") {
  CHECK(check_cmake(tree_of("src/graph/CMakeLists.txt", "file(GLOB sources *.cpp)\n")).size() == 1);
  CHECK(check_cmake(tree_of("cmake/x.cmake", "include(FetchContent)\n")).size() == 1);

  const SourceFile list =
      make_source_file("src/graph/CMakeLists.txt", "stitch_add_library(my_dim SOURCES dim.cpp)\n");
  CHECK(check_cmake({list, make_source_file("src/graph/dim.cpp", "")}).empty());
  CHECK(to_text(check_cmake({list, make_source_file("src/graph/im.cpp", "")})) ==
        "src/graph/im.cpp: is in no CMakeLists.txt\n");
  CHECK(check_cmake({make_source_file("tests/CMakeLists.txt", "foreach(tool run_all convert)\n"),
                     make_source_file("tests/run_all.cpp", "")})
            .empty());
  CHECK(check_cmake({make_source_file("src/lost/a.cpp", "")}).size() == 1);
  CHECK(check_cmake({make_source_file("cmake/x.cmake", "add_library(x src/lost/a.cpp)\n"),
                     make_source_file("src/lost/a.cpp", "")})
            .empty());
}

TEST_CASE("a link of a Markdown file leads to a file or folder of the repository") {
  const auto count = [](const std::string& link) {
    return check_links({make_source_file("docs/a.md", "see [it](" + link + ")\n"),
                        make_source_file("src/graph/ops.def", "")})
        .size();
  };
  CHECK(count("a.md") == 0);
  CHECK(count("a.md#section") == 0);
  CHECK(count("#section") == 0);
  CHECK(count("../src/graph/ops.def") == 0);
  CHECK(count("../src/graph") == 0);
  CHECK(count("https://arxiv.org/abs/2009.10924") == 0);
  CHECK(count("b.md") == 1);
  CHECK(count("src/graph/ops.def") == 1);
}

TEST_CASE("a source tree is read without build folders, hidden folders and binary files") {
  namespace fs = std::filesystem;
  const fs::path root = fs::path(STITCH_BINARY_DIR) / "repository_test_tree";
  fs::remove_all(root);
  const auto write = [&](const fs::path& path, std::string_view text) {
    fs::create_directories((root / path).parent_path());
    std::ofstream(root / path, std::ios::binary) << text;
  };
  write("src/graph/b.h", "one\ntwo\n");
  write("src/graph/a.h", "no line end");
  write("build/x.h", "text\n");
  write(".git/config", "text\n");
  write(".ci/run", "text\n");
  write("models/m.onnx", std::string_view("a\0b", 3));

  const SourceTree tree = read_source_tree(root);
  REQUIRE(tree.size() == 3);
  CHECK(tree[0].path == ".ci/run");
  CHECK(tree[1].path == "src/graph/a.h");
  CHECK(tree[1].lines == std::vector<std::string>{"no line end"});
  CHECK(tree[2].lines == std::vector<std::string>{"one", "two"});
  fs::remove_all(root);
}

}  // namespace stitch::repository
