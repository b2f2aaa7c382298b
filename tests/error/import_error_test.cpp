// Messages about models as a whole: files, opsets, interfaces, names.
#include <fstream>

#include "frontend/model_builder.h"
#include "graph/error.h"
#include "support/catch.h"

namespace stitch {
namespace {

std::string read_error(const std::filesystem::path& file) {
  try {
    import_onnx(file);
  } catch (const ModelError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a missing file names the file nearest to it") {
  const TemporaryFolder folder;
  ModelBuilder model;
  model.save(folder.path() / "bert.onnx");
  const std::string path = (folder.path() / "bert.onx").string();
  CHECK(read_error(path) == "cannot read '" + path + "': no such file\nhelp: did you mean '" +
                                (folder.path() / "bert.onnx").string() + "'?");
}

TEST_CASE("a file that is not a model is refused") {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "text.onnx").string();
  std::ofstream(path) << "this is not a protobuf message";
  CHECK(read_error(path) == "'" + path + "' is not an ONNX model, or is cut off");
  const std::string empty = (folder.path() / "empty.onnx").string();
  std::ofstream(empty).flush();
  CHECK(read_error(empty) == "'" + empty + "' is not an ONNX model, or is cut off");
}

TEST_CASE("a model cut off anywhere gives an error, never a crash") {
  const TemporaryFolder folder;
  ModelBuilder model;
  model.input("x", DType::kF32, {"2"})
      .initializer("w", f32({2}, {1, 2}))
      .node("Add", {"x", "w"}, {"y"}, {}, {.name = "add"})
      .output("y");
  const auto whole = model.save(folder.path() / "whole.onnx");
  std::string bytes(std::filesystem::file_size(whole), '\0');
  std::ifstream(whole, std::ios::binary).read(bytes.data(), static_cast<int64_t>(bytes.size()));
  size_t refused = 0;
  for (size_t size = 0; size < bytes.size(); ++size) {
    const auto file = folder.path() / "part.onnx";
    std::ofstream(file, std::ios::binary) << bytes.substr(0, size);
    refused += read_error(file).empty() ? 0 : 1;
  }
  // Only fields that follow the graph (the opset) can be missing unnoticed, and they are required.
  CHECK(refused == bytes.size());
}

TEST_CASE("a model with any byte changed is imported or refused, never worse") {
  const TemporaryFolder folder;
  ModelBuilder branch;
  branch.node("Neg", {"x"}, {"t"}).output("t");
  ModelBuilder model;
  model.input("x", DType::kF32, {"2", "3"})
      .initializer("axes", i64({1}, {1}))
      .initializer("shape", i64({2}, {3, -1}))
      .initializer("end", i64({1}, {2}))
      .initializer("w", f32({3, 2}, {1, 2, 3, 4, 5, 6}))
      .node("MatMul", {"x", "w"}, {"a"})
      .node("ReduceMean", {"a"}, {"b"}, {{"axes", std::vector<int64_t>{1}}})
      .node("Reshape", {"x", "shape"}, {"c"})
      .node("Slice", {"c", "axes", "end", "axes"}, {"d"})
      .node("Softmax", {"x"}, {"e"}, {{"axis", int64_t{-1}}})
      .node("Shape", {"e"}, {"f"})
      .node("ConstantOfShape", {"f"}, {"g"})
      .node("Equal", {"axes", "axes"}, {"yes"})
      .node("If", {"yes"}, {"h"}, {{"then_branch", &branch}, {"else_branch", &branch}});
  for (const char* name : {"b", "d", "g", "h"}) model.output(name);
  const auto whole = model.save(folder.path() / "whole.onnx");
  std::string bytes(std::filesystem::file_size(whole), '\0');
  std::ifstream(whole, std::ios::binary).read(bytes.data(), static_cast<int64_t>(bytes.size()));
  REQUIRE(read_error(whole) == "");
  size_t refused = 0;
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (const char change : {'\x01', '\x80', '\xff'}) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ change);
      const auto file = folder.path() / "changed.onnx";
      std::ofstream(file, std::ios::binary) << changed;
      refused += read_error(file).empty() ? 0 : 1;  // any other exception fails the test
    }
  }
  CHECK(refused > bytes.size());
}

TEST_CASE("opsets outside the known range are refused") {
  for (const int64_t opset : {int64_t{0}, int64_t{29}}) {
    ModelBuilder model(opset);
    model.input("x", DType::kF32, {"1"}).node("Abs", {"x"}, {"y"}).output("y");
    CHECK(model.import_error() ==
          "opset " + std::to_string(opset) + " is not supported\nnote: opsets 1 to 28 are");
  }
}

TEST_CASE("an unbound dimension says which flag binds it") {
  ModelBuilder model;
  model.input("image", DType::kF32, {"1", "height"}).node("Abs", {"image"}, {"y"}).output("y");
  CHECK(model.import_error() ==
        "input 'image' has the unbound dimension 'height'\nhelp: pass --dim height=8");
}

TEST_CASE("a dimension without a name is named by input and axis") {
  ModelBuilder model;
  model.input("x", DType::kF32, {"", "-1"}).node("Abs", {"x"}, {"y"}).output("y");
  CHECK(model.import_error() ==
        "2 problems in 'model.onnx':\n"
        "  1. input 'x' has the unbound dimension 'x.0'\n     help: pass --dim x.0=8\n"
        "  2. input 'x' has the unbound dimension 'x.1'\n     help: pass --dim x.1=8");
}

TEST_CASE("every problem of a model is reported at once, and none twice") {
  ModelBuilder model;
  model.input("x", DType::kF32, {"2"})
      .node("Frobnicate", {"x"}, {"a"}, {}, {.name = "first"})
      .node("Abs", {"a"}, {"b"}, {}, {.name = "after a problem"})
      .node("Relo", {"x"}, {"c"}, {}, {.name = "second"})
      .node("Abs", {"nothing"}, {"d"}, {}, {.name = "third"})
      .node("Sum", {"b", "c", "d"}, {"y"}, {}, {.name = "sum"})
      .output("y");
  CHECK(model.import_error() ==
        "3 problems in 'model.onnx':\n"
        "  1. node 'first' (Frobnicate): the operator is not supported\n"
        "  2. node 'second' (Relo): the operator is not supported\n"
        "     help: did you mean 'Relu'?\n"
        "  3. node 'third' (Abs): 'nothing' is not defined by any node, input or initialiser");
}

TEST_CASE("unknown operators are reported whatever is wrong with what they read") {
  ModelBuilder model;
  model.input("x", DType::kF32, {"batch"})
      .node("Frobnicate", {"x"}, {"a"}, {}, {.name = "first"})
      .node("Quux", {"a"}, {"b"}, {}, {.name = "behind another"})
      .node("StringNormalizer", {"x"}, {"c"}, {}, {.name = "known but never supported"})
      .output("b")
      .output("c");
  CHECK(model.import_error() ==
        "4 problems in 'model.onnx':\n"
        "  1. input 'x' has the unbound dimension 'batch'\n     help: pass --dim batch=8\n"
        "  2. node 'first' (Frobnicate): the operator is not supported\n"
        "  3. node 'behind another' (Quux): the operator is not supported\n"
        "  4. node 'known but never supported' (StringNormalizer): strings are not supported");
}

TEST_CASE("a binding of a dimension that no input has is refused") {
  ModelBuilder model;
  model.input("x", DType::kF32, {"batch"}).node("Abs", {"x"}, {"y"}).output("y");
  CHECK(model.import_error({.dims = {{"batc", 2}}}) ==
        "2 problems in 'model.onnx':\n"
        "  1. input 'x' has the unbound dimension 'batch'\n     help: pass --dim batch=8\n"
        "  2. no input has the dimension 'batc', which is bound to 2\n"
        "     help: did you mean 'batch'?");
  CHECK(model.import_error({.dims = {{"x.0", 2}}}) == "");
}

TEST_CASE("tensors larger than any memory are refused where they arise") {
  ModelBuilder input;
  input.input("x", DType::kF32, {"1099511627776", "1048576"}).node("Abs", {"x"}, {"y"}).output("y");
  CHECK(input.import_error() ==
        "input 'x': float32[1099511627776,1048576] is larger than any device's memory");
  ModelBuilder result;
  const int64_t extent = int64_t{1} << 40;
  result.input("x", DType::kF32, {"1"})
      .initializer("shape", i64({2}, {extent, extent}))
      .node("Expand", {"x", "shape"}, {"y"}, {}, {.name = "n"})
      .output("y");
  CHECK(result.import_error() ==
        "node 'n' (Expand): its result float32[1099511627776,1099511627776] is larger than any "
        "device's memory");
  ModelBuilder empty;
  empty.input("x", DType::kF32, {"1099511627776", "1099511627776", "0"})
      .node("Abs", {"x"}, {"y"})
      .output("y");
  CHECK(empty.import_error() == "");
}

TEST_CASE("an operator newer than the model's opset says so") {
  ModelBuilder model(17);
  model.input("x", DType::kF32, {"2"}).node("Gelu", {"x"}, {"y"}, {}, {.name = "g"}).output("y");
  CHECK(model.import_error() ==
        "node 'g' (Gelu): the operator exists from opset 20 on; the model uses opset 17");
}

TEST_CASE("a cycle is shown as a path") {
  ModelBuilder model;
  model.input("x", DType::kF32, {"2"})
      .node("Add", {"x", "c"}, {"a"}, {}, {.name = "one"})
      .node("Abs", {"a"}, {"b"}, {}, {.name = "two"})
      .node("Neg", {"b"}, {"c"}, {}, {.name = "three"})
      .output("c");
  CHECK(model.import_error().starts_with(
      "2 problems in 'model.onnx':\n"
      "  1. node 'two' (Abs): it is part of a cycle: 'two' -> 'three' -> 'one' -> 'two'\n"));
}

TEST_CASE("a name that two nodes define is reported") {
  ModelBuilder model;
  model.input("x", DType::kF32, {"2"})
      .node("Abs", {"x"}, {"y"}, {}, {.name = "one"})
      .node("Neg", {"x"}, {"y"}, {}, {.name = "two"})
      .output("y");
  CHECK(model.import_error() ==
        "node 'two' (Neg): it defines a name that another node defines already");
}

TEST_CASE("a node that defines the name of an initialiser is reported") {
  ModelBuilder model;
  model.input("x", DType::kF32, {"2"})
      .initializer("w", f32({2}, {1, 2}))
      .node("Abs", {"x"}, {"w"}, {}, {.name = "n"})
      .node("Neg", {"w"}, {"y"})
      .output("y");
  CHECK(model.import_error() == "node 'n' (Abs): it defines 'w', which is an input or initialiser");
}

TEST_CASE("functions that multiply without end give an error in finite time") {
  ModelBuilder model;
  model.import_domain("local", 1)
      .input("x", DType::kF32, {"1"})
      .node("F0", {"x"}, {"y"}, {}, {.domain = "local"})
      .output("y");
  for (int i = 0; i < 40; ++i) {  // F0 calls F1 twice, F1 calls F2 twice ...
    ModelBuilder body;
    const std::string next = "F" + std::to_string(i + 1);
    body.import_domain("local", 1).input("a", DType::kF32, {"1"});
    if (i == 39) {
      body.node("Abs", {"a"}, {"b"}).node("Abs", {"b"}, {"c"});
    } else {
      body.node(next, {"a"}, {"b"}, {}, {.domain = "local"});
      body.node(next, {"b"}, {"c"}, {}, {.domain = "local"});
    }
    body.output("c");
    model.function("local", "F" + std::to_string(i), body);
  }
  CHECK(model.import_error() ==
        "the model has more than 250000 nodes once functions and loops are unrolled");
}

TEST_CASE("elements that the graph lacks are refused by name") {
  ModelBuilder model;
  model.typed_input("text", 8).node("Identity", {"text"}, {"y"}).output("y");
  CHECK(model.import_error() == "input 'text' has elements of type string, which is not supported");
}

TEST_CASE("an output that nothing defines is reported with the nearest name") {
  ModelBuilder model;
  model.input("x", DType::kF32, {"2"}).node("Abs", {"x"}, {"hidden"}).output("hiden");
  CHECK(model.import_error() ==
        "'hiden' is not defined by any node, input or initialiser\nhelp: did you mean 'hidden'?");
}

TEST_CASE("a bound value of another type than the input is refused") {
  ModelBuilder model;
  model.input("x", DType::kF32, {"2"}).node("Abs", {"x"}, {"y"}).output("y");
  CHECK(model.import_error({.bound_inputs = {{"x", i64({3}, {1, 2, 3})}}}) ==
        "input 'x' is float32[2], but the value bound to it is int64[3]");
  CHECK(model.import_error({.bound_inputs = {{"z", f32({2}, {})}}}) ==
        "'z' is bound to a value but is no input of the model");
}

TEST_CASE("a function that calls itself ends with an error") {
  ModelBuilder body;
  body.import_domain("local", 1)
      .input("a", DType::kF32, {"1"})
      .node("Again", {"a"}, {"b"}, {}, {.domain = "local"})
      .output("b");
  ModelBuilder model;
  model.import_domain("local", 1)
      .input("x", DType::kF32, {"1"})
      .node("Again", {"x"}, {"y"}, {}, {.name = "call", .domain = "local"})
      .output("y")
      .function("local", "Again", body);
  CHECK(model.import_error().ends_with("(Again): functions are called more than 64 deep"));
}

}  // namespace stitch
