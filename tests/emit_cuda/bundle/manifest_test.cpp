#include "emit_cuda/bundle/manifest.h"

#include <fstream>

#include "emit_cuda/bundle/write_bundle.h"
#include "graph/error.h"
#include "sample_bundle.h"
#include "support/catch.h"
#include "temporary_folder.h"

namespace stitch {

TEST_CASE("a manifest read back is the one written") {
  const TemporaryFolder folder;
  const SampleBundle sample =
      make_sample("sample", runtime::ImageKind::kCubin, std::vector<std::byte>(100));
  write_bundle(sample.contents, folder.path() / "out", {.build_libraries = false});
  const Manifest manifest = read_manifest(folder.path() / "out");
  CHECK(manifest_text(manifest) == read_file(folder.path() / "out/manifest.json"));
  CHECK(manifest.name == "sample");
  CHECK(manifest.inputs.at(0).dtype == "float32");
  CHECK(manifest.outputs.at(1).dims == std::vector<std::int64_t>{kSampleRows});
  REQUIRE(manifest.architectures.size() == 2);
  const ManifestArchitecture& architecture = manifest.architectures[1];
  CHECK(architecture.architecture == 90);
  CHECK(architecture.workspace_bytes == 512);
  CHECK(architecture.plan == "plans/sm_90.plan");
  CHECK(architecture.images.at(0).path == "images/sm_90/unit_00.cubin");
  CHECK(architecture.images.at(0).kind == "cubin");
  REQUIRE(architecture.kernels.size() == 2);
  CHECK(architecture.kernels[0].nodes ==
        std::vector<std::string>{"/scale/Mul", "/bias/Add", "/Relu"});
  CHECK(architecture.kernels[0].predicted_us == 2.5);
}

TEST_CASE("a folder without a manifest of ours is no bundle") {
  const TemporaryFolder folder;
  const std::string path = folder.path().string();
  const std::string expected = "'" + path + "' is no bundle: no manifest.json of stitchc in it";
  REQUIRE_THROWS_WITH(read_manifest(path), expected);
  std::ofstream(folder.path() / "manifest.json") << R"({"format": "npm"})";
  REQUIRE_THROWS_WITH(read_manifest(path), expected);
  std::ofstream(folder.path() / "manifest.json") << "{";
  REQUIRE_THROWS_WITH(read_manifest(path), expected);
  CHECK_FALSE(is_bundle(path));
}

TEST_CASE("a manifest of another version, and a damaged one") {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "manifest.json").string();
  std::ofstream(path) << R"({"format": "stitchc bundle", "format_version": 9})";
  REQUIRE_THROWS_WITH(read_manifest(folder.path()),
                      "'" + path +
                          "' has format version 9, this stitchc reads 2\n"
                          "help: compile the model again");
  std::ofstream(path) << R"({"format": "stitchc bundle", "format_version": 2})";
  REQUIRE_THROWS_WITH(
      read_manifest(folder.path()),
      Catch::StartsWith("'" + path + "' is damaged: ") && Catch::Contains("key 'name' not found"));
}

TEST_CASE("names that are no UTF-8 do not stop the manifest") {
  Manifest manifest;
  manifest.inputs = {{"bad\xff name", "float32", {}, 4}};
  CHECK(manifest_text(manifest).find("bad\xEF\xBF\xBD name") != std::string::npos);
}

}  // namespace stitch
