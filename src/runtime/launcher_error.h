// A failure inside the launcher on its way to the C boundary, where it becomes a status code and
// the thread's last error.
#ifndef STITCH_RUNTIME_LAUNCHER_ERROR_H_
#define STITCH_RUNTIME_LAUNCHER_ERROR_H_

#include <cstdint>
#include <stdexcept>
#include <string>

#include "runtime/namespace.h"

namespace STITCH_RUNTIME_NAMESPACE {

// The values are part of the C ABI (NAME_status) and never change.
enum class Status : std::int32_t {
  kOk = 0,
  kInvalidArgument = 1,  // the caller's mistake: null pointer, small workspace, wrong dims
  kNoDriver = 2,         // libcuda is absent or lacks a function
  kNoDevice = 3,         // no such device
  kNoImage = 4,          // the bundle holds no code for this device
  kDriver = 5,           // the driver returned an error
  kAbi = 6,              // the caller was compiled against another version of the header
  kLibrary = 7,          // cuBLASLt is absent or returned an error
  kWeights = 8,          // weights.bin is absent or does not belong to this model
  kNotCoresident = 9,    // a grid barrier does not fit the device and there is no twin
  kInternal = 10,        // the bundle is damaged: a bug, or a file changed by hand
};

class LauncherError : public std::runtime_error {
 public:
  LauncherError(Status status, const std::string& text)
      : std::runtime_error(text), status_(status) {}
  Status status() const { return status_; }

 private:
  Status status_;
};

}  // namespace STITCH_RUNTIME_NAMESPACE

#endif  // STITCH_RUNTIME_LAUNCHER_ERROR_H_
