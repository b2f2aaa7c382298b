#include "emit_cuda/bundle/write_bundle.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "emit_cuda/bundle/bundle_name.h"
#include "emit_cuda/bundle/c_api_text.h"
#include "emit_cuda/bundle/embedded_files.h"
#include "emit_cuda/bundle/image_block.h"
#include "emit_cuda/bundle/library_build.h"
#include "emit_cuda/bundle/staged_folder.h"
#include "emit_cuda/bundle/weights_file.h"
#include "graph/error.h"
#include "runtime/element_type.h"
#include "runtime/launcher_error.h"
#include "runtime/program_check.h"
#include "runtime/program_codec.h"

namespace stitch {
namespace {

void check_consistency(const runtime::LaunchProgram& program) {
  const std::string& name = program.model_name;
  if (name.empty() || name != bundle_name(name)) {
    throw InternalError(fmt::format("bundle name '{}' is no plain identifier", name));
  }
  try {
    runtime::check_program(program);
  } catch (const runtime::LauncherError& error) {
    throw InternalError(error.what());
  }
}

std::string path_of_plan(std::uint32_t architecture) {
  return fmt::format("plans/sm_{}.plan", architecture);
}

ManifestTensor described(const runtime::TensorInfo& tensor) {
  return {tensor.name, runtime::element_name(tensor.type), tensor.dims, tensor.bytes};
}

// The caller's manifest with what follows from the rest of the contents.
Manifest completed_manifest(const BundleContents& contents, const runtime::LaunchProgram& program,
                            const ImageBlock& block) {
  Manifest manifest = contents.manifest;
  manifest.inputs.clear();
  manifest.outputs.clear();
  for (const auto& tensor : program.inputs) manifest.inputs.push_back(described(tensor));
  for (const auto& tensor : program.outputs) manifest.outputs.push_back(described(tensor));
  manifest.weights_bytes = program.weights_bytes;
  manifest.weights_hash = program.weights_hash;
  for (ManifestArchitecture& architecture : manifest.architectures) {
    for (const runtime::ArchitectureProgram& planned : program.architectures) {
      if (planned.architecture == architecture.architecture) {
        architecture.workspace_bytes = planned.workspace_bytes;
      }
    }
    for (const PlanText& plan : contents.plans) {
      if (plan.architecture == architecture.architecture) {
        architecture.plan = path_of_plan(plan.architecture);
      }
    }
    architecture.images.clear();
    for (const BlockImage& image : block.images) {
      if (image.architecture != architecture.architecture) continue;
      architecture.images.push_back(
          {image.path, image_kind_name(image.image.kind), image.image.unit, image.image.bytes});
    }
  }
  return manifest;
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void write_sources(const StagedFolder& folder, const BundleContents& contents) {
  for (const BundleSource& source : contents.sources) {
    folder.write(std::filesystem::path("src/kernels") / source.path, source.text);
  }
  for (const PlanText& plan : contents.plans)
    folder.write(path_of_plan(plan.architecture), plan.text);
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.name.starts_with("runtime/")) {
      folder.write(std::filesystem::path("src") / file.name, file.bytes);
    }
  }
}

}  // namespace

BundleSummary write_bundle(const BundleContents& contents, const std::filesystem::path& path,
                           const BundleOptions& options) {
  StagedFolder folder(path, options.force);
  runtime::LaunchProgram program = contents.program;
  program.model_name = contents.manifest.name;
  const WeightsLayout weights = lay_out_weights(contents.weights);
  program.weights_segments = weights.segments;
  program.weights_bytes = weights.bytes;
  program.weights_hash = write_weights(folder.path() / "weights.bin", contents.weights, weights);
  const ImageBlock block = lay_out_images(contents.images);
  place_images(block, program);
  check_consistency(program);

  for (const BlockImage& image : block.images) folder.write(image.path, as_text(image.bytes));
  folder.write("images/program.bin", runtime::encode_program(program));
  write_sources(folder, contents);
  std::vector<PlacedImage> placed;
  for (const BlockImage& image : block.images) placed.push_back({image.path});
  for (const GeneratedFile& file :
       generated_files({program, placed, contents.manifest.tool_version})) {
    folder.write(file.path, file.text);
  }
  folder.write("manifest.json", manifest_text(completed_manifest(contents, program, block)));

  BundleSummary summary;
  summary.image_bytes = block.bytes;
  if (const auto tools = options.build_libraries ? find_host_tools() : std::nullopt) {
    build_libraries(folder.path(), contents.manifest.name, *tools);
    summary.libraries_built = true;
  }
  folder.commit();
  return summary;
}

}  // namespace stitch
