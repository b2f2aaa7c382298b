// What is on disk after a bundle is written, and what is not.
#include "emit_cuda/bundle/write_bundle.h"

#include <cstring>
#include <fstream>
#include <numeric>
#include <string>

#include "graph/error.h"
#include "graph/subprocess.h"
#include "runtime/content_hash.h"
#include "runtime/program_codec.h"
#include "sample_bundle.h"
#include "support/catch.h"
#include "temporary_folder.h"

namespace stitch {
namespace {

namespace fs = std::filesystem;

SampleBundle sample(const std::string& name = "sample") {
  return make_sample(name, runtime::ImageKind::kCubin, std::vector<std::byte>(100, std::byte{7}));
}

constexpr BundleOptions kWithoutLibraries = {.build_libraries = false};

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

TEST_CASE("a bundle has the files that the format names") {
  const TemporaryFolder folder;
  write_bundle(sample().contents, folder.path() / "out", kWithoutLibraries);
  const auto files = files_below(folder.path() / "out");
  for (const char* path :
       {"include/sample.h", "src/sample.cpp", "src/sample_images.S", "src/exports.map",
        "src/runtime/driver.cpp", "src/runtime/namespace.h", "src/kernels/sample.cu",
        "images/program.bin", "images/sm_80/unit_00.cubin", "images/sm_90/unit_00.cubin",
        "weights.bin", "plans/sm_80.plan", "manifest.json", "CMakeLists.txt",
        "lib/cmake/sample/sampleConfig.cmake", "sample.pc"}) {
    INFO(path);
    CHECK(files.count(path) == 1);
  }
  CHECK(files.at("src/kernels/sample.cu") == sample_source());
  CHECK(files.at("images/sm_80/unit_00.cubin") == std::string(100, 7));
}

TEST_CASE("the same contents give the same bytes, libraries too, wherever they are written") {
  const TemporaryFolder folder;
  const bool built = write_bundle(sample().contents, folder.path() / "a/first").libraries_built;
  write_bundle(sample().contents, folder.path() / "second");
  const auto first = files_below(folder.path() / "a/first");
  CHECK(first == files_below(folder.path() / "second"));
  CHECK(built == (first.count("lib/libsample.so") == 1));
  CHECK(built == (first.count("lib/libsample.a") == 1));
  for (const auto& [path, bytes] : first) {
    INFO(path);
    CHECK(bytes.find(folder.path().string()) == std::string::npos);
    CHECK(bytes.find(STITCH_SOURCE_DIR) == std::string::npos);
  }
}

TEST_CASE("the launch program on disk says where everything lies") {
  const TemporaryFolder folder;
  const SampleBundle bundle = sample();
  write_bundle(bundle.contents, folder.path() / "out", kWithoutLibraries);
  const std::string bytes = read_file(folder.path() / "out/images/program.bin");
  const runtime::LaunchProgram program = runtime::decode_program(bytes.data(), bytes.size());
  CHECK(program.model_name == "sample");
  REQUIRE(program.architectures.size() == 2);
  CHECK(program.architectures[0].images.at(0).offset == 0);
  CHECK(program.architectures[1].images.at(0).offset == 128);  // 100 bytes and a zero, to 64
  const std::string weights = read_file(folder.path() / "out/weights.bin");
  CHECK(weights.size() == 4096);
  CHECK(program.weights_bytes == 4096);
  CHECK(program.weights_hash == runtime::content_hash(weights.data(), weights.size()));
}

TEST_CASE("equal constants are stored once") {
  const TemporaryFolder folder;
  SampleBundle bundle = sample();
  const std::vector<std::byte> other(300, std::byte{1});
  const WeightSegment bias = bundle.contents.weights[0];
  const std::vector<std::byte> same(bias.bytes.begin(), bias.bytes.end());
  bundle.contents.weights = {bias, {other, {}}, {same, {}}};
  write_bundle(bundle.contents, folder.path() / "out", kWithoutLibraries);
  const std::string bytes = read_file(folder.path() / "out/images/program.bin");
  const auto segments = runtime::decode_program(bytes.data(), bytes.size()).weights_segments;
  REQUIRE(segments.size() == 3);
  CHECK(segments[0].offset == 0);
  CHECK(segments[1].offset == 256);
  CHECK(segments[2].offset == 0);
}

TEST_CASE("weights are stored in the order in which kernels read them") {
  const TemporaryFolder folder;
  SampleBundle bundle = sample();
  // Large enough to be put in order in several pieces.
  constexpr size_t kRows = 1500, kColumns = 300;
  std::vector<float> matrix(kRows * kColumns);
  std::iota(matrix.begin(), matrix.end(), 0.0F);
  WeightSegment columns{std::as_bytes(std::span(matrix)), {}, sizeof(float)};
  columns.order = *in_storage_order({kRows, kColumns}, {1, kRows});
  WeightSegment rows = columns;
  rows.order = {};
  bundle.contents.weights = {bundle.contents.weights[0], columns, rows};
  write_bundle(bundle.contents, folder.path() / "out", kWithoutLibraries);
  const std::string bytes = read_file(folder.path() / "out/images/program.bin");
  const auto segments = runtime::decode_program(bytes.data(), bytes.size()).weights_segments;
  REQUIRE(segments.size() == 3);
  CHECK(segments[1].offset != segments[2].offset);
  const std::string file = read_file(folder.path() / "out/weights.bin");
  std::vector<float> stored(matrix.size());
  std::memcpy(stored.data(), file.data() + segments[1].offset, segments[1].bytes);
  bool in_order = true;
  for (size_t r = 0; r < kRows; ++r) {
    for (size_t c = 0; c < kColumns; ++c) {
      in_order = in_order && stored[c * kRows + r] == matrix[r * kColumns + c];
    }
  }
  CHECK(in_order);
  std::memcpy(stored.data(), file.data() + segments[2].offset, segments[2].bytes);
  CHECK(stored == matrix);
}

TEST_CASE("strides that leave gaps or share elements are no order of storage") {
  CHECK(in_storage_order({4, 6}, {6, 1}));
  CHECK(in_storage_order({4, 1, 6}, {1, 99, 4}));
  CHECK_FALSE(in_storage_order({4, 6}, {8, 1}));
  CHECK_FALSE(in_storage_order({4, 6}, {1, 1}));
  CHECK_FALSE(in_storage_order({4, 6}, {0, 1}));
}

TEST_CASE("a folder of somebody else is not touched") {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "out";
  fs::create_directories(out);
  std::ofstream(out / "thesis.tex") << "years of work";
  REQUIRE_THROWS_AS(write_bundle(sample().contents, out, kWithoutLibraries), ModelError);
  REQUIRE_THROWS_WITH(write_bundle(sample().contents, out, kWithoutLibraries),
                      "'" + out.string() +
                          "' exists and was not made by stitchc\n"
                          "help: choose another folder, or pass --force to replace it");
  CHECK(read_file(out / "thesis.tex") == "years of work");
  CHECK(names_in(folder.path()) == std::vector<std::string>{"out"});

  SECTION("unless it is forced") {
    write_bundle(sample().contents, out, {.force = true, .build_libraries = false});
    CHECK(is_bundle(out));
    CHECK_FALSE(fs::exists(out / "thesis.tex"));
  }
}

TEST_CASE("a bundle replaces an earlier one, and an empty folder") {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "out";
  fs::create_directories(out);
  write_bundle(sample().contents, out, kWithoutLibraries);
  write_bundle(sample("other").contents, out, kWithoutLibraries);
  CHECK(read_manifest(out).name == "other");
  CHECK_FALSE(fs::exists(out / "include/sample.h"));
  CHECK(names_in(folder.path()) == std::vector<std::string>{"out"});
}

TEST_CASE("contents that contradict themselves leave nothing behind") {
  const TemporaryFolder folder;
  SampleBundle bundle = sample();
  auto& launch =
      std::get<runtime::KernelLaunch>(bundle.contents.program.architectures[0].items[0].steps[0]);
  std::get<runtime::BufferRef>(launch.arguments[0]).offset = 4;
  REQUIRE_THROWS_WITH(write_bundle(bundle.contents, folder.path() / "out"),
                      "launch program of sm_80, kernel 'k00_scale_bias_relu': argument 0 reaches "
                      "byte 1284 of 1280");
  CHECK(names_in(folder.path()).empty());
}

TEST_CASE("the header names inputs and outputs, whatever their names hold") {
  const TemporaryFolder folder;
  write_bundle(sample().contents, folder.path() / "out", kWithoutLibraries);
  const std::string header = read_file(folder.path() / "out/include/sample.h");
  CHECK(header.find(" *   input 0: x*? \"in\" float32[5,64], 1280 bytes\n") != std::string::npos);
  CHECK(header.find(" *   output 1: row.sums float32[5], 20 bytes\n") != std::string::npos);
  CHECK(header.find("SAMPLE_OUTPUT_ROW_SUMS = 1") != std::string::npos);
  CHECK(header.find('@') == std::string::npos);
}

TEST_CASE("the library exports the model's functions and nothing else") {
  const TemporaryFolder folder;
  if (!write_bundle(sample().contents, folder.path() / "out").libraries_built) {
    WARN("no host compiler: skipped");
    return;
  }
  const auto listed =
      run_process({"/usr/bin/env", "nm", "-D", "--defined-only", "-f", "posix", "lib/libsample.so"},
                  folder.path() / "out");
  REQUIRE(listed.exit_code == 0);
  std::istringstream lines(listed.output);
  int functions = 0;
  for (std::string line; std::getline(lines, line); ++functions) {
    INFO(line);
    CHECK(line.rfind("sample_", 0) == 0);
  }
  CHECK(functions == 19);
}

}  // namespace stitch
