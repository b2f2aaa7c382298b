// Which of a bundle's programs, in which form of code, runs on a device.
#ifndef STITCH_RUNTIME_IMAGE_CHOICE_H_
#define STITCH_RUNTIME_IMAGE_CHOICE_H_

#include "runtime/bundle_format.h"
#include "runtime/device.h"
#include "runtime/namespace.h"

namespace STITCH_RUNTIME_NAMESPACE {

struct ImageChoice {
  const ArchitectureProgram* program = nullptr;
  ImageKind kind = ImageKind::kCubin;
};

// On a GPU: the cubin of the same architecture, else that of the highest lower minor version of the
// same major (binary compatibility, CUDA C++ Programming Guide, "Binary Compatibility"), else the
// PTX of the highest architecture not above the device. On the emulated device: likewise with host
// images, which run anywhere. Throws LauncherError with kNoImage that lists what the bundle holds.
// E.g. a bundle with cubins sm_80, sm_90 and PTX for sm_75: sm_86 runs the sm_80 cubin, sm_75 and
// sm_100 the PTX, sm_70 is an error.
ImageChoice choose_image(const LaunchProgram& program, const Device& device);

}  // namespace STITCH_RUNTIME_NAMESPACE

#endif  // STITCH_RUNTIME_IMAGE_CHOICE_H_
