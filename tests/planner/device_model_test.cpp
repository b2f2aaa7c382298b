#include "planner/device/device_model.h"

#include <string>

#include "graph/error.h"
#include "support/catch.h"

#if __has_include(<cuda_occupancy.h>)
#define STITCH_HAS_CUDA_OCCUPANCY 1
#include <cuda_occupancy.h>
#endif

using namespace stitch;

TEST_CASE("every architecture has one default device") {
  for (const DeviceModel& device : device_models()) {
    int defaults = 0;
    for (const DeviceModel& other : device_models()) {
      defaults += other.architecture == device.architecture && other.default_of_architecture;
    }
    CHECK(defaults == 1);
    CHECK(device.sm_count > 0);
    CHECK(device.dram_gbps > 0);
    CHECK(device.l2_gbps > device.dram_gbps);
    CHECK(device.shared_bytes_per_block <= device.shared_bytes_per_sm);
  }
}

TEST_CASE("devices are found by name and by architecture") {
  CHECK(find_device("", "").name == "a100");
  CHECK(find_device("", "sm_90").name == "h100");
  CHECK(find_device("h200", "").architecture == "sm_90");
  CHECK(find_device("h200", "sm_90").name == "h200");
}

TEST_CASE("an unknown device is refused with those that are known") {
  CHECK_THROWS_AS(find_device("a200", ""), ModelError);
  CHECK_THROWS_WITH(find_device("h200", "sm_80"),
                    "the target h200 has architecture sm_90, not sm_80");
  CHECK_THROWS_WITH(find_device("", "sm_50"),
                    "there is no device model for the architecture \"sm_50\"\nnote: known are "
                    "v100 (sm_70), t4 (sm_75), a100 (sm_80), a10 (sm_86), l4 (sm_89), h100 "
                    "(sm_90), h200 (sm_90), b200 (sm_100)");
}

TEST_CASE("registers, threads and shared memory limit the resident blocks") {
  const DeviceModel& a100 = find_device("a100", "");
  CHECK(resident_blocks(a100, {.threads = 256, .registers = 40}) == 6);
  CHECK(resident_blocks(a100, {.threads = 1024, .registers = 64}) == 1);
  CHECK(resident_blocks(a100, {.threads = 1024, .registers = 65}) == 0);
  CHECK(resident_blocks(a100, {.threads = 32, .registers = 16}) == 32);
  CHECK(resident_blocks(a100, {.threads = 128, .registers = 32, .shared_bytes = 40 << 10}) == 4);
  CHECK(resident_blocks(a100, {.threads = 128, .registers = 32, .shared_bytes = 164 << 10}) == 0);
}

TEST_CASE("the register bound is the largest that keeps the blocks resident") {
  const DeviceModel& a100 = find_device("a100", "");
  const int registers = registers_for(a100, 256, 4);
  CHECK(registers == 64);
  CHECK(resident_blocks(a100, {.threads = 256, .registers = registers}) >= 4);
  CHECK(resident_blocks(a100, {.threads = 256, .registers = registers + 1}) < 4);
}

#ifdef STITCH_HAS_CUDA_OCCUPANCY
TEST_CASE("resident blocks equal those of CUDA's occupancy calculator") {
  int resident = 0;
  for (const DeviceModel& device : device_models()) {
    const int number = std::stoi(std::string(device.architecture.substr(3)));
    cudaOccDeviceProp properties;
    properties.computeMajor = number / 10;
    properties.computeMinor = number % 10;
    properties.maxThreadsPerBlock = 1024;
    properties.maxThreadsPerMultiprocessor = device.threads_per_sm;
    properties.regsPerBlock = 65536;
    properties.regsPerMultiprocessor = device.registers_per_sm;
    properties.warpSize = 32;
    properties.sharedMemPerBlock = 48 << 10;
    properties.sharedMemPerMultiprocessor = static_cast<size_t>(device.shared_bytes_per_sm);
    properties.numSms = device.sm_count;
    properties.sharedMemPerBlockOptin = static_cast<size_t>(device.shared_bytes_per_block);
    properties.reservedSharedMemPerBlock = static_cast<size_t>(device.shared_bytes_reserved);
    cudaOccDeviceState state;
    state.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
    for (const int threads : {32, 64, 96, 128, 160, 256, 384, 512, 768, 1000, 1024}) {
      for (int registers = 16; registers <= 255; registers += 7) {
        for (int64_t shared = 0; shared <= device.shared_bytes_per_block; shared += 7000) {
          cudaOccFuncAttributes attributes;
          attributes.maxThreadsPerBlock = threads;
          attributes.numRegs = registers;
          attributes.maxDynamicSharedSizeBytes = static_cast<size_t>(shared);
          attributes.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
          cudaOccResult result;
          const cudaOccError error = cudaOccMaxActiveBlocksPerMultiprocessor(
              &result, &properties, &attributes, &state, threads, static_cast<size_t>(shared));
          if (error != CUDA_OCC_SUCCESS) FAIL("the calculator failed");
          const int ours = resident_blocks(
              device, {.threads = threads, .registers = registers, .shared_bytes = shared});
          INFO(device.name << ", " << threads << " threads, " << registers << " registers, "
                           << shared << " bytes");
          if (ours != result.activeBlocksPerMultiprocessor) {
            REQUIRE(ours == result.activeBlocksPerMultiprocessor);
          }
          resident += ours > 0;
        }
      }
    }
  }
  CHECK(resident > 1000);
}
#endif
