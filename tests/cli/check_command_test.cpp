// stitchc check: everything that is in the way of a model, at once.
#include <nlohmann/json.hpp>

#include "sample_models.h"
#include "stitchc_run.h"
#include "support/catch.h"

namespace stitch {

namespace {

// An unbound dimension, an unknown operator, one that is never supported, a misfit shape.
std::string save_troubled_model(const TemporaryFolder& folder) {
  ModelBuilder model;
  model.input("image", DType::kF32, {"1", "height"})
      .initializer("shape", i64({2}, {3, 5}))
      .initializer("w", f32({4}, {1, 2, 3, 4}))
      .node("Relo", {"image"}, {"a"}, {}, {.name = "/act"})
      .node("StringNormalizer", {"a"}, {"b"}, {}, {.name = "/text"})
      .node("Reshape", {"w", "shape"}, {"c"}, {}, {.name = "/flat"})
      .node("Unique", {"image"}, {"d"}, {}, {.name = "/unique"})
      .output("b")
      .output("c")
      .output("d");
  return model.save(folder.path() / "troubled.onnx").string();
}

}  // namespace

TEST_CASE("check lists every problem and exits with 1") {
  const TemporaryFolder folder;
  const StitchcRun run = run_stitchc({"check", save_troubled_model(folder)});
  CHECK(run.exit_code == 1);
  CHECK(run.out ==
        "troubled.onnx: 4 nodes, opset 17. 4 problems:\n"
        "  1. input 'image' has the unbound dimension 'height'\n"
        "     help: pass --dim height=8\n"
        "  2. node '/act' (Relo): the operator is not supported\n"
        "     help: did you mean 'Relu'?\n"
        "  3. node '/flat' (Reshape): cannot reshape float32[4] to [3,5]: 4 elements against 15\n"
        "     note: the target shape comes from value 'shape'\n"
        "  4. node '/unique' (Unique): output size depends on data\n");
}

TEST_CASE("check --json gives node, op, reason and helps of each problem") {
  const TemporaryFolder folder;
  const StitchcRun run = run_stitchc({"check", save_troubled_model(folder), "--json"});
  CHECK(run.exit_code == 1);
  const auto json = nlohmann::json::parse(run.out);
  CHECK(json.at("nodes") == 4);
  CHECK(json.at("opset") == 17);
  const auto& problems = json.at("problems");
  REQUIRE(problems.size() == 4);
  CHECK(problems[1].at("node") == "/act");
  CHECK(problems[1].at("op") == "Relo");
  CHECK(problems[1].at("reason") == "the operator is not supported");
  CHECK(problems[1].at("helps") == std::vector<std::string>{"did you mean 'Relu'?"});
}

TEST_CASE("a model without problems is checked in one line") {
  const SoftmaxModel model;
  const StitchcRun run = run_stitchc({"check", model.file(), "--dim", "batch=2"});
  CHECK(run.exit_code == 0);
  CHECK(run.out == "model.onnx: 2 nodes, opset 17. No problems.\n");
}

TEST_CASE("check and plan need no weights") {
  const TemporaryFolder folder;
  ModelBuilder model;
  model.input("x", DType::kF32, {"6"})
      .external_initializer("w", DType::kF32, {6}, {{"location", "gone.bin"}})
      .node("Add", {"x", "w"}, {"y"}, {}, {.name = "n"})
      .output("y");
  const std::string file = model.save(folder.path() / "model.onnx").string();
  CHECK(run_stitchc({"check", file}).exit_code == 0);
  CHECK(run_stitchc({"plan", file}).exit_code == 0);
  const StitchcRun compile =
      run_stitchc({"compile", file, "-o", (folder.path() / "bundle").string()});
  CHECK(compile.exit_code == 1);
  CHECK(without(compile.err, folder.path().string() + "/") ==
        "error: node 'n' (Add): initialiser 'w': cannot read 'gone.bin': no such file\n");
  CHECK_FALSE(std::filesystem::exists(folder.path() / "bundle"));
}

}  // namespace stitch
