// Everything that goes into a bundle, as a value; write_bundle puts it on disk.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "emit_cuda/bundle/manifest.h"
#include "emit_cuda/bundle/weights_file.h"
#include "runtime/bundle_format.h"

namespace stitch {

// Device code of one unit of one architecture's program, or of several that follow each other (a
// host image holds the kernels of all).
struct UnitImage {
  runtime::ImageKind kind = runtime::ImageKind::kCubin;
  std::uint32_t unit = 0;
  std::uint32_t unit_count = 1;
  std::span<const std::byte> bytes;  // must outlive the call of write_bundle
};

struct ArchitectureImages {
  std::uint32_t architecture = 80;  // one of program.architectures
  std::vector<UnitImage> images;
};

// A readable source file; `path` is relative to src/kernels, e.g. "sm_80/k03_softmax.cu".
struct BundleSource {
  std::string path;
  std::string text;
};

// The text form of one architecture's plan.
struct PlanText {
  std::uint32_t architecture = 80;
  std::string text;
};

struct BundleContents {
  // The writer fills in model_name, images, weights_segments, weights_bytes and weights_hash.
  runtime::LaunchProgram program;
  std::vector<ArchitectureImages> images;
  std::vector<WeightSegment> weights;  // what they refer to must outlive write_bundle
  std::vector<BundleSource> sources;
  std::vector<PlanText> plans;
  // What only the caller knows; the writer fills in name, signature, weights, image sizes, plan
  // paths and workspace sizes.
  Manifest manifest;
};

}  // namespace stitch
