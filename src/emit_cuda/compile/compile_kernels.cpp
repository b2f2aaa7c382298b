#include "emit_cuda/compile/compile_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>

#include "emit_cuda/compile/canonical_text.h"
#include "emit_cuda/compile/cubin_cache.h"
#include "graph/error.h"

namespace stitch {

namespace {

// About 25 ms of a compile go into the CUDA headers; more kernels a unit share them, fewer balance
// the threads better.
constexpr size_t kUnitsPerJob = 3;

struct Unit {
  std::string name;
  std::vector<std::string> kernels;
  std::string text;
};

struct UnitTask {
  size_t architecture = 0;
  size_t unit = 0;
};

// Kernels of one unit share its includes; their constants stay apart in namespaces.
Unit join(const std::vector<const KernelText*>& kernels) {
  Unit unit;
  std::set<std::string> includes;
  std::string bodies;
  for (const KernelText* kernel : kernels) {
    unit.kernels.push_back(kernel->name);
    std::string body;
    std::istringstream in(kernel->text);
    for (std::string line; std::getline(in, line);) {
      if (line.rfind("#include", 0) == 0)
        includes.insert(line);
      else
        body += line + '\n';
    }
    bodies += kernels.size() == 1
                  ? body
                  : fmt::format("namespace {}_scope {{\n{}}}  // namespace\n", kernel->name, body);
  }
  unit.name = unit.kernels.front() + ".cu";
  for (const std::string& include : includes) unit.text += include + '\n';
  unit.text += bodies;
  return unit;
}

std::vector<const KernelText*> distinct_kernels(const std::vector<KernelText>& kernels,
                                                std::map<std::string, std::string>& function_of) {
  std::map<std::string, std::string> first;  // canonical text -> name
  std::vector<const KernelText*> distinct;
  for (const KernelText& kernel : kernels) {
    const auto [known, fresh] =
        first.emplace(canonical_text(kernel.text, kernel.name), kernel.name);
    if (!function_of.emplace(kernel.name, known->second).second)
      throw InternalError("two kernels are called '" + kernel.name + "'");
    if (fresh) distinct.push_back(&kernel);
  }
  return distinct;
}

std::vector<Unit> make_units(const std::vector<const KernelText*>& kernels,
                             const CompileOptions& options) {
  size_t per_unit = 1;
  if (options.cache.empty()) {
    // Not a function of `jobs`: the bytes of a bundle must not depend on the machine.
    constexpr size_t kFewestKernels = 4, kMostKernels = 16;
    per_unit = std::clamp(kernels.size() / (2 * kUnitsPerJob), kFewestKernels, kMostKernels);
  }
  std::vector<Unit> units;
  for (size_t at = 0; at < kernels.size(); at += per_unit) {
    const size_t end = std::min(at + per_unit, kernels.size());
    units.push_back(join({kernels.begin() + static_cast<std::ptrdiff_t>(at),
                          kernels.begin() + static_cast<std::ptrdiff_t>(end)}));
  }
  return units;
}

std::string cache_key(const Unit& unit, const std::string& architecture,
                      const std::vector<VirtualHeader>& headers, const std::string& version) {
  std::string key = architecture + '\n' + version + '\n';
  for (const VirtualHeader& header : headers) key += header.text;
  return key + unit.text;
}

// The cubin and the resources of a unit from an earlier call for the same architecture.
bool take_from(const CompiledKernels* earlier, ArchitectureCubins& cubins, CubinUnit& unit) {
  if (earlier == nullptr) return false;
  for (const ArchitectureCubins& known : earlier->architectures) {
    if (known.architecture != cubins.architecture) continue;
    for (const CubinUnit& old : known.units) {
      if (old.text != unit.text) continue;
      unit.cubin = old.cubin;
      for (const std::string& kernel : unit.kernels)
        cubins.resources.emplace(kernel, known.resources.at(kernel));
      return true;
    }
  }
  return false;
}

}  // namespace

CompiledKernels compile_kernels(const std::vector<KernelText>& kernels, const Nvrtc& nvrtc,
                                const CompileOptions& options) {
  CompiledKernels result;
  result.nvrtc_version = nvrtc.version();
  const std::vector<std::string> known = nvrtc.architectures();
  for (const std::string& architecture : options.architectures) {
    const std::string plain = architecture.substr(0, architecture.find_last_of("0123456789") + 1);
    if (std::find(known.begin(), known.end(), plain) == known.end())
      throw DeviceError(fmt::format("NVRTC {} cannot compile for {}\nnote: it knows {}",
                                    result.nvrtc_version, architecture, fmt::join(known, ", ")));
  }
  const std::vector<Unit> units =
      make_units(distinct_kernels(kernels, result.function_of), options);
  const CubinCache cache(options.cache);

  std::vector<UnitTask> tasks;
  for (size_t a = 0; a < options.architectures.size(); ++a) {
    ArchitectureCubins cubins;
    cubins.architecture = options.architectures[a];
    for (size_t u = 0; u < units.size(); ++u) {
      cubins.units.push_back({units[u].name, units[u].kernels, {}, units[u].text});
      if (take_from(options.earlier, cubins, cubins.units.back())) continue;
      tasks.push_back({a, u});
    }
    result.architectures.push_back(std::move(cubins));
  }
  std::atomic<size_t> next{0};
  std::mutex mutex;  // guards what follows, and result
  std::exception_ptr error;
  int done = 0;
  const auto compile_one = [&](const UnitTask& task) {
    const Unit& unit = units[task.unit];
    const std::string& architecture = options.architectures[task.architecture];
    const std::string key =
        options.cache.empty()
            ? std::string()
            : cache_key(unit, architecture, options.device_files, result.nvrtc_version);
    auto output = cache.find(key);
    const bool cached = output.has_value();
    if (!cached) {
      output = nvrtc.compile({unit.name, unit.text, architecture, options.device_files});
      cache.store(key, *output);
    }
    auto resources = read_cubin_resources(output->cubin);
    read_spills(output->log, resources);
    const std::lock_guard lock(mutex);
    ArchitectureCubins& cubins = result.architectures[task.architecture];
    cubins.units[task.unit].cubin = std::move(output->cubin);
    cubins.resources.merge(resources);
    result.cached_units += cached ? 1 : 0;
    if (options.progress) options.progress(++done, static_cast<int>(tasks.size()));
  };
  const auto work = [&] {
    for (size_t i = next++; i < tasks.size(); i = next++) {
      try {
        compile_one(tasks[i]);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!error) error = std::current_exception();
        next = tasks.size();
      }
    }
  };
  std::vector<std::thread> threads;
  for (int j = 1; j < options.jobs; ++j) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  if (error) std::rethrow_exception(error);
  return result;
}

}  // namespace stitch
