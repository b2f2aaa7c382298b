// What the launcher says when something is wrong: whole messages.
#include <cstdlib>
#include <fstream>
#include <thread>

#include "sample_program.h"
#include "support/catch.h"

namespace stitch {
namespace {

// The failure of creating this model.
std::string failure_of(const runtime::LaunchProgram& program, const runtime::AbiOptions& options) {
  const MockBundle bundle(program);
  const MockModel model(bundle, options);
  CHECK(model.status() != 0);
  CHECK(model.model() == nullptr);
  return last_failure();
}

}  // namespace

TEST_CASE("a machine without a driver") {
  runtime::AbiOptions options = mock_options();
  options.driver_file = "/nowhere/libcuda.so.1";
  CHECK(failure_of(sample_program(), options) ==
        "2: cannot open the CUDA driver '/nowhere/libcuda.so.1': /nowhere/libcuda.so.1: cannot "
        "open shared object file: No such file or directory\nhelp: install the NVIDIA driver, or "
        "set STITCH_CUDA_DRIVER to the file of another driver library");
}

TEST_CASE("the environment names the driver when the options do not") {
  setenv("STITCH_CUDA_DRIVER", "/elsewhere/libcuda.so", 1);
  runtime::AbiOptions options = mock_options();
  options.driver_file = nullptr;
  CHECK_THAT(failure_of(sample_program(), options),
             Catch::StartsWith("2: cannot open the CUDA driver '/elsewhere/libcuda.so': "));
  unsetenv("STITCH_CUDA_DRIVER");
}

TEST_CASE("a driver that lacks a function") {
  runtime::AbiOptions options = mock_options();
  options.driver_file = STITCH_INCOMPLETE_DRIVER;
  CHECK(failure_of(sample_program(), options) ==
        std::string("2: the CUDA driver '") + STITCH_INCOMPLETE_DRIVER +
            "' has no function 'cuLaunchKernelEx'\nhelp: a driver of CUDA 11.8 or later is needed");
}

TEST_CASE("a function that only one call needs is missed there") {
  fresh_mock();
  const MockBundle bundle(sample_program());
  MockModel model(bundle, mock_options());
  REQUIRE(model.status() == 0);
  SampleBuffers buffers;
  const auto ignore = [](const runtime::AbiStepTiming*, void*) {};
  REQUIRE(runtime::enqueue_timed(model.context(), nullptr, buffers.inputs, buffers.outputs,
                                 buffers.workspace, sizeof(buffers.workspace), ignore,
                                 nullptr) == 2);
  CHECK(last_failure() ==
        std::string("2: the CUDA driver '") + STITCH_MOCK_DRIVER +
            "' has no function 'cuEventCreate'\nhelp: a driver of CUDA 11.8 or later is needed");
}

TEST_CASE("a device that is not there") {
  fresh_mock();
  runtime::AbiOptions options = mock_options();
  options.device = 3;
  CHECK(failure_of(sample_program(), options) ==
        std::string("3: no device 3: the driver '") + STITCH_MOCK_DRIVER + "' has 1");
}

TEST_CASE("a driver that does not start") {
  MockState& mock = fresh_mock();
  mock.failing_call = "cuInit";
  mock.failing_code = 100;
  CHECK(failure_of(sample_program(), mock_options()) ==
        std::string("5: starting the CUDA driver '") + STITCH_MOCK_DRIVER +
            "': cuInit failed with unknown error (100)");
}

TEST_CASE("a device that the bundle has no code for") {
  MockState& mock = fresh_mock();
  mock.device_name = "Tesla T4";
  mock.major = 7;
  mock.minor = 5;
  CHECK(failure_of(sample_program(), mock_options()) ==
        "4: no GPU image for this device: bundle holds sm_80, sm_90, sm_80 (PTX); the device is "
        "sm_75 (Tesla T4)\nhelp: compile with --arch sm_75,sm_80,sm_90");
}

TEST_CASE("an image that the driver refuses") {
  MockState& mock = fresh_mock();
  mock.failing_call = "cuModuleLoadData";
  mock.failing_code = 200;
  CHECK(failure_of(sample_program(), mock_options()) ==
        "5: loading unit 0 of sm_80: cuModuleLoadData failed with unknown error (200)");
}

TEST_CASE("a kernel that is not in its image") {
  MockState& mock = fresh_mock();
  mock.failing_call = "cuModuleGetFunction";
  mock.failing_code = 500;
  CHECK(failure_of(sample_program(), mock_options()) ==
        "5: loading kernel 'first' of sm_80: cuModuleGetFunction failed with unknown error (500)");
  CHECK(mock.live_modules == 0);
  CHECK(mock.live_contexts == 0);
}

TEST_CASE("weights that are not where they should be") {
  MockState& mock = fresh_mock();
  runtime::LaunchProgram program = sample_program();
  program.weights_bytes = 4096;
  program.weights_segments = {{0, 256}};
  program.weights_hash = "aaaa";
  runtime::AbiOptions options = mock_options();

  SECTION("no file in the folder given") {
    options.bundle_dir = "/nowhere";
    CHECK(failure_of(program, options) ==
          "8: cannot read '/nowhere/weights.bin': No such file or directory");
  }
  SECTION("device memory that is too small") {
    options.weights = &program;
    options.weights_bytes = 100;
    CHECK(failure_of(program, options) ==
          "8: the weights given hold 100 bytes, the model's have 4096");
  }
  SECTION("device memory of another model") {
    options.weights = &program;
    options.weights_bytes = 4096;
    options.weights_hash = "bbbb";
    CHECK(failure_of(program, options) ==
          "8: the weights given have the hash bbbb, the model's have aaaa");
  }
  SECTION("a device without room for them") {
    mock.failing_call = "cuMemAlloc";
    mock.failing_code = 2;
    options.bundle_dir = STITCH_BINARY_DIR;
    std::ofstream(std::string(STITCH_BINARY_DIR) + "/weights.bin") << std::string(4096, 'w');
    CHECK(failure_of(program, options) ==
          "5: uploading 4096 bytes of weights: cuMemAlloc failed with CUDA_ERROR_OUT_OF_MEMORY "
          "(2)");
    options.flags = runtime::kFlagVerifyWeights;
    mock.failing_call.clear();
    CHECK_THAT(failure_of(program, options), Catch::EndsWith("the model's weights have aaaa"));
  }
  CHECK(mock.live_modules == 0);
  CHECK(mock.live_allocations == 0);
}

TEST_CASE("arguments that cannot be used are named before anything is launched") {
  MockState& mock = fresh_mock();
  const MockBundle bundle(sample_program());
  MockModel model(bundle, mock_options());
  SampleBuffers buffers;
  const auto enqueue = [&](const void* const* inputs, void* workspace, std::size_t bytes) {
    CHECK(runtime::enqueue(model.context(), nullptr, inputs, buffers.outputs, workspace, bytes) ==
          1);
    return last_failure();
  };
  CHECK(enqueue(buffers.inputs, buffers.workspace, 255) ==
        "1: the workspace has 255 bytes, 256 are needed");
  CHECK(enqueue(buffers.inputs, nullptr, 256) == "1: the workspace is null");
  CHECK(enqueue(buffers.inputs, buffers.workspace + 16, 256) ==
        "1: the workspace is not aligned to 256 bytes");
  CHECK(enqueue(nullptr, buffers.workspace, 256) == "1: inputs is null");
  const void* null_input[1] = {nullptr};
  CHECK(enqueue(null_input, buffers.workspace, 256) == "1: input 0 ('x') is null");
  const void* shifted[1] = {buffers.input + 1};
  CHECK(enqueue(shifted, buffers.workspace, 256) == "1: input 0 ('x') is not aligned to 16 bytes");
  CHECK(runtime::enqueue(nullptr, nullptr, nullptr, nullptr, nullptr, 0) == 1);
  CHECK(last_failure() == "1: context is null");
  CHECK(mock.launches.empty());
  CHECK(mock.memsets == 0);
}

TEST_CASE("questions about the model are checked") {
  fresh_mock();
  const MockBundle bundle(sample_program());
  const MockModel model(bundle, mock_options());
  runtime::AbiTensorInfo info = {};
  CHECK(runtime::input_info(model.model(), 0, &info) == 6);
  CHECK(last_failure() ==
        "6: info has struct_size 0, this library knows 40\nhelp: set struct_size to sizeof the "
        "struct and compile with the header of this bundle");
  info.struct_size = sizeof(info);
  CHECK(runtime::input_info(model.model(), 1, &info) == 1);
  CHECK(last_failure() == "1: no input 1: the model has 1");

  const std::int64_t good[2] = {4, 16};
  const std::int64_t bad[2] = {4, 17};
  const std::int64_t* dims[1] = {good};
  std::size_t bytes = 0;
  CHECK(runtime::workspace_size(model.model(), dims, &bytes, nullptr) == 0);
  CHECK(bytes == 256);
  dims[0] = bad;
  CHECK(runtime::workspace_size(model.model(), dims, &bytes, nullptr) == 1);
  CHECK(last_failure() == "1: input 'x' has 17 at dim 1, the model was compiled for 16");

  std::int64_t output[1] = {};
  std::size_t rank = 0;
  CHECK(runtime::output_dims(model.model(), nullptr, 0, output, 0, &rank) == 1);
  CHECK(last_failure() == "1: output 'y' has 1 dims, there is room for 0");
  CHECK(runtime::output_dims(model.model(), nullptr, 0, output, 1, &rank) == 0);
  CHECK(output[0] == 64);
  CHECK(rank == 1);
}

TEST_CASE("options of another version of the header") {
  fresh_mock();
  runtime::AbiOptions options = mock_options();
  options.struct_size = 1000;
  CHECK(failure_of(sample_program(), options) ==
        "6: options has struct_size 1000, this library knows 72\nhelp: set struct_size to sizeof "
        "the struct and compile with the header of this bundle");
  options = mock_options();
  options.flags = 128;
  CHECK(failure_of(sample_program(), options) == "1: options have unknown flags: 128");
}

TEST_CASE("a failure belongs to its thread") {
  CHECK(runtime::enqueue(nullptr, nullptr, nullptr, nullptr, nullptr, 0) == 1);
  std::string other = "unset";
  std::thread([&other] { other = last_failure(); }).join();
  CHECK(other == "0: ");
  CHECK(last_failure() == "1: context is null");
}

}  // namespace stitch
