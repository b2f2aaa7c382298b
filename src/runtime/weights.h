// A model's weights in device memory: uploaded from weights.bin, or the caller's.
#ifndef STITCH_RUNTIME_WEIGHTS_H_
#define STITCH_RUNTIME_WEIGHTS_H_

#include <string>

#include "runtime/bundle_format.h"
#include "runtime/driver.h"
#include "runtime/namespace.h"

namespace STITCH_RUNTIME_NAMESPACE {

// Where the weights come from. `device_address` 0 = from the file.
struct WeightsSource {
  std::string bundle_dir;  // empty: beside the library that holds the launcher
  CUdeviceptr device_address = 0;
  std::uint64_t device_bytes = 0;
  std::string device_hash;  // empty: the caller vouches for them
  bool verify = false;      // hash the file and compare
};

// Immutable after construction. Owns the memory only when it was uploaded here.
class Weights {
 public:
  // The device's context must be current. Throws LauncherError with kWeights.
  Weights(const Driver& driver, const LaunchProgram& program, const WeightsSource& source);
  ~Weights();
  Weights(const Weights&) = delete;
  Weights& operator=(const Weights&) = delete;

  CUdeviceptr address() const { return address_; }

 private:
  const Driver& driver_;
  CUdeviceptr address_ = 0;
  bool owned_ = false;
};

}  // namespace STITCH_RUNTIME_NAMESPACE

#endif  // STITCH_RUNTIME_WEIGHTS_H_
