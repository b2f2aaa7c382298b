// The structs that cross the C boundary, without the model's prefix.
//
// include/NAME.h of a bundle declares the same layouts under the model's name (NAME.cpp asserts
// it); tools that load any bundle use these.
#ifndef STITCH_RUNTIME_LAUNCHER_ABI_H_
#define STITCH_RUNTIME_LAUNCHER_ABI_H_

#include <cstddef>
#include <cstdint>

#include "runtime/namespace.h"

namespace STITCH_RUNTIME_NAMESPACE {

// Raised when a function or struct changes incompatibly. Fields may be added at the end of a
// struct without that: struct_size tells which the caller knows.
inline constexpr std::uint32_t kAbiVersion = 1;

// Flags of AbiOptions.
inline constexpr std::uint32_t kFlagWithoutBarriers = 1;
inline constexpr std::uint32_t kFlagVerifyWeights = 2;

struct AbiOptions {
  std::uint32_t struct_size;
  std::int32_t device;
  std::uint32_t flags;
  const char* bundle_dir;
  const char* driver_file;
  const void* weights;
  std::size_t weights_bytes;
  const char* weights_hash;
  int (*range_push)(const char* name);
  int (*range_pop)(void);
};

struct AbiTensorInfo {
  std::uint32_t struct_size;
  std::int32_t dtype;
  const char* name;
  const std::int64_t* dims;
  std::size_t rank;
  std::size_t bytes;
};

struct AbiModelInfo {
  std::uint32_t struct_size;
  std::int32_t architecture;
  std::int32_t image_kind;
  std::int32_t emulated;
  const char* device_name;
  std::size_t step_count;
  std::size_t twin_count;
  const void* weights;
  std::size_t weights_bytes;
  const char* weights_hash;
};

struct AbiStepTiming {
  std::uint32_t struct_size;
  std::uint32_t step;
  const char* kernel;
  const char* const* nodes;
  std::size_t node_count;
  double microseconds;
};

using AbiTimingCallback = void (*)(const AbiStepTiming* timing, void* user);

}  // namespace STITCH_RUNTIME_NAMESPACE

#endif  // STITCH_RUNTIME_LAUNCHER_ABI_H_
