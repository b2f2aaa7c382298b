#include "device_flag.h"

#include <fmt/format.h>

#include <charconv>

#include "emulated_driver.h"
#include "graph/error.h"
#include "planner/device/device_model.h"

namespace stitch {

runtime::RunnerOptions device_options(const std::string& device) {
  runtime::RunnerOptions options;
  const size_t colon = device.find(':');
  const std::string kind = device.substr(0, colon);
  const std::string detail = colon == std::string::npos ? "" : device.substr(colon + 1);
  if (kind == "emulator") {
    if (!detail.empty()) find_device("", detail);  // it names the devices that there are
    options.driver_file = emulated_driver_file();
    options.emulator.architecture = detail;
    return options;
  }
  const char* end = detail.data() + detail.size();
  const auto number = std::from_chars(detail.data(), end, options.device);
  const bool is_number = number.ec == std::errc() && number.ptr == end && options.device >= 0;
  if (kind != "gpu" || (colon != std::string::npos && !is_number))
    throw ModelError(
        fmt::format("--device {}: expected gpu, gpu:NUMBER, emulator or emulator:sm_XX", device));
  return options;
}

}  // namespace stitch
