#include "measuring_images.h"

#include <string>

#include "calibrate/kernel_texts.h"
#include "emit_cuda/compile/nvrtc.h"
#include "emit_cuda/device_files.h"
#include "emulator/host_image.h"

namespace stitch {

std::vector<std::vector<std::byte>> measuring_images(const runtime::Device& device,
                                                     const std::filesystem::path& cuda) {
  const NvrtcLocation location = default_nvrtc_location(cuda);
  if (device.emulated) {
    std::vector<SourceText> units;
    for (const MeasuringText& text : measuring_texts())
      units.push_back({std::string(text.name), std::string(text.text)});
    HostImageOptions options;
    for (const DeviceFile& file : device_files())
      options.device_headers.push_back({std::string(file.name), std::string(file.text)});
    options.cuda_include_folder = location.include_dirs.front();
    options.checked = false;
    return {build_host_image(units, options)};
  }
  const Nvrtc nvrtc = Nvrtc::open(location);
  NvrtcInput input;
  input.architecture = runtime::architecture_name(device.architecture);
  for (const DeviceFile& file : device_files())
    input.headers.push_back({std::string(file.name), std::string(file.text)});
  std::vector<std::vector<std::byte>> images;
  for (const MeasuringText& text : measuring_texts()) {
    input.name = text.name;
    input.text = text.text;
    images.push_back(nvrtc.compile(input).cubin);
  }
  return images;
}

}  // namespace stitch
