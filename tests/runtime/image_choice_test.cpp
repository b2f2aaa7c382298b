#include "runtime/image_choice.h"

#include "runtime/launcher_error.h"
#include "sample_program.h"
#include "support/catch.h"

namespace stitch {
namespace {

using namespace runtime;

Device device(std::uint32_t architecture, bool emulated = false) {
  Device device;
  device.name = emulated ? "stitchc emulator" : "some GPU";
  device.architecture = architecture;
  device.emulated = emulated;
  return device;
}

// "sm_80 cubin", or the error.
std::string choice(const LaunchProgram& program, const Device& on) {
  try {
    const ImageChoice choice = choose_image(program, on);
    const char* kinds[] = {" cubin", " PTX", " host"};
    return architecture_name(choice.program->architecture) +
           kinds[static_cast<std::size_t>(choice.kind)];
  } catch (const LauncherError& error) {
    CHECK(error.status() == Status::kNoImage);
    return error.what();
  }
}

}  // namespace

TEST_CASE("the best image for a device") {
  // Cubins sm_80 and sm_90, PTX of sm_80.
  const LaunchProgram program = sample_program();
  CHECK(choice(program, device(80)) == "sm_80 cubin");
  CHECK(choice(program, device(89)) == "sm_80 cubin");
  CHECK(choice(program, device(90)) == "sm_90 cubin");
  CHECK(choice(program, device(100)) == "sm_80 PTX");
}

TEST_CASE("an image of a higher minor version is never chosen") {
  LaunchProgram program = sample_program();
  program.architectures[0].architecture = 86;
  program.architectures[0].images.resize(1);
  CHECK(choice(program, device(80)) ==
        "no GPU image for this device: bundle holds sm_86, sm_90; the device is sm_80 (some GPU)\n"
        "help: compile with --arch sm_80,sm_86,sm_90");
}

TEST_CASE("an image kind counts only when every unit has it") {
  LaunchProgram program = sample_program();
  program.architectures[0].unit_count = 2;
  CHECK_THAT(choice(program, device(80)), Catch::StartsWith("no GPU image"));
  program.architectures[0].images.push_back({ImageKind::kCubin, 1, 0, 8});
  CHECK(choice(program, device(80)) == "sm_80 cubin");
}

TEST_CASE("the emulated device takes host images only") {
  LaunchProgram program = sample_program();
  CHECK(choice(program, device(80, true)) ==
        "no host image for this device: bundle holds none; the device is sm_80 (stitchc emulator)\n"
        "help: compile with --arch sm_80,sm_90,host");
  program.architectures[0].images.push_back({ImageKind::kHost, 0, 0, 8});
  CHECK(choice(program, device(80, true)) == "sm_80 host");
  CHECK(choice(program, device(90, true)) == "sm_80 host");
  program.architectures[1].images.push_back({ImageKind::kHost, 0, 0, 8});
  CHECK(choice(program, device(90, true)) == "sm_90 host");
}

}  // namespace stitch
