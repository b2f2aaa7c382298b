// A written bundle runs on the emulated driver through its own library.
#include <cstring>
#include <span>

#include "emit_cuda/bundle/write_bundle.h"
#include "emulator/host_image.h"
#include "runtime/launcher_error.h"
#include "runtime/runner/device_buffer.h"
#include "runtime/runner/loaded_bundle.h"
#include "sample_bundle.h"
#include "support/catch.h"
#include "temporary_folder.h"

namespace stitch {
namespace {

std::vector<std::byte> sample_image() {
  HostImageOptions options;
  options.cuda_include_folder = STITCH_CUDA_INCLUDE_DIR;
  const SourceText unit = {"sample.cu", sample_source()};
  return build_host_image(std::span(&unit, 1), options);
}

runtime::RunnerOptions on_emulator() {
  runtime::RunnerOptions options;
  options.driver_file = STITCH_EMULATED_DRIVER;
  options.emulator.check = true;
  return options;
}

std::vector<float> sample_input() {
  std::vector<float> x;
  for (int i = 0; i < kSampleRows * kSampleColumns; ++i) {
    x.push_back(static_cast<float>(i % 37) - 11.0F);
  }
  return x;
}

std::vector<float> as_floats(const std::vector<std::byte>& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

std::string texts(const std::vector<runtime::EmulatorReport>& reports) {
  std::string text;
  for (const auto& report : reports) text += report.text + "\n";
  return text;
}

}  // namespace

TEST_CASE("a bundle computes on the emulated driver what its kernels say") {
  const TemporaryFolder folder;
  const SampleBundle sample = make_sample("sample", runtime::ImageKind::kHost, sample_image());
  const BundleSummary summary = write_bundle(sample.contents, folder.path() / "out");
  REQUIRE(summary.libraries_built);

  runtime::LoadedBundle bundle(folder.path() / "out", on_emulator());
  CHECK(bundle.info().name == "sample");
  CHECK(bundle.info().emulated);
  CHECK(bundle.info().architecture == 80);
  CHECK(bundle.info().step_count == 2);
  REQUIRE(bundle.inputs().size() == 1);
  CHECK(bundle.inputs()[0].name == "x*/ \"in\"");
  REQUIRE(bundle.outputs().size() == 2);
  CHECK(bundle.outputs()[1].dims == std::vector<std::int64_t>{kSampleRows});

  const std::vector<float> x = sample_input();
  const SampleResult expected = sample_result(x, sample.bias);
  const auto outputs = bundle.run({std::as_bytes(std::span(x))});
  CHECK(as_floats(outputs.at(0)) == expected.y);
  CHECK(as_floats(outputs.at(1)) == expected.sums);
  CHECK(texts(bundle.reports()) == "");

  SECTION("a captured graph replays to the same") {
    const auto replayed = bundle.run_captured({std::as_bytes(std::span(x))}, 3);
    CHECK(as_floats(replayed.at(1)) == expected.sums);
  }
  SECTION("an input of the wrong size is refused by name") {
    REQUIRE_THROWS_WITH(bundle.run({std::as_bytes(std::span(x).first(3))}),
                        "input 'x*/ \"in\"' has 1280 bytes, given were 12");
  }
  SECTION("every step is timed under its kernel's name") {
    const auto times = bundle.time_steps();
    REQUIRE(times.size() == 2);
    CHECK(times[0].kernel == "k00_scale_bias_relu");
    CHECK(times[0].nodes == std::vector<std::string>{"/scale/Mul", "/bias/Add", "/Relu"});
    CHECK(times[1].kernel == "k01_row_sum");
  }
}

TEST_CASE("a kernel that leaves its value in the workspace is reported") {
  const TemporaryFolder folder;
  SampleBundle sample = make_sample("sample", runtime::ImageKind::kHost, sample_image());
  for (auto& architecture : sample.contents.program.architectures) {
    auto& launch = std::get<runtime::KernelLaunch>(architecture.items[1].steps[0]);
    std::get<runtime::BufferRef>(launch.arguments[1]).bytes -= sizeof(float);
  }
  write_bundle(sample.contents, folder.path() / "out");
  runtime::LoadedBundle bundle(folder.path() / "out", on_emulator());
  const std::vector<float> x = sample_input();
  // Like a GPU, the emulator ends a launch that leaves its memory; the report says where.
  CHECK_THROWS_AS(bundle.run({std::as_bytes(std::span(x))}), runtime::LauncherError);
  REQUIRE(bundle.reports().size() >= 1);
  CHECK(bundle.reports()[0].kind == "out of bounds");
  CHECK(bundle.reports()[0].kernel == "k01_row_sum");
}

TEST_CASE("device memory that nothing freed is reported when the bundle is closed") {
  const TemporaryFolder folder;
  const SampleBundle sample = make_sample("sample", runtime::ImageKind::kHost, sample_image());
  write_bundle(sample.contents, folder.path() / "out");
  const auto open_and_close = [&] { runtime::LoadedBundle(folder.path() / "out", on_emulator()); };
  open_and_close();
  CHECK(texts(runtime::leaked_memory(on_emulator())) == "");

  const runtime::Driver driver = runtime::Driver::open(STITCH_EMULATED_DRIVER);
  runtime::CUcontext context = nullptr;
  REQUIRE(driver.primary_context_retain(&context, 0) == 0);
  {
    const runtime::CurrentContext current(driver, context);
    const runtime::DeviceBuffer forgotten(driver, 320, "a seeded leak");
    open_and_close();
    const auto leaks = runtime::leaked_memory(on_emulator());
    REQUIRE(leaks.size() == 1);
    CHECK(leaks[0].kind == "leak");
    CHECK_THAT(leaks[0].text, Catch::Contains("320 bytes") && Catch::Contains("was never freed"));
  }
  driver.primary_context_release(0);
  CHECK(texts(runtime::leaked_memory(on_emulator())) == "");
}

TEST_CASE("a bundle without host images says so on the emulated driver") {
  const TemporaryFolder folder;
  const SampleBundle sample =
      make_sample("sample", runtime::ImageKind::kCubin, std::vector<std::byte>(64));
  write_bundle(sample.contents, folder.path() / "out");
  REQUIRE_THROWS_WITH(
      runtime::LoadedBundle(folder.path() / "out", on_emulator()),
      Catch::StartsWith("no host image for this device: bundle holds none; the device is sm_80 "
                        "(stitchc emulator") &&
          Catch::EndsWith(")\nhelp: compile with --arch sm_80,sm_90,host"));
}

}  // namespace stitch
