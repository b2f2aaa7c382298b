#include "planner/device/calibration.h"

#include <string>

#include "graph/error.h"
#include "graph/text_form.h"
#include "planner/make_plan.h"
#include "support/catch.h"

using namespace stitch;

namespace {

const std::string kHead =
    "stitchc calibration 1\n"
    "device a100\n"
    "architecture sm_80\n"
    "measured-on \"NVIDIA A100-SXM4-80GB\"\n"
    "clock device\n"
    "repetitions 31\n";

const std::string kLaunch = "value launch_us = 2.5 us measured spread 0.01\n";

std::string refusal(const std::string& text) {
  try {
    parse_calibration(text, "a.calibration");
  } catch (const ModelError& error) {
    return error.what();
  }
  return "accepted";
}

// Four long rows: worth splitting where a ticket is cheap.
const char* const kLongRows = R"(graph "rows" {
  input %x "x" : f32[4,262144]
  %y = reduce(%x) {kind=sum, axes=[1]} : f32[4]
  output "y" %y
})";

size_t stages_of(const Plan& plan) {
  REQUIRE(plan.steps.size() == 1);
  return std::get<Kernel>(plan.steps.front()).parts.front().stages.size();
}

}  // namespace

TEST_CASE("a calibration is printed and read back") {
  const Calibration calibration =
      parse_calibration(kHead + "# a comment, and an empty line\n\n" + kLaunch +
                            "value cpi_light = 1.98 cycles measured spread 0  # at 1.41 GHz\n"
                            "sample dram_bandwidth 27648 threads = 812.5 GB/s\n",
                        "a.calibration");
  CHECK(calibration.device == "a100");
  CHECK(calibration.architecture == "sm_80");
  CHECK(calibration.measured_on == "NVIDIA A100-SXM4-80GB");
  CHECK(calibration.clock == CalibrationClock::kDevice);
  CHECK(calibration.repetitions == 31);
  REQUIRE(calibration.values.size() == 2);
  CHECK(calibration.values[0].value->name == "launch_us");
  CHECK(calibration.values[0].number == 2.5);
  CHECK(calibration.values[0].spread == 0.01);
  REQUIRE(calibration.samples.size() == 1);
  CHECK(calibration.samples[0].place == 27648);
  const std::string text = print_calibration(calibration);
  CHECK(print_calibration(parse_calibration(text, "again")) == text);
}

TEST_CASE("a calibration replaces the figures that it has and marks them measured") {
  const DeviceModel& shipped = find_device("a100", "");
  const DeviceModel device = calibrated(shipped, parse_calibration(kHead + kLaunch, "file"));
  CHECK(device.launch_us == 2.5);
  CHECK(device.launch_us.source.origin == Origin::kMeasured);
  CHECK(device.barrier_us == shipped.barrier_us);
  CHECK(device.barrier_us.source.origin == shipped.barrier_us.source.origin);
  CHECK(shipped.launch_us == 1.0);
  CHECK_THROWS_AS(calibrated(find_device("h100", ""), parse_calibration(kHead + kLaunch, "file")),
                  InternalError);
}

TEST_CASE("what is no calibration is refused at its line") {
  CHECK(refusal("plan 3\n") ==
        "a.calibration:1: this is no calibration: expected 'stitchc calibration 1'");
  CHECK(refusal("\nstitchc calibration 2\n") ==
        "a.calibration:2: the format is 2, and this stitchc reads 1");
  CHECK(refusal("") == "a.calibration: the calibration has no line 'stitchc calibration 1'");
  CHECK(refusal(kHead) == "a.calibration: the calibration has no line 'value'");
  CHECK(refusal("stitchc calibration 1\ndevice a100\n" + kLaunch) ==
        "a.calibration: the calibration has no line 'architecture'");
  CHECK(refusal(kHead + "lunch 3\n") ==
        "a.calibration:7: 'lunch' begins no line; expected device, architecture, measured-on, "
        "clock, repetitions, value or sample");
  CHECK(refusal(kHead + "device h100\n") == "a.calibration:7: 'device' is given twice");
  CHECK(refusal(kHead + "measured-on \"a\n") == "a.calibration:7: a quoted text has no end");
}

TEST_CASE("a value is refused unless name, unit, mark and number are right") {
  CHECK(refusal(kHead + "value launch = 2.5 us measured spread 0\n")
            .starts_with("a.calibration:7: there is no calibrated value 'launch'\n"
                         "note: known are launch_us, barrier_us,"));
  // A sheet value is not what a calibration measures.
  CHECK(refusal(kHead + "value dram_gbps = 2.5 GB/s measured spread 0\n")
            .starts_with("a.calibration:7: there is no calibrated value 'dram_gbps'"));
  CHECK(refusal(kHead + "value launch_us = 2.5 ms measured spread 0\n") ==
        "a.calibration:7: 'launch_us' is in us, not in 'ms'");
  CHECK(refusal(kHead + "value launch_us = 2.5 us guessed spread 0\n") ==
        "a.calibration:7: 'launch_us' is marked 'guessed': a calibration holds what was measured");
  for (const std::string number : {"0", "-1", "inf", "nan"}) {
    CHECK(refusal(kHead + "value launch_us = " + number + " us measured spread 0\n") ==
          "a.calibration:7: '" + number + "' is not above zero");
  }
  CHECK(refusal(kHead + "value launch_us = 2,5 us measured spread 0\n") ==
        "a.calibration:7: '2,5' is no number");
  CHECK(refusal(kHead + "value launch_us 2.5 us measured\n") ==
        "a.calibration:7: expected 'value NAME = NUMBER UNIT measured spread NUMBER'");
  CHECK(refusal(kHead + kLaunch + kLaunch) == "a.calibration:8: 'launch_us' is given twice");
  CHECK(refusal(kHead + "sample speed 1 threads = 2 GB/s\n") ==
        "a.calibration:7: there is no curve 'speed'");
}

TEST_CASE("a calibration of a device that is not known is refused with those that are") {
  std::string text = kHead + kLaunch;
  text.replace(text.find("a100"), 4, "a200");
  CHECK(refusal(text).starts_with(
      "a.calibration: there is no device model for the target \"a200\"\nnote: known are v100"));
}

TEST_CASE("every shipped figure has a source, and none of them claims to be measured") {
  for (const DeviceModel& device : device_models()) {
    for (const CostValue& value : cost_values()) {
      INFO(device.name << " " << value.name);
      const Figure& figure = device.*value.field;
      CHECK(figure.value > 0);
      CHECK_FALSE(figure.source.text.empty());
      CHECK(figure.source.origin != Origin::kMeasured);
    }
  }
}

TEST_CASE("calibrated costs change the plan that depends on them") {
  const Graph graph = parse_graph(kLongRows);
  const auto plan_with = [&](const std::string& values) {
    PlanOptions options;
    options.device_model =
        calibrated(find_device("a100", ""), parse_calibration(kHead + values, "file"));
    return make_plan(graph, options);
  };
  const auto separation = [](const Plan& plan) {
    return std::get<Kernel>(plan.steps.front()).parts.front().stages.back().before;
  };
  const std::string dear_ticket = "value ticket_us = 900 us measured spread 0\n";
  const std::string dear_barrier = "value barrier_us = 900 us measured spread 0\n";
  CHECK(separation(make_plan(graph, {})) == Separation::kTicket);
  CHECK(separation(plan_with(dear_barrier)) == Separation::kTicket);
  CHECK(separation(plan_with(dear_ticket)) == Separation::kRowBarrier);
  CHECK(stages_of(plan_with(dear_ticket + dear_barrier)) == 1);
}

TEST_CASE("slower instructions of one class slow only kernels that have them") {
  const Graph graph = parse_graph(R"(graph "exp" {
  input %x "x" : f32[4096,4096]
  %y = exp(%x) : f32[4096,4096]
  output "y" %y
})");
  const auto instruction_us = [&](const std::string& value) {
    PlanOptions options;
    if (!value.empty()) {
      options.device_model =
          calibrated(find_device("a100", ""), parse_calibration(kHead + value, "file"));
    }
    const Plan plan = make_plan(graph, options);
    return std::get<Kernel>(plan.steps.front()).estimate.instruction_us;
  };
  const double shipped = instruction_us("");
  // exp is 8 instructions, its load 2.
  CHECK(instruction_us("value cpi_expensive = 3 cycles measured spread 0\n") ==
        Approx(shipped * (3 * 8 + 2) / 10));
  CHECK(instruction_us("value cpi_load = 3 cycles measured spread 0\n") ==
        Approx(shipped * (8 + 3 * 2) / 10));
  CHECK(instruction_us("value cpi_light = 3 cycles measured spread 0\n") == Approx(shipped));
}
