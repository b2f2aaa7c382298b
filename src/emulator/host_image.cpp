#include "emulator/host_image.h"

#include <atomic>
#include <exception>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <thread>

#include "emulator/image_container.h"
#include "emulator/image_toolchain.h"
#include "emulator/kernel_scan.h"
#include "graph/error.h"

namespace stitch {
namespace fs = std::filesystem;
namespace {

// A compiler starts in about 60 ms, a kernel takes 50 to 100 ms: a few units share one.
// The number must not depend on the number of jobs, or the bytes of the image would.
constexpr std::size_t kUnitsPerObject = 6;

// Without a cache, precompiling the headers (1.0 to 1.3 s) pays from this many objects on, each of
// which then saves 0.3 s. The bytes of the image are the same either way.
constexpr std::size_t kObjectsWorthPrecompiling = 5;

// The text that describes a unit's kernels; it follows the unit, so that it sees its constants.
std::string kernel_table(const SourceText& unit, std::map<std::string, std::string>& unit_of) {
  std::string table;
  for (const KernelSignature& kernel : scan_kernels(unit)) {
    const auto [other, is_new] = unit_of.emplace(kernel.name, unit.name);
    if (!is_new)
      throw InternalError("kernel " + kernel.name + " is in two units: " + other->second + " and " +
                          unit.name);
    table += "STITCH_SIMT_KERNEL(" + kernel.name + ", (" + kernel.launch_bounds + "), (" +
             kernel.cluster_dims + "))\n";
  }
  return table;
}

// One source file per object: units in namespaces of their own, since each has its own constants.
std::vector<std::string> object_texts(std::span<const SourceText> units,
                                      const ImageToolchain& toolchain) {
  std::map<std::string, std::string> unit_of;
  std::vector<std::string> texts;
  const std::size_t per_object = toolchain.knows_device_headers() ? kUnitsPerObject : 1;
  for (std::size_t i = 0; i < units.size(); ++i) {
    if (i % per_object == 0) texts.emplace_back(i == 0 ? "#include \"image_entry.h\"\n" : "");
    const bool wrapped = toolchain.knows_device_headers();
    std::string& text = texts.back();
    if (wrapped) text += "namespace stitch_unit_" + std::to_string(i) + " {\n";
    text += "#line 1 \"" + units[i].name + "\"\n" + units[i].text + "\n";
    text += kernel_table(units[i], unit_of);
    if (wrapped) text += "}\n";
  }
  if (unit_of.empty()) throw InternalError("a host image needs at least one kernel");
  return texts;
}

// Runs the tasks on `jobs` threads and rethrows the failure of the lowest index.
void run_parallel(const std::vector<std::function<void()>>& tasks, unsigned jobs) {
  std::atomic<std::size_t> next{0};
  std::vector<std::exception_ptr> failures(tasks.size());
  const auto work = [&] {
    for (std::size_t i = next++; i < tasks.size(); i = next++) {
      try {
        tasks[i]();
      } catch (...) {
        failures[i] = std::current_exception();
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < jobs && i < tasks.size(); ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

std::vector<std::byte> read_bytes(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<std::byte> bytes(fs::file_size(path));
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

}  // namespace

std::vector<std::byte> build_host_image(std::span<const SourceText> units,
                                        const HostImageOptions& options) {
  const ImageToolchain toolchain(options);
  const std::vector<std::string> texts = object_texts(units, toolchain);
  const PrivateFolder folder;

  std::vector<ImageVariant> variants;
  if (options.plain) variants.push_back(ImageVariant::kPlain);
  if (options.checked) variants.push_back(ImageVariant::kChecked);
  if (variants.empty()) throw InternalError("a host image needs at least one variant");

  const bool precompile =
      !options.cache_folder.empty() || texts.size() >= kObjectsWorthPrecompiling;
  std::vector<std::function<void()>> preparations, compilations, links;
  std::vector<fs::path> shared_objects;
  for (const ImageVariant variant : variants) {
    if (precompile)
      preparations.emplace_back([&toolchain, variant] { toolchain.prepare(variant); });
    const std::string tag = std::to_string(static_cast<unsigned>(variant));
    std::vector<fs::path> objects;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const fs::path source = folder.path() / ("units_" + std::to_string(i) + ".cpp");
      if (variant == variants.front()) std::ofstream(source, std::ios::binary) << texts[i];
      objects.push_back(folder.path() / ("units_" + std::to_string(i) + "_" + tag + ".o"));
      compilations.emplace_back([&toolchain, variant, source, object = objects.back()] {
        toolchain.compile(variant, source, object);
      });
    }
    shared_objects.push_back(folder.path() / ("image_" + tag + ".so"));
    links.emplace_back(
        [&toolchain, objects, out = shared_objects.back()] { toolchain.link(objects, out); });
  }
  run_parallel(preparations, options.jobs);
  run_parallel(compilations, options.jobs);
  run_parallel(links, options.jobs);

  std::vector<ImageVariantBytes> built;
  for (std::size_t i = 0; i < variants.size(); ++i)
    built.push_back({variants[i], read_bytes(shared_objects[i])});
  return pack_host_image(built);
}

}  // namespace stitch
