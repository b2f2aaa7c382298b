// The hand-written device functions (device/*.cuh) as text, embedded in the binary.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stitch {

struct DeviceFile {
  std::string_view name;  // "reduce.cuh"
  std::string_view text;
};

// Sorted by name.
std::span<const DeviceFile> device_files();

// The files that define what `kernel_text` calls, sorted; those that they include are left out.
std::vector<std::string> device_files_of(std::string_view kernel_text);
// `files` and all that they include, sorted.
std::vector<std::string> with_included(const std::vector<std::string>& files);

}  // namespace stitch
