// Host images: what is found in a text, what is refused, and that the bytes depend on nothing else.
#include "emulator/host_image.h"

#include <filesystem>
#include <iostream>

#include "emulated_device.h"
#include "emulator/image_container.h"
#include "emulator/kernel_scan.h"
#include "graph/error.h"
#include "graph/subprocess.h"
#include "kernel_files.h"
#include "support/catch.h"

namespace stitch::test {
namespace {

HostImageOptions options() {
  HostImageOptions options;
  options.device_headers = device_headers();
  options.cuda_include_folder = STITCH_CUDA_INCLUDE_DIR;
  options.cache_folder = std::filesystem::path(STITCH_BINARY_DIR) / "host_image_cache";
  return options;
}

}  // namespace

TEST_CASE("kernels are found with their limits, outside comments") {
  const auto kernels = scan_kernels({"unit.cu", R"(
// extern "C" __global__ void not_a_kernel() {}
/* extern "C" __global__ void nor_this() {} */
extern "C" __global__ void __launch_bounds__(kBlock * (1 + 1), 2)
first(const float* x) {}
extern "C" __global__ void __cluster_dims__(kCluster, 1, 1) __launch_bounds__(512)
second(float* y, int count) {}
extern "C" __global__ void third() {}
)"});
  REQUIRE(kernels.size() == 3);
  CHECK(kernels[0].name == "first");
  CHECK(kernels[0].launch_bounds == "kBlock * (1 + 1), 2");
  CHECK(kernels[1].name == "second");
  CHECK(kernels[1].cluster_dims == "kCluster, 1, 1");
  CHECK(kernels[1].launch_bounds == "512");
  CHECK(kernels[2].launch_bounds.empty());
}

TEST_CASE("a kernel without C linkage is refused") {
  CHECK_THROWS_WITH(scan_kernels({"unit.cu", "__global__ void f() {}"}),
                    "kernel unit unit.cu: a __global__ function is not extern \"C\"");
}

TEST_CASE("two kernels of one name are refused") {
  const SourceText unit{"a.cu", "extern \"C\" __global__ void same() {}"};
  const SourceText other{"b.cu", unit.text};
  const std::vector<SourceText> units = {unit, other};
  CHECK_THROWS_WITH(build_host_image(units, options()),
                    "kernel same is in two units: a.cu and b.cu");
}

TEST_CASE("a missing compiler is named") {
  HostImageOptions missing = options();
  missing.compiler = "no-such-compiler";
  const std::vector<SourceText> units = {{"a.cu", "extern \"C\" __global__ void f() {}"}};
  CHECK_THROWS_AS(build_host_image(units, missing), ModelError);
  CHECK_THROWS_WITH(build_host_image(units, missing),
                    Catch::Contains("'no-such-compiler' is not on PATH"));
}

TEST_CASE(
    "text that does not compile is reported with the compiler's message and the unit's line") {
  const std::vector<SourceText> units = {
      {"broken.cu", "extern \"C\" __global__ void f() {\n  undeclared();\n}"}};
  CHECK_THROWS_AS(build_host_image(units, options()), InternalError);
  CHECK_THROWS_WITH(build_host_image(units, options()), Catch::Contains("broken.cu:2"));
}

TEST_CASE("the bytes of an image do not depend on jobs, cache or folder") {
  std::vector<SourceText> units;
  for (int i = 0; i < 8; ++i) {
    const std::string number = std::to_string(i);
    units.push_back({"unit" + number + ".cu", "constexpr int kValue = " + number +
                                                  ";\nextern \"C\" __global__ void k" + number +
                                                  "(int* y) { y[threadIdx.x] = kValue; }\n"});
  }
  HostImageOptions one = options(), other = options();
  other.cache_folder.clear();
  other.jobs = 2;
  CHECK(build_host_image(units, one) == build_host_image(units, other));
}

TEST_CASE("constants of the same name in different units do not meet") {
  const LoadedKernels kernels(std::vector<SourceText>{
      {"a.cu",
       "constexpr int kValue = 1;\nextern \"C\" __global__ void a(int* y) { *y = kValue; }"},
      {"b.cu",
       "constexpr int kValue = 2;\nextern \"C\" __global__ void b(int* y) { *y = kValue; }"}});
  start({});
  const DeviceBuffer y(sizeof(int));
  REQUIRE_DRIVER(kernels.run("a", {1, 1}, y.pointer()));
  CHECK(y.read<int>()[0] == 1);
  REQUIRE_DRIVER(kernels.run("b", {1, 1}, y.pointer()));
  CHECK(y.read<int>()[0] == 2);
}

TEST_CASE("clang builds images as well") {
  HostImageOptions clang = options();
  clang.compiler = "clang++";
  const std::vector<SourceText> units = {kernel_file("layer_norm.cu"),
                                         kernel_file("tensor_core.cu")};
  if (find_program(clang.compiler).empty()) {
    std::cout << "skipped: clang++ is not on PATH\n";
    return;
  }
  start({true});
  CUmodule module = nullptr;
  REQUIRE_DRIVER(cuModuleLoadData(&module, build_host_image(units, clang).data()));
  CUfunction function = nullptr;
  REQUIRE_DRIVER(cuModuleGetFunction(&function, module, "copy_read_too_early"));
  const DeviceBuffer x = DeviceBuffer::holding(std::vector<float>(32)), y(32 * sizeof(float));
  CUdeviceptr pointers[] = {x.pointer(), y.pointer()};
  void* arguments[] = {&pointers[0], &pointers[1]};
  CHECK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 128, nullptr, arguments, nullptr) ==
        CUDA_ERROR_LAUNCH_FAILED);
  REQUIRE(!reports().empty());
  CHECK(reports()[0].line ==
        marked_lines(kernel_file("tensor_core.cu"), "here", "copy_read_too_early").at(0));
  REQUIRE_DRIVER(cuModuleUnload(module));
}

TEST_CASE("a container is told from other images and gives its variants back") {
  const std::vector<ImageVariantBytes> variants = {
      {ImageVariant::kPlain, {std::byte{1}, std::byte{2}, std::byte{3}}},
      {ImageVariant::kChecked, {std::byte{4}}}};
  const auto image = pack_host_image(variants);
  const auto views = read_host_image(image.data());
  REQUIRE(views);
  REQUIRE(views->size() == 2);
  CHECK((*views)[0].variant == ImageVariant::kPlain);
  CHECK((*views)[0].shared_object.size() == 3);
  CHECK((*views)[1].shared_object[0] == std::byte{4});
  CHECK(!read_host_image("\177ELF and the rest of a cubin"));
}

}  // namespace stitch::test
