#include "runtime/image_choice.h"

#include <set>
#include <string>
#include <vector>

#include "runtime/launcher_error.h"

namespace STITCH_RUNTIME_NAMESPACE {
namespace {

// A kind of image is usable when every unit has one; a program of library calls needs none.
bool has_images(const ArchitectureProgram& program, ImageKind kind) {
  std::vector<bool> present(program.unit_count, false);
  for (const Image& image : program.images) {
    if (image.kind == kind && image.unit < program.unit_count) present[image.unit] = true;
  }
  for (const bool unit_has_image : present) {
    if (!unit_has_image) return false;
  }
  return true;
}

enum class Reach { kSameMajor, kAnyNewer };

// The program of the highest architecture that the device can run and that has such images.
const ArchitectureProgram* highest(const LaunchProgram& program, std::uint32_t device,
                                   ImageKind kind, Reach reach) {
  const ArchitectureProgram* best = nullptr;
  for (const ArchitectureProgram& candidate : program.architectures) {
    const bool in_reach = candidate.architecture <= device &&
                          (reach == Reach::kAnyNewer || candidate.architecture / 10 == device / 10);
    if (!in_reach || !has_images(candidate, kind)) continue;
    if (best == nullptr || candidate.architecture > best->architecture) best = &candidate;
  }
  return best;
}

std::string listed(const LaunchProgram& program, ImageKind kind, const char* suffix) {
  std::string text;
  for (const ArchitectureProgram& candidate : program.architectures) {
    if (!has_images(candidate, kind)) continue;
    if (!text.empty()) text += ", ";
    text += architecture_name(candidate.architecture) + suffix;
  }
  return text;
}

std::string joined(const std::string& first, const std::string& second) {
  if (first.empty() || second.empty()) return first + second;
  return first + ", " + second;
}

// The value of --arch with which a compile would have served this device.
std::string wanted_architectures(const LaunchProgram& program, const Device& device) {
  std::set<std::uint32_t> architectures;
  for (const ArchitectureProgram& held : program.architectures) {
    architectures.insert(held.architecture);
  }
  if (!device.emulated || architectures.empty()) architectures.insert(device.architecture);
  std::string text;
  for (const std::uint32_t architecture : architectures) {
    text += (text.empty() ? "" : ",") + architecture_name(architecture);
  }
  return device.emulated ? text + ",host" : text;
}

[[noreturn]] void throw_no_image(const LaunchProgram& program, const Device& device) {
  const std::string held = device.emulated ? listed(program, ImageKind::kHost, "")
                                           : joined(listed(program, ImageKind::kCubin, ""),
                                                    listed(program, ImageKind::kPtx, " (PTX)"));
  const std::string device_text = architecture_name(device.architecture) + " (" + device.name + ")";
  throw LauncherError(Status::kNoImage, std::string("no ") + (device.emulated ? "host" : "GPU") +
                                            " image for this device: bundle holds " +
                                            (held.empty() ? "none" : held) + "; the device is " +
                                            device_text + "\nhelp: compile with --arch " +
                                            wanted_architectures(program, device));
}

}  // namespace

ImageChoice choose_image(const LaunchProgram& program, const Device& device) {
  const std::uint32_t architecture = device.architecture;
  if (device.emulated) {
    for (const Reach reach : {Reach::kSameMajor, Reach::kAnyNewer}) {
      if (const auto* found = highest(program, architecture, ImageKind::kHost, reach)) {
        return {found, ImageKind::kHost};
      }
    }
    throw_no_image(program, device);
  }
  if (const auto* found = highest(program, architecture, ImageKind::kCubin, Reach::kSameMajor)) {
    return {found, ImageKind::kCubin};
  }
  if (const auto* found = highest(program, architecture, ImageKind::kPtx, Reach::kAnyNewer)) {
    return {found, ImageKind::kPtx};
  }
  throw_no_image(program, device);
}

}  // namespace STITCH_RUNTIME_NAMESPACE
