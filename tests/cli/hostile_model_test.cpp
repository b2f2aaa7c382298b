// Files that are made to do harm, or that nobody thought of: an error or a result, never a crash.
#include <fstream>

#include "sample_models.h"
#include "stitchc_run.h"
#include "support/catch.h"

namespace stitch {

namespace {

namespace fs = std::filesystem;

// The message of `compile`, which must exit with 1 and write nothing.
std::string compile_error(const TemporaryFolder& folder, const fs::path& model) {
  const std::string bundle = (folder.path() / "bundle").string();
  const StitchcRun run = run_stitchc({"compile", model.string(), "-o", bundle});
  CHECK(run.exit_code == 1);
  CHECK(run.out == "");
  CHECK_FALSE(fs::exists(bundle));
  return without(run.err, folder.path().string() + "/");
}

}  // namespace

TEST_CASE("a model that is cut off is refused") {
  const TemporaryFolder folder;
  const SoftmaxModel model;
  const fs::path cut = folder.path() / "cut.onnx";
  fs::copy_file(model.file(), cut);
  fs::resize_file(cut, fs::file_size(cut) - 7);
  CHECK(compile_error(folder, cut) == "error: 'cut.onnx' is not an ONNX model, or is cut off\n");
  fs::resize_file(cut, 0);
  CHECK(compile_error(folder, cut) == "error: 'cut.onnx' is not an ONNX model, or is cut off\n");
}

TEST_CASE("a path that is no file of a model is refused") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "bert.onnx") << "";
  CHECK(compile_error(folder, folder.path() / "bert.onx") ==
        "error: cannot read 'bert.onx': no such file\nhelp: did you mean 'bert.onnx'?\n");
  fs::create_directory(folder.path() / "folder");
  CHECK(compile_error(folder, folder.path() / "folder").find("error: ") == 0);
}

TEST_CASE("weights outside of the model's folder are not read") {
  const TemporaryFolder folder;
  fs::create_directory(folder.path() / "model");
  std::ofstream(folder.path() / "secret.bin") << "01234567";
  for (const char* location : {"../secret.bin", "/etc/passwd"}) {
    ModelBuilder model;
    model.input("x", DType::kF32, {"2"})
        .external_initializer("w", DType::kF32, {2}, {{"location", location}})
        .node("Add", {"x", "w"}, {"y"}, {}, {.name = "n"})
        .output("y");
    CHECK(compile_error(folder, model.save(folder.path() / "model/model.onnx")) ==
          std::string("error: node 'n' (Add): initialiser 'w': external data '") + location +
              "' is not a path inside the model's folder\n");
  }
}

TEST_CASE("a model without nodes compiles where it has an output, and is refused where not") {
  const TemporaryFolder folder;
  CHECK(compile_error(folder, ModelBuilder().save(folder.path() / "empty.onnx")) ==
        "error: the model has no outputs\n");
  ModelBuilder model;
  model.input("x", DType::kF32, {"2"}).output("x");
  const StitchcRun run =
      run_stitchc({"verify", model.save(folder.path() / "through.onnx").string()});
  INFO(run.err);
  CHECK(run.exit_code == 0);
}

TEST_CASE("extents that no memory holds are refused") {
  const TemporaryFolder folder;
  ModelBuilder huge;
  huge.input("x", DType::kF32, {"4611686018427387904", "4"}).node("Exp", {"x"}, {"y"}).output("y");
  CHECK(compile_error(folder, huge.save(folder.path() / "huge.onnx")) ==
        "error: input 'x': float32[4611686018427387904,4] is larger than any device's memory\n");
  const SoftmaxModel model;
  const StitchcRun run = run_stitchc({"plan", model.file(), "--dim", "batch=9223372036854775807"});
  CHECK(run.exit_code == 1);
  CHECK(run.err.find("is larger than any device's memory\n") != std::string::npos);
}

TEST_CASE("empty extents give an empty result, or the reduction of no elements") {
  const TemporaryFolder folder;
  ModelBuilder model;
  model.input("x", DType::kF32, {"0", "3"})
      .node("Softmax", {"x"}, {"y"})
      .node("ReduceMax", {"x"}, {"z"}, {{"axes", std::vector<int64_t>{1}}})
      .node("ReduceSum", {"x"}, {"sum"})
      .node("ReduceMax", {"x"}, {"most"}, {{"axes", std::vector<int64_t>{0}}})
      .node("Transpose", {"x"}, {"turned"})
      .node("MatMul", {"turned", "x"}, {"product"})
      .output("y")
      .output("z")
      .output("sum")
      .output("most")
      .output("product");
  const StitchcRun run = run_stitchc({"verify", model.save(folder.path() / "model.onnx").string()});
  INFO(run.err);
  CHECK(run.exit_code == 0);
}

TEST_CASE("names of any characters reach neither the shell nor the emitted code") {
  const TemporaryFolder folder;
  const std::string input = "x */ \" \\\n#error %s {} $(touch pwned) ?\?/";
  ModelBuilder model;
  model.input(input, DType::kF32, {"3", "40"})
      .node("Softmax", {input}, {"'; rm -rf *"}, {}, {.name = "*/ #include \"nothing\" \\\n?\?/"})
      .node("Neg", {"'; rm -rf *"}, {"\xff\xfe"}, {}, {.name = "int"})
      .output("\xff\xfe");
  const fs::path file = model.save(folder.path() / "a b$(touch pwned)'\".onnx");
  const StitchcRun run =
      run_stitchc({"verify", file.string(), "--fusion", "none"}, folder.path().string());
  INFO(run.err);
  CHECK(run.exit_code == 0);
  CHECK_FALSE(fs::exists(folder.path() / "pwned"));
}

}  // namespace stitch
