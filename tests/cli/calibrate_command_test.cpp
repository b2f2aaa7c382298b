// stitchc calibrate on the emulator's clock, and --calibration of the commands that plan.
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "planner/device/calibration.h"
#include "sample_models.h"
#include "stitchc_run.h"
#include "support/catch.h"

namespace stitch {

namespace {

using Json = nlohmann::json;

std::string text_of(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

void write(const std::string& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

const std::string kSlowLaunch =
    "stitchc calibration 1\n"
    "device a100\n"
    "architecture sm_80\n"
    "measured-on \"a device\"\n"
    "clock device\n"
    "repetitions 31\n"
    "value launch_us = 40 us measured spread 0.1\n";

}  // namespace

TEST_CASE("calibrate on the emulator writes a file that plan reads") {
  const SoftmaxModel model;
  const std::string file = model.beside("emulated.calibration");
  const StitchcRun run = run_stitchc(
      {"calibrate", "--device", "emulator:sm_80", "--repetitions", "5", "-o", file, "--json"});
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  CHECK(run.err.find("the emulator's clock is the host's") != std::string::npos);
  const Json json = Json::parse(run.out);
  CHECK(json["device"] == "a100");
  CHECK(json["clock"] == "emulator");

  // Each value is measured, or said to be left out.
  const Calibration calibration = parse_calibration(text_of(file), file);
  CHECK(calibration.clock == CalibrationClock::kEmulator);
  CHECK(calibration.repetitions == 5);
  for (const CostValue& value : cost_values()) {
    if (value.kind != CostKind::kCalibrated) continue;
    INFO(value.name);
    const std::string name(value.name);
    const bool left_out = run.err.find(name + " could not be told from zero") != std::string::npos;
    CHECK(json["values"].contains(name) != left_out);
  }
  // Far above what any noise of the host could hide.
  for (const char* name : {"barrier_us", "floor_us", "reduce_us", "cpi_expensive"})
    CHECK(json["values"].at(name)["measured"] > 0);
  CHECK_FALSE(calibration.samples.empty());

  const StitchcRun plan = run_stitchc({"plan", model.file(), "--dim", "batch=3", "--arch",
                                       "sm_80,sm_90", "--calibration", file, "--json"});
  INFO(plan.err);
  REQUIRE(plan.exit_code == 0);
  CHECK(plan.err.find("whose clock says nothing of a GPU") != std::string::npos);
  const Json planned = Json::parse(plan.out);
  const Json& costs = planned["architectures"]["sm_80"]["costs"];
  CHECK(costs["barrier_us"]["origin"] == "measured");
  CHECK(costs["barrier_us"]["value"].get<double>() ==
        Approx(json["values"]["barrier_us"]["measured"].get<double>()).epsilon(1e-4));
  CHECK(costs["dram_gbps"]["origin"] == "literature");
  // The file is of the other device.
  CHECK(planned["architectures"]["sm_90"]["costs"]["barrier_us"]["origin"] == "assumed");
}

TEST_CASE("a calibrated cost is in the predicted times of plan, verify and profile") {
  const SoftmaxModel model;
  const std::string file = model.beside("slow.calibration");
  write(file, kSlowLaunch);
  const auto predicted = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"plan", model.file(), "--dim", "batch=3", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const StitchcRun run = run_stitchc(arguments);
    INFO(run.err);
    REQUIRE(run.exit_code == 0);
    return Json::parse(run.out)["architectures"]["sm_80"]["predicted_us"].get<double>();
  };
  CHECK(predicted({"--calibration", file}) == Approx(predicted({}) + 39));

  const StitchcRun explained =
      run_stitchc({"plan", model.file(), "--dim", "batch=3", "--calibration", file, "--explain"});
  CHECK(explained.out.find("sm_80: costs of a100: 1 measured, 4 literature, 17 assumed\n") !=
        std::string::npos);

  const StitchcRun profile =
      run_stitchc({"profile", model.folder().string(), "--calibration", file, "--json"});
  INFO(profile.err);
  REQUIRE(profile.exit_code == 0);
  CHECK(Json::parse(profile.out)["total"]["predicted_us"] > 40);
  CHECK(run_stitchc({"verify", model.folder().string(), "--calibration", file}).exit_code == 0);
}

TEST_CASE("a calibration that is broken, or of a device that is not planned for, is refused") {
  const SoftmaxModel model;
  const std::string file = model.beside("a.calibration");
  const auto refusal = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"plan",    model.file(),    "--dim",
                                          "batch=3", "--calibration", file};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const StitchcRun run = run_stitchc(arguments);
    CHECK(run.exit_code == 1);
    return without(run.err.substr(run.err.find("error:")), model.root());
  };
  CHECK(refusal({}) == "error: cannot read the calibration 'a.calibration'\n");
  write(file, kSlowLaunch + "value barrier_us = fast us measured spread 0\n");
  CHECK(refusal({}) == "error: a.calibration:8: 'fast' is no number\n");
  write(file, kSlowLaunch);
  CHECK(refusal({"--arch", "sm_90"}) ==
        "error: --calibration a.calibration: it is of a100, and the plan is for h100\n");
}

TEST_CASE("calibrate --show prints every value with its origin") {
  const SoftmaxModel model;
  const std::string file = model.beside("slow.calibration");
  write(file, kSlowLaunch);
  const Json shipped =
      Json::parse(run_stitchc({"calibrate", "--show", "--target", "v100", "--json"}).out);
  CHECK(shipped["device"] == "v100");
  CHECK(shipped["costs"]["barrier_us"]["origin"] == "literature");
  CHECK(shipped["costs"]["barrier_us"]["value"] == 2.6);
  CHECK(shipped["costs"]["launch_us"]["origin"] == "assumed");
  const StitchcRun run = run_stitchc({"calibrate", "--show", "--calibration", file});
  CHECK(run.exit_code == 0);
  CHECK(run.out.find("a100 (sm_80)") != std::string::npos);
  CHECK(run.out.find("measured") != std::string::npos);
  const StitchcRun wrong =
      run_stitchc({"calibrate", "--show", "--target", "h100", "--calibration", file});
  CHECK(wrong.exit_code == 1);
  CHECK(wrong.err.find("is of a100, and --target asks for h100") != std::string::npos);
}

TEST_CASE("calibrate wants a file to write, and reads none then") {
  CHECK(run_stitchc({"calibrate", "--device", "emulator"}).err ==
        "error: calibrate writes a file\nhelp: pass -o FILE, or --show to print what is assumed\n");
  CHECK(run_stitchc({"calibrate", "--device", "emulator", "--calibration", "x", "-o", "y"})
            .err.starts_with("error: --calibration is read by --show only\n"));
}

}  // namespace stitch
