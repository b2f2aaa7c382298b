// The rules of the CUDA driver that launchers depend on.
#include <cstring>
#include <string>

#include "emulated_device.h"
#include "support/catch.h"

namespace stitch::test {
namespace {

const LoadedKernels& kernels() {
  static const LoadedKernels kLoaded(std::vector<SourceText>{{"rules.cu", R"(
#include "base.cuh"
extern "C" __global__ void __launch_bounds__(128)
add_one(int* y) { y[blockIdx.x * blockDim.x + threadIdx.x] += 1; }
extern "C" __global__ void __launch_bounds__(1024, 1)
whole_multiprocessor(int* y) { if (threadIdx.x == 0) y[blockIdx.x] = 1; }
struct Pair { int first; double second; };
extern "C" __global__ void
takes_values(Pair pair, signed char small, long long large, double* y) {
  *y = pair.first + pair.second + small + static_cast<double>(large);
}
)"}});
  return kLoaded;
}

// Launches with 128 threads; for shapes that the driver has to refuse.
CUresult launch(const Shape& shape) {
  const DeviceBuffer y = DeviceBuffer::holding(std::vector<int>(shape.grid * shape.block + 1));
  return kernels().run("add_one", shape, y.pointer());
}

}  // namespace

TEST_CASE("the device is the one that was asked for, and says that it is emulated") {
  start({});
  char name[100] = {};
  REQUIRE_DRIVER(cuDeviceGetName(name, sizeof name, 0));
  CHECK(std::string(name) == "stitchc emulator (NVIDIA H100 80GB HBM3)");
  const auto attribute = [](CUdevice_attribute which) {
    int value = 0;
    REQUIRE_DRIVER(cuDeviceGetAttribute(&value, which, 0));
    return value;
  };
  CHECK(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) == 9);
  CHECK(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) == 132);
  CHECK(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) == 227 * 1024);
  CHECK(stitch_emulator_select_device("sm_80") == 1);  // too late
  CHECK(stitch_emulator_select_device("sm_10") == 1);  // no such device
}

TEST_CASE("launches beyond the limits of the device or the kernel are refused") {
  start({});
  CHECK(launch({1, 128}) == CUDA_SUCCESS);
  CHECK(launch({1, 256}) == CUDA_ERROR_INVALID_VALUE);  // beyond __launch_bounds__
  CHECK(launch({0, 128}) == CUDA_ERROR_INVALID_VALUE);
  CHECK(launch({1, 128, 49 << 10}) == CUDA_ERROR_INVALID_VALUE);  // needs the attribute
  const CUfunction function = kernels().function("add_one");
  CHECK(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 228 << 10) ==
        CUDA_ERROR_INVALID_VALUE);
  REQUIRE_DRIVER(
      cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100 << 10));
  CHECK(launch({1, 128, 100 << 10}) == CUDA_SUCCESS);
  CHECK(launch({16, 128, 0, 16}) == CUDA_ERROR_INVALID_CLUSTER_SIZE);  // not portable
  CHECK(launch({9, 128, 0, 2}) == CUDA_ERROR_INVALID_CLUSTER_SIZE);    // does not divide the grid
  CHECK(launch({8, 128, 0, 8}) == CUDA_SUCCESS);
}

TEST_CASE("a cooperative launch must fit the device at once") {
  start({});
  int blocks = 0;
  REQUIRE_DRIVER(cuOccupancyMaxActiveBlocksPerMultiprocessor(
      &blocks, kernels().function("whole_multiprocessor"), 1024, 0));
  CHECK(blocks == 1);
  const DeviceBuffer y = DeviceBuffer::holding(std::vector<int>(133));
  CHECK(kernels().run("whole_multiprocessor", {132, 1024, 0, 1, true}, y.pointer()) ==
        CUDA_SUCCESS);
  CHECK(kernels().run("whole_multiprocessor", {133, 1024, 0, 1, true}, y.pointer()) ==
        CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
}

TEST_CASE("arguments of every size arrive") {
  for (const bool check : {false, true}) {
    start({check});
    struct Pair {
      int first;
      double second;
    };
    const DeviceBuffer y(sizeof(double));
    const Pair pair{1, 0.5};
    const signed char small = -3;
    REQUIRE_DRIVER(kernels().run("takes_values", {1, 1}, pair, small, 1ll << 40, y.pointer()));
    CHECK(y.read<double>()[0] == -1.5 + static_cast<double>(1ll << 40));
    CHECK(reports().empty());
  }
}

TEST_CASE("images that are not for the emulator are refused") {
  start({});
  CUmodule module = nullptr;
  CHECK(cuModuleLoadData(&module, "\177ELF, a cubin") == CUDA_ERROR_NO_BINARY_FOR_GPU);
  CUfunction function = nullptr;
  CHECK(cuModuleGetFunction(&function, nullptr, "f") == CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("a captured graph runs when it is launched, as often as it is") {
  start({});
  const DeviceBuffer y = DeviceBuffer::holding(std::vector<int>(128));
  CUstream stream = nullptr;
  REQUIRE_DRIVER(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  REQUIRE_DRIVER(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  REQUIRE_DRIVER(cuMemsetD32Async(y.pointer(), 5, 128, stream));
  CUdeviceptr pointer = y.pointer();
  void* arguments[] = {&pointer};
  for (int i = 0; i < 2; ++i)
    REQUIRE_DRIVER(cuLaunchKernel(kernels().function("add_one"), 1, 1, 1, 128, 1, 1, 0, stream,
                                  arguments, nullptr));
  pointer = 0;  // arguments were copied
  CUgraph graph = nullptr;
  REQUIRE_DRIVER(cuStreamEndCapture(stream, &graph));
  std::size_t nodes = 0;
  REQUIRE_DRIVER(cuGraphGetNodes(graph, nullptr, &nodes));
  CHECK(nodes == 3);
  CHECK(y.read<int>()[0] == 0);
  CUgraphExec executable = nullptr;
  REQUIRE_DRIVER(cuGraphInstantiate(&executable, graph, 0));
  REQUIRE_DRIVER(cuGraphDestroy(graph));
  for (int i = 0; i < 2; ++i) REQUIRE_DRIVER(cuGraphLaunch(executable, stream));
  CHECK(y.read<int>()[127] == 7);
  REQUIRE_DRIVER(cuGraphExecDestroy(executable));
  REQUIRE_DRIVER(cuStreamDestroy(stream));
}

TEST_CASE("calls that are not allowed during capture fail and spoil it") {
  start({});
  CUstream stream = nullptr;
  REQUIRE_DRIVER(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CUgraph graph = nullptr;
  CUdeviceptr memory = 0;
  REQUIRE_DRIVER(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CHECK(cuMemAlloc(&memory, 16) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CHECK(cuStreamEndCapture(stream, &graph) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  REQUIRE_DRIVER(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  CHECK(cuStreamSynchronize(stream) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CHECK(cuStreamEndCapture(stream, &graph) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  REQUIRE_DRIVER(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  CHECK(cuMemAlloc(&memory, 16) == CUDA_SUCCESS);
  CHECK(cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS);
  REQUIRE_DRIVER(cuMemFree(memory));
  REQUIRE_DRIVER(cuGraphDestroy(graph));
  REQUIRE_DRIVER(cuStreamDestroy(stream));
}

TEST_CASE("copies and fills outside an allocation are refused and reported") {
  start({true});
  const DeviceBuffer y(16);
  unsigned char bytes[32] = {};
  CHECK(cuMemcpyHtoD(y.pointer(), bytes, 17) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemcpyHtoD(y.pointer() + 8, bytes, 8) == CUDA_SUCCESS);
  CHECK(cuMemsetD8Async(y.pointer() + 15, 0, 2, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(reports().size() == 2);
  stitch_emulator_clear_reports();
  CHECK(cuMemcpyDtoH(bytes, y.pointer(), 16) == CUDA_SUCCESS);
  REQUIRE(reports().size() == 1);
  CHECK(reports()[0].text.find("a copy to the host reads 8 bytes that nothing has written") !=
        std::string::npos);
}

TEST_CASE("functions are found by the names that programs use") {
  for (const char* name :
       {"cuInit", "cuMemAlloc", "cuMemAlloc_v2", "cuLaunchKernelEx", "cuCtxPushCurrent",
        "cuGraphInstantiate", "cuStreamBeginCapture", "cuMemsetD8Async", "cuLibraryLoadData"}) {
    void* function = nullptr;
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    INFO(name);
    CHECK(cuGetProcAddress(name, &function, 12000, 0, &status) == CUDA_SUCCESS);
    CHECK(function != nullptr);
  }
  void* function = nullptr;
  CHECK(cuGetProcAddress("cuNoSuchThing", &function, 12000, 0, nullptr) == CUDA_ERROR_NOT_FOUND);
}

}  // namespace stitch::test
