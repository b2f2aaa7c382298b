// The device code of one program, loaded: every unit's module and every kernel's function.
#ifndef STITCH_RUNTIME_LOADED_CODE_H_
#define STITCH_RUNTIME_LOADED_CODE_H_

#include <string>
#include <vector>

#include "runtime/bundle_format.h"
#include "runtime/device.h"
#include "runtime/driver.h"
#include "runtime/image_choice.h"

namespace STITCH_RUNTIME_NAMESPACE {

// Immutable after construction. Loading is eager: nothing is left to the first launch.
class LoadedCode {
 public:
  // The device's context must be current. `images` is the bundle's block of images. Throws
  // LauncherError with kDriver, naming unit or kernel.
  LoadedCode(const Driver& driver, const ImageChoice& choice, const unsigned char* images);
  ~LoadedCode();
  LoadedCode(const LoadedCode&) = delete;
  LoadedCode& operator=(const LoadedCode&) = delete;

  // Looks the kernel up, allows its shared memory and cluster, and finishes its loading.
  CUfunction load_function(const KernelLaunch& launch) const;

 private:
  void unload();

  const Driver& driver_;
  std::string architecture_;
  std::vector<CUmodule> modules_;  // each once
  std::vector<CUmodule> module_of_unit_;
};

// How many blocks of this kernel the device holds at the same time.
std::uint64_t coresident_blocks(const Driver& driver, const Device& device,
                                const KernelLaunch& launch, CUfunction function);

}  // namespace STITCH_RUNTIME_NAMESPACE

#endif  // STITCH_RUNTIME_LOADED_CODE_H_
