// The three kinds of failure: the user's model or flags, a defect of stitchc, NVRTC or the driver.
// Caught in apps/ only. A message is one lower-case sentence without a final period; `note:` and
// `help:` lines follow it.
#pragma once
#include <stdexcept>
#include <string>
#include <vector>

namespace stitch {

// What is wrong with the model or the flags; exit code 1.
class ModelError : public std::runtime_error {
 public:
  explicit ModelError(const std::string& message) : std::runtime_error(message) {}
};

// A broken invariant of stitchc itself; exit code 70.
class InternalError : public std::logic_error {
 public:
  explicit InternalError(const std::string& message) : std::logic_error(message) {}
};

// A failure reported by NVRTC or the CUDA driver; exit code 2.
class DeviceError : public std::runtime_error {
 public:
  explicit DeviceError(const std::string& message) : std::runtime_error(message) {}
};

}  // namespace stitch
