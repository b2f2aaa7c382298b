// stitchc run on the emulator: tensors of both formats in and out, and inputs that do not fit.
#include <fstream>

#include "frontend/npy.h"
#include "frontend/tensor_file.h"
#include "sample_models.h"
#include "stitchc_run.h"
#include "support/catch.h"
#include "support/make_tensor.h"
#include "support/matches_tensor.h"

namespace stitch {

namespace {

Tensor expected_probs() {
  const SoftmaxModel model;
  return read_tensor_pb(model.folder() / "test_data_set_0/output_0.pb");
}

std::vector<std::string> command(const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {"run", softmax_bundle(), "--device", "emulator"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

// The error of a run with this file as input, without the folder of the file.
std::string input_error(const TemporaryFolder& folder, const std::string& file) {
  const std::string path = (folder.path() / file).string();
  const std::string results = (folder.path() / "results").string();
  const StitchcRun run = run_stitchc(command({"--input", "scores=" + path, "-o", results}));
  CHECK(run.exit_code == 1);
  CHECK(run.out == "");
  CHECK_FALSE(std::filesystem::exists(results));
  return without(run.err, folder.path().string() + "/");
}

}  // namespace

TEST_CASE("run reads and writes .npy and .pb") {
  const TemporaryFolder folder;
  const std::string npy = (folder.path() / "in.npy").string();
  const std::string pb = (folder.path() / "in.pb").string();
  write_npy(npy, SoftmaxModel::scores());
  write_tensor_pb(pb, SoftmaxModel::scores(), "scores");
  const std::string results = (folder.path() / "results").string();
  const StitchcRun to_npy = run_stitchc(command({"--input", "scores=" + pb, "-o", results}));
  INFO(to_npy.err);
  REQUIRE(to_npy.exit_code == 0);
  CHECK(to_npy.out == "probs  float32[3,10]  " + results + "/probs.npy\n");
  CHECK_THAT(read_npy(results + "/probs.npy"), matches_tensor(expected_probs()));

  const StitchcRun to_pb =
      run_stitchc(command({"--input", "scores=" + npy, "-o", results, "--pb"}));
  REQUIRE(to_pb.exit_code == 0);
  CHECK_THAT(read_tensor_pb(results + "/probs.pb"), matches_tensor(expected_probs()));
}

TEST_CASE("an input of another type or shape than the bundle was compiled for is refused") {
  const TemporaryFolder folder;
  write_npy(folder.path() / "double.npy", random_tensor(DType::kF64, {3, 10}, 1));
  CHECK(input_error(folder, "double.npy") ==
        "error: input 'scores' is float64[3,10]; the bundle was compiled for float32[3,10]\n");
  write_npy(folder.path() / "large.npy", random_tensor(DType::kF32, {4, 10}, 1));
  CHECK(input_error(folder, "large.npy") ==
        "error: input 'scores' is float32[4,10]; the bundle was compiled for float32[3,10]\n");
}

TEST_CASE("files that are no tensors are refused") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "text.npy") << "hello";
  CHECK(input_error(folder, "text.npy") ==
        "error: cannot read 'text.npy': it is not a .npy file\n");
  std::ofstream(folder.path() / "text.pb") << "hello";
  CHECK(input_error(folder, "text.pb") == "error: 'text.pb' is not a TensorProto file\n");
  write_npy(folder.path() / "cut.npy", SoftmaxModel::scores());
  std::filesystem::resize_file(folder.path() / "cut.npy",
                               std::filesystem::file_size(folder.path() / "cut.npy") - 8);
  CHECK(input_error(folder, "cut.npy") ==
        "error: cannot read 'cut.npy': 112 bytes of data, expected 120\n");
  CHECK(input_error(folder, "gone.npy") == "error: cannot read 'gone.npy': no such file\n");
}

TEST_CASE("inputs that are missing or misnamed are named") {
  const TemporaryFolder folder;
  const std::string npy = (folder.path() / "in.npy").string();
  write_npy(npy, SoftmaxModel::scores());
  const StitchcRun missing = run_stitchc(command({"-o", (folder.path() / "r").string()}));
  CHECK(missing.exit_code == 1);
  CHECK(missing.err == "error: input 'scores' is missing\nhelp: pass --input scores=FILE.npy\n");
  const StitchcRun misnamed =
      run_stitchc(command({"--input", "score=" + npy, "-o", (folder.path() / "r").string()}));
  CHECK(misnamed.exit_code == 1);
  CHECK(misnamed.err ==
        "error: the model has no input 'score'; it has scores\nhelp: did you mean 'scores'?\n");
}

TEST_CASE("a device that does not exist and a folder that is no bundle are the user's to correct") {
  for (const char* device : {"emu", "gpu:", "gpu:x", "gpu:99999999999999", "gpu:-1"}) {
    const StitchcRun run = run_stitchc({"run", softmax_bundle(), "--device", device, "-o", "r"});
    CHECK(run.exit_code == 1);
    CHECK(run.err == std::string("error: --device ") + device +
                         ": expected gpu, gpu:NUMBER, emulator or emulator:sm_XX\n");
  }
  const StitchcRun device =
      run_stitchc({"run", softmax_bundle(), "--device", "emulator:sm_81", "-o", "r"});
  CHECK(device.exit_code == 1);
  CHECK(device.err.find("error: there is no device model for the architecture \"sm_81\"\n") == 0);
  const StitchcRun folder = run_stitchc({"run", "/", "--device", "emulator", "-o", "r"});
  CHECK(folder.exit_code == 1);
  CHECK(folder.err == "error: '/' is no bundle: no manifest.json of stitchc in it\n");
}

TEST_CASE("a device that the bundle holds no image for is a matter of the device") {
  const StitchcRun run =
      run_stitchc({"run", softmax_bundle(), "--device", "emulator:sm_75", "-o", "r"});
  CHECK(run.exit_code == 2);
  CHECK(run.err.find("error: no host image for this device: bundle holds sm_80") == 0);
}

TEST_CASE("outputs whose names give the same file do not overwrite each other") {
  const TemporaryFolder folder;
  ModelBuilder model;
  model.input("x y/\"*/\n$(z)", DType::kF32, {"2"})
      .node("Neg", {"x y/\"*/\n$(z)"}, {"a/b"}, {}, {.name = "*/ #error \\"})
      .node("Abs", {"a/b"}, {"a_b"}, {}, {.name = "?\?/\n"})
      .node("Add", {"a_b", "a_b"}, {"../a"})
      .output("a/b")
      .output("a_b")
      .output("../a");
  const std::string file = model.save(folder.path() / "model.onnx").string();
  const std::string bundle = (folder.path() / "bundle").string();
  const StitchcRun compiled =
      run_stitchc({"compile", file, "-o", bundle, "--arch", "sm_80,host", "--fusion", "none"});
  INFO(compiled.err);
  REQUIRE(compiled.exit_code == 0);
  const std::string npy = (folder.path() / "x.npy").string();
  write_npy(npy, f32({2}, {3, -4}));
  const std::string results = (folder.path() / "results").string();
  const StitchcRun run = run_stitchc(
      {"run", bundle, "--device", "emulator", "-o", results, "--input", "x y/\"*/\n$(z)=" + npy});
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  CHECK(reals(read_npy(results + "/a_b.npy")) == std::vector<double>{-3, 4});
  CHECK(reals(read_npy(results + "/a_b_1.npy")) == std::vector<double>{3, 4});
  CHECK(reals(read_npy(results + "/output.npy")) == std::vector<double>{6, 8});
}

}  // namespace stitch
