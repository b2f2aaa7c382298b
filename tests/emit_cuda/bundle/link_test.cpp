// Bundles in a user's program: three models linked statically, and a bundle built from its sources.
#include <cstdlib>
#include <fstream>
#include <span>

#include "emit_cuda/bundle/host_compiler.h"
#include "emit_cuda/bundle/write_bundle.h"
#include "emulator/host_image.h"
#include "graph/subprocess.h"
#include "sample_bundle.h"
#include "support/catch.h"
#include "temporary_folder.h"

namespace stitch {
namespace {

namespace fs = std::filesystem;

// A C program that runs each model on x = 1 everywhere and prints its first row sum. Memory comes
// from the driver, as it would in a user's program.
std::string client_text(const std::vector<std::string>& models) {
  std::string text = R"(#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
)";
  for (const std::string& model : models) text += "#include \"" + model + ".h\"\n";
  text += R"(
static int (*allocate)(unsigned long long*, size_t);
static int (*to_device)(unsigned long long, const void*, size_t);
static int (*to_host)(void*, unsigned long long, size_t);
static void* memory(size_t bytes) {
  unsigned long long address = 0;
  if (allocate(&address, bytes) != 0) exit(4);
  return (void*)address;
}
)";
  for (const std::string& model : models) {
    text += "static void run_" + model + "(const char* bundle) {\n  " + model +
            "_options options = {sizeof(options), 0, 0, bundle};\n  " + model +
            "_model* model;\n  " + model +
            "_context* context;\n  size_t bytes, alignment;\n  if (" + model +
            "_create(&options, &model) != 0 || " + model +
            "_context_create(model, &context) != 0) {\n    puts(" + model +
            "_last_error(NULL));\n    exit(3);\n  }\n  " + model +
            "_workspace_size(model, NULL, &bytes, &alignment);\n" + R"(
  float x[320], sums[5];
  for (int i = 0; i < 320; ++i) x[i] = 1.0f;
  const void* inputs[1] = {memory(sizeof x)};
  void* outputs[2] = {memory(sizeof x), memory(sizeof sums)};
  void* workspace = memory(bytes);
  to_device((unsigned long long)inputs[0], x, sizeof x);
)" + "  if (" +
            model + "_enqueue(context, NULL, inputs, outputs, workspace, bytes) != 0) exit(5);\n" +
            "  to_host(sums, (unsigned long long)outputs[1], sizeof sums);\n  printf(\"" + model +
            " %g\\n\", sums[0]);\n  " + model + "_context_destroy(context);\n  " + model +
            "_destroy(model);\n}\n";
  }
  text += R"(
int main(int argc, char** argv) {
  void* driver = dlopen(getenv("STITCH_CUDA_DRIVER"), RTLD_NOW);
  void* context;
  if (argc < 2 || driver == NULL) return 2;
  allocate = (int (*)(unsigned long long*, size_t))dlsym(driver, "cuMemAlloc_v2");
  to_device = (int (*)(unsigned long long, const void*, size_t))dlsym(driver, "cuMemcpyHtoD_v2");
  to_host = (int (*)(void*, unsigned long long, size_t))dlsym(driver, "cuMemcpyDtoH_v2");
  ((int (*)(unsigned))dlsym(driver, "cuInit"))(0);
  ((int (*)(void**, int))dlsym(driver, "cuDevicePrimaryCtxRetain"))(&context, 0);
  ((int (*)(void*))dlsym(driver, "cuCtxSetCurrent"))(context);
)";
  for (std::size_t number = 0; number < models.size(); ++number) {
    text += "  run_" + models[number] + "(argv[" + std::to_string(number + 1) + "]);\n";
  }
  return text + "  return 0;\n}\n";
}

std::vector<std::byte> sample_image() {
  HostImageOptions options;
  options.cuda_include_folder = STITCH_CUDA_INCLUDE_DIR;
  options.checked = false;
  const SourceText unit = {"sample.cu", sample_source()};
  return build_host_image(std::span(&unit, 1), options);
}

void expect_success(const ProcessResult& result) {
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
}

// The sum over columns of relu(2 + factor * (0.25 column - 8)).
std::string expected_line(const std::string& model, float factor) {
  float sum = 0;
  for (int column = 0; column < kSampleColumns; ++column) {
    const float value = 2.0F + factor * (0.25F * static_cast<float>(column) - 8.0F);
    sum += value > 0 ? value : 0;
  }
  char text[64];
  std::snprintf(text, sizeof(text), "%s %g\n", model.c_str(), static_cast<double>(sum));
  return text;
}

}  // namespace

TEST_CASE("three models link statically into one C program") {
  if (!find_host_tools()) {
    WARN("no host compiler: skipped");
    return;
  }
  const TemporaryFolder folder;
  const std::vector<std::byte> image = sample_image();
  const std::vector<std::string> models = {"alpha", "beta", "gamma"};
  std::string expected;
  float factor = 1;
  for (const std::string& model : models) {
    SampleBundle sample = make_sample(model, runtime::ImageKind::kHost, image);
    for (float& bias : sample.bias) bias *= factor;  // each has weights of its own
    write_bundle(sample.contents, folder.path() / model);
    expected += expected_line(model, factor);
    factor *= 0.5F;
  }
  std::ofstream(folder.path() / "client.c") << client_text(models);
  expect_success(
      run_process({"/usr/bin/env", "cc", "-std=c11", "-Wall", "-Werror", "-Wno-int-to-pointer-cast",
                   "client.c", "-Ialpha/include", "-Ibeta/include", "-Igamma/include",
                   "alpha/lib/libalpha.a", "beta/lib/libbeta.a", "gamma/lib/libgamma.a", "-lstdc++",
                   "-ldl", "-lpthread", "-o", "client"},
                  folder.path()));
  const ProcessResult run =
      run_process({"/usr/bin/env", std::string("STITCH_CUDA_DRIVER=") + STITCH_EMULATED_DRIVER,
                   "./client", "alpha", "beta", "gamma"},
                  folder.path());
  CHECK(run.output == expected);
  CHECK(run.exit_code == 0);
}

TEST_CASE("a bundle builds from its own sources and finds itself by CMake") {
  const TemporaryFolder folder;
  const SampleBundle sample = make_sample("sample", runtime::ImageKind::kHost, sample_image());
  write_bundle(sample.contents, folder.path() / "sample", {.build_libraries = false});
  std::ofstream(folder.path() / "client.c") << client_text({"sample"});
  std::ofstream(folder.path() / "CMakeLists.txt")
      << "cmake_minimum_required(VERSION 3.16)\nproject(client C CXX)\nadd_subdirectory(sample)\n"
         "add_executable(client client.c)\ntarget_link_libraries(client sample)\n";
  // All sources in a few units: what is tested is that they build, not how fast.
  expect_success(run_process({STITCH_CMAKE, "-S", ".", "-B", "build", "-G", STITCH_CMAKE_GENERATOR,
                              "-DCMAKE_UNITY_BUILD=ON"},
                             folder.path()));
  expect_success(
      run_process({STITCH_CMAKE, "--build", "build", "--target", "client"}, folder.path()));
  const ProcessResult run =
      run_process({"/usr/bin/env", std::string("STITCH_CUDA_DRIVER=") + STITCH_EMULATED_DRIVER,
                   "build/client", "sample"},
                  folder.path());
  CHECK(run.output == expected_line("sample", 1));
}

}  // namespace stitch
