// Device memory of exactly the size asked for, freed at the end.
#pragma once
#include <cstddef>
#include <string>

#include "runtime/driver.h"

namespace stitch::runtime {

// Nothing is allocated for zero bytes. The device's context must be current throughout, and the
// driver must outlive the buffer.
class DeviceBuffer {
 public:
  DeviceBuffer(const Driver& driver, std::size_t bytes, const std::string& what)
      : driver_(&driver), bytes_(bytes) {
    if (bytes == 0) return;
    driver.check(driver.memory_allocate(&address_, bytes), "cuMemAlloc",
                 "allocating " + std::to_string(bytes) + " bytes for " + what);
  }
  ~DeviceBuffer() {
    if (address_ != 0) driver_->memory_free(address_);
  }
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : driver_(other.driver_), address_(other.address_), bytes_(other.bytes_) {
    other.address_ = 0;
  }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(DeviceBuffer&&) = delete;

  CUdeviceptr address() const { return address_; }
  void* pointer() const { return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address_)); }
  std::size_t bytes() const { return bytes_; }

 private:
  const Driver* driver_;
  CUdeviceptr address_ = 0;
  std::size_t bytes_;
};

}  // namespace stitch::runtime
