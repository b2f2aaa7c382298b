// stitchc inspect: the table, one kernel, its source, and the manifest.
#include <nlohmann/json.hpp>

#include "sample_models.h"
#include "stitchc_run.h"
#include "support/catch.h"

namespace stitch {

TEST_CASE("inspect shows each kernel and the totals") {
  const StitchcRun run = run_stitchc({"inspect", softmax_bundle()});
  CHECK(run.exit_code == 0);
  CHECK(run.out.find("kernel ") == 0);
  CHECK(run.out.find("\nk00_") != std::string::npos);
  CHECK(run.out.find("\n1 kernels, 0 contractions; 240 B through global memory, 1.00 of the "
                     "minimum") != std::string::npos);
}

TEST_CASE("inspect --source prints the CUDA text of the kernel that a beginning names") {
  const StitchcRun run = run_stitchc({"inspect", softmax_bundle(), "--source", "k00"});
  CHECK(run.exit_code == 0);
  CHECK(run.out.find("// kernel   k00_") == 0);
  CHECK(run.out.find("__global__") != std::string::npos);
  CHECK(run.out.find("stitch_exp(") != std::string::npos);
}

TEST_CASE("inspect --kernel names the nodes of the model in it") {
  const StitchcRun run = run_stitchc({"inspect", softmax_bundle(), "--kernel", "k00"});
  CHECK(run.exit_code == 0);
  CHECK(run.out.find(": 2 ONNX nodes in 1 launch\n  scale\n  softmax\n") != std::string::npos);
  CHECK(run.out.find("\nregisters    ") != std::string::npos);
}

TEST_CASE("inspect --json is the manifest") {
  const StitchcRun run = run_stitchc({"inspect", softmax_bundle(), "--json"});
  CHECK(run.exit_code == 0);
  const auto json = nlohmann::json::parse(run.out);
  CHECK(json["inputs"][0]["name"] == "scores");
  CHECK(json["inputs"][0]["dims"] == std::vector<int>{3, 10});
}

TEST_CASE("inspect names what is nearest to a kernel or architecture that is not there") {
  const StitchcRun table = run_stitchc({"inspect", softmax_bundle()});
  const std::string name = table.out.substr(table.out.find("\nk00_") + 1, 11);
  const StitchcRun kernel =
      run_stitchc({"inspect", softmax_bundle(), "--source", "k00_mul_sofmax"});
  CHECK(kernel.exit_code == 1);
  CHECK(kernel.out == "");
  CHECK(kernel.err.find("error: the bundle has no kernel 'k00_mul_sofmax'\nhelp: did you mean '" +
                        name.substr(0, 4)) == 0);

  const StitchcRun arch = run_stitchc({"inspect", softmax_bundle(), "--arch", "sm_90"});
  CHECK(arch.exit_code == 1);
  CHECK(arch.err == "error: the bundle has no architecture 'sm_90'; it holds sm_80\n");

  const StitchcRun folder = run_stitchc({"inspect", "/"});
  CHECK(folder.exit_code == 1);
  CHECK(folder.err == "error: '/' is no bundle: no manifest.json of stitchc in it\n");
}

}  // namespace stitch
