#include "emit_cuda/bundle/manifest.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "graph/error.h"

// nlohmann finds to_json and from_json of each struct by argument-dependent look-up.
namespace stitch {
namespace {

constexpr char kFormatName[] = "stitchc bundle";

using Json = nlohmann::ordered_json;  // keys in the order written here

}  // namespace

#define STITCH_MANIFEST_FIELDS(Type, ...)                               \
  static void to_json(Json& json, const Type& value) {                  \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(STITCH_PUT, __VA_ARGS__))  \
  }                                                                     \
  static void from_json(const Json& json, Type& value) {                \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(STITCH_TAKE, __VA_ARGS__)) \
  }
#define STITCH_PUT(field) json[#field] = value.field;
#define STITCH_TAKE(field) json.at(#field).get_to(value.field);

STITCH_MANIFEST_FIELDS(ManifestTensor, name, dtype, dims, bytes)
STITCH_MANIFEST_FIELDS(ManifestKernel, name, source, nodes, stages, grid_barriers, scopes, grid,
                       block, registers, spill_bytes, static_shared_bytes, dynamic_shared_bytes,
                       bytes, compulsory_bytes, requested_bytes, predicted_us, is_twin)
STITCH_MANIFEST_FIELDS(ManifestContraction, name, nodes, by, calls, batch, m, n, k, dtype)
STITCH_MANIFEST_FIELDS(ManifestImage, path, kind, unit, bytes)
STITCH_MANIFEST_FIELDS(ManifestArchitecture, architecture, target, regions, kernels, contractions,
                       workspace_bytes, images, plan)
STITCH_MANIFEST_FIELDS(Manifest, format_version, name, model_hash, tool_version, nvrtc_version,
                       flags, nodes, inputs, outputs, weights_bytes, weights_hash, architectures)

#undef STITCH_TAKE
#undef STITCH_PUT
#undef STITCH_MANIFEST_FIELDS

namespace {

std::filesystem::path manifest_path(const std::filesystem::path& bundle) {
  return bundle / "manifest.json";
}

// Discarded when the file is absent or no JSON.
Json read_json(const std::filesystem::path& path) {
  std::ifstream file(path);
  return Json::parse(file, nullptr, false);
}

bool says_bundle(const Json& json) {
  return json.is_object() && json.value("format", "") == kFormatName;
}

}  // namespace

std::string manifest_text(const Manifest& manifest) {
  Json json;
  json["format"] = kFormatName;
  to_json(json, manifest);
  // Names in a model may be any bytes; JSON is UTF-8.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Manifest read_manifest(const std::filesystem::path& bundle) {
  const std::filesystem::path path = manifest_path(bundle);
  const Json json = read_json(path);
  if (!says_bundle(json)) {
    throw ModelError(
        fmt::format("'{}' is no bundle: no manifest.json of stitchc in it", bundle.string()));
  }
  const int version = json.value("format_version", 0);
  if (version != kManifestVersion) {
    throw ModelError(
        fmt::format("'{}' has format version {}, this stitchc reads {}\n"
                    "help: compile the model again",
                    path.string(), version, kManifestVersion));
  }
  try {
    return json.get<Manifest>();
  } catch (const Json::exception& error) {
    throw ModelError(fmt::format("'{}' is damaged: {}", path.string(), error.what()));
  }
}

bool is_bundle(const std::filesystem::path& folder) {
  return says_bundle(read_json(manifest_path(folder)));
}

}  // namespace stitch
