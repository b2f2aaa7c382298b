// What manifest.json of a bundle says: where it comes from, its signature, and every kernel with
// its resources and the ONNX nodes in it. The schema is in docs/bundle_format.md.
#pragma once
#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace stitch {

inline constexpr int kManifestVersion = 2;

struct ManifestTensor {
  std::string name;
  std::string dtype;  // "float32"
  std::vector<std::int64_t> dims;
  std::uint64_t bytes = 0;
};

// One kernel as launched once per inference.
struct ManifestKernel {
  std::string name;                // as in the launch program
  std::string source;              // path from the bundle's root; empty = none
  std::vector<std::string> nodes;  // ONNX nodes
  int stages = 1;
  int grid_barriers = 0;
  std::string scopes;  // "warp, block": how far its values travel
  std::array<std::uint32_t, 3> grid = {1, 1, 1};
  std::uint32_t block = 1;
  int registers = 0;
  int spill_bytes = 0;
  std::uint64_t static_shared_bytes = 0;
  std::uint64_t dynamic_shared_bytes = 0;
  std::uint64_t bytes = 0;             // through global memory (docs/bundle_format.md)
  std::uint64_t compulsory_bytes = 0;  // inputs and outputs once
  std::uint64_t requested_bytes = 0;   // 32 times the sectors that warps ask for, predicted
  double predicted_us = 0;
  bool is_twin = false;  // launched only where grid barriers do not fit
};

struct ManifestContraction {
  std::string name;
  std::vector<std::string> nodes;
  std::string by;          // "cublasLt" or "own"
  std::int64_t calls = 1;  // of the library, or launches
  std::int64_t batch = 1;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::string dtype;
};

struct ManifestImage {
  std::string path;  // from the bundle's root
  std::string kind;  // "cubin", "ptx", "host"
  std::uint32_t unit = 0;
  std::uint64_t bytes = 0;
};

struct ManifestArchitecture {
  std::uint32_t architecture = 80;
  std::string target;  // the device model planned for
  int regions = 0;
  std::vector<ManifestKernel> kernels;
  std::vector<ManifestContraction> contractions;
  std::uint64_t workspace_bytes = 0;
  std::vector<ManifestImage> images;
  std::string plan;  // path from the bundle's root; empty = none
};

struct Manifest {
  int format_version = kManifestVersion;
  std::string name;
  std::string model_hash;
  std::string tool_version;
  std::string nvrtc_version;
  std::vector<std::string> flags;  // those that shape the result, without paths
  int nodes = 0;                   // ONNX nodes without Constant
  std::vector<ManifestTensor> inputs;
  std::vector<ManifestTensor> outputs;
  std::uint64_t weights_bytes = 0;
  std::string weights_hash;
  std::vector<ManifestArchitecture> architectures;
};

std::string manifest_text(const Manifest& manifest);

// Throws ModelError when the folder is no bundle, or one of another format version.
Manifest read_manifest(const std::filesystem::path& bundle);

// Whether stitchc made this folder: its manifest says so.
bool is_bundle(const std::filesystem::path& folder);

}  // namespace stitch
