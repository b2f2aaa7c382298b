// bench/measured_times on the emulator's clock: kernels are matched, and figures are consistent.
#include <nlohmann/json.hpp>

#include "calibrate/prediction_error.h"
#include "graph/subprocess.h"
#include "support/catch.h"

using namespace stitch;
using Json = nlohmann::json;

TEST_CASE("measured_times finds a time for every kernel of a model") {
  const std::string model = STITCH_SOURCE_DIR "/models/bert_small";
  const ProcessResult run = run_process({MEASURED_TIMES_PROGRAM, "--device", "emulator:sm_80",
                                         "--repetitions", "3", "--json", model});
  INFO(run.output);
  REQUIRE(run.exit_code == 0);
  const Json json = Json::parse(run.output);
  CHECK(json["clock"] == "emulator");
  CHECK(json["device"] == "a100");
  CHECK(json["calibrated"] == false);
  const Json& times = json["models"].front();
  CHECK(times["kernels"].size() == 10);
  CHECK(times["contractions"] == 17);
  CHECK(times["unmatched"].empty());
  std::vector<TimedKernel> kernels;
  for (const Json& kernel : times["kernels"]) {
    INFO(kernel);
    kernels.push_back({kernel["predicted_us"], kernel["measured_us"]});
    CHECK(kernels.back().predicted_us > 0);
    CHECK(kernels.back().measured_us > 0);
  }
  const PredictionError error = prediction_error(kernels);
  CHECK(times["rank_correlation"] == Approx(error.rank_correlation));
  CHECK(times["geomean_error"] == Approx(error.geomean_error));
}
