#include "compile_flags.h"

#include <fmt/format.h>

#include <CLI/Validators.hpp>
#include <algorithm>
#include <thread>

#include "device_costs.h"
#include "frontend/name_suggestion.h"
#include "graph/error.h"

namespace stitch {

namespace {

std::vector<std::string> fusion_mode_names() {
  std::vector<std::string> names;
  for (const FusionModeName& mode : kFusionModes) names.emplace_back(mode.name);
  return names;
}

std::vector<std::string> technique_names() {
  std::vector<std::string> names;
  for (const TechniqueName& technique : kTechniques) names.emplace_back(technique.name);
  return names;
}

std::string technique_help() {
  return fmt::format("leave out what the planner does, to see what it is worth: {}",
                     fmt::join(technique_names(), ", "));
}

std::string fusion_mode_help() {
  std::string help;
  for (const FusionModeName& mode : kFusionModes)
    help += fmt::format("{}{}: {}", help.empty() ? "" : "; ", mode.name, mode.help);
  return help;
}

const std::vector<std::string> kContractionModes = {"library", "own"};

size_t index_of(const std::vector<std::string>& names, const std::string& flag,
                const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<size_t>(found - names.begin());
  std::string message =
      fmt::format("{} {}: expected one of {}", flag, name, fmt::join(names, ", "));
  if (const auto near = nearest_name(name, names))
    message += "\nhelp: did you mean '" + *near + "'?";
  throw ModelError(message);
}

void check_calibrations(const CompileFlags& flags) {
  for (const std::filesystem::path& file : flags.calibrations) {
    const Calibration calibration = read_calibration_file(file);
    std::vector<std::string_view> planned;
    for (const std::string& architecture : flags.device_architectures())
      planned.push_back(find_device(flags.target, architecture).name);
    if (std::find(planned.begin(), planned.end(), calibration.device) != planned.end()) continue;
    throw ModelError(fmt::format("--calibration {}: it is of {}, and the plan is for {}",
                                 file.string(), calibration.device, fmt::join(planned, ", ")));
  }
}

}  // namespace

std::vector<std::string> CompileFlags::device_architectures() const {
  std::vector<std::string> devices;
  for (const std::string& architecture : architectures) {
    if (architecture == "host") continue;
    if (architecture.rfind("sm_", 0) != 0)
      throw ModelError(fmt::format(
          "--arch {}: expected sm_75, sm_80, sm_86, sm_89, sm_90, sm_100 or host", architecture));
    if (std::find(devices.begin(), devices.end(), architecture) == devices.end())
      devices.push_back(architecture);
  }
  if (devices.empty())
    throw ModelError("--arch host needs an architecture beside it, whose plan it runs");
  return devices;
}

bool CompileFlags::wants_host() const {
  return std::find(architectures.begin(), architectures.end(), "host") != architectures.end();
}

PlanOptions CompileFlags::plan_options(const std::string& architecture) const {
  PlanOptions options;
  options.architecture = architecture;
  options.device = target;
  if (!calibrations.empty()) {
    check_calibrations(*this);
    options.device_model = with_calibration(find_device(target, architecture));
  }
  options.fusion = kFusionModes[index_of(fusion_mode_names(), "--fusion", fusion)].mode;
  options.contractions = index_of(kContractionModes, "--contractions", contractions) == 0
                             ? ContractionMode::kLibrary
                             : ContractionMode::kOwn;
  if (max_fusions >= 0) options.max_fusions = max_fusions;
  for (const std::string& name : without) {
    options.techniques.leave_out(
        kTechniques[index_of(technique_names(), "--without", name)].technique);
  }
  return options;
}

int CompileFlags::job_count() const {
  return jobs > 0 ? jobs : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

DeviceModel CompileFlags::with_calibration(const DeviceModel& shipped) const {
  DeviceModel device = shipped;
  for (const std::filesystem::path& file : calibrations) {
    const Calibration calibration = read_calibration_file(file);
    if (calibration.device == device.name) device = calibrated(device, calibration);
  }
  return device;
}

void add_planning_flags(CLI::App& command, CompileFlags& flags) {
  command.add_option("--arch", flags.architectures, "sm_80 or sm_80,sm_90,host (default sm_80)")
      ->delimiter(',')
      ->type_name("LIST");
  command
      .add_option("--target", flags.target,
                  "device model to plan for instead of the architecture's default: v100, t4, a10, "
                  "a100, l4, h100, h200, b200")
      ->type_name("DEVICE");
  CLI::Option* const mode =
      command.add_option("--fusion", flags.fusion, fusion_mode_help())->type_name("MODE");
  CLI::Option* const contractions =
      command
          .add_option(
              "--contractions", flags.contractions,
              "library: matmuls by cuBLASLt; own: generated kernels that need the driver only")
          ->type_name("MODE");
  CLI::Option* const without = command.add_option("--without", flags.without, technique_help())
                                   ->delimiter(',')
                                   ->type_name("LIST");
  CLI::Option* const most =
      command
          .add_option("--max-fusions", flags.max_fusions,
                      "stitch the first N regions only, to bisect a wrong result")
          ->type_name("N");
  CLI::Option* const only =
      command
          .add_option("--only-kernel", flags.only_kernel,
                      "stitch only the region of kernel K, a name or number of the whole plan; the "
                      "others get a kernel per node")
          ->excludes(most)
          ->type_name("K");
  CLI::Option* const calibrations =
      command
          .add_option("--calibration", flags.calibrations,
                      "take the costs of a device from files that `stitchc calibrate` wrote")
          ->delimiter(',')
          ->type_name("FILE");
  command
      .add_option("--plan", flags.plans,
                  "take the plan of this file, one for each architecture, instead of planning")
      ->delimiter(',')
      ->excludes(mode)
      ->excludes(contractions)
      ->excludes(without)
      ->excludes(most)
      ->excludes(only)
      ->excludes(calibrations)
      ->type_name("FILE");
  command
      .add_option("--dump-dir", flags.dump_dir, "write the graph after every pass and the plans")
      ->type_name("DIR");
  command.add_flag("--explain", flags.explain, "say why kernels were not stitched together");
}

void add_building_flags(CLI::App& command, CompileFlags& flags) {
  command.add_option("--jobs,-j", flags.jobs, "compile on N threads (default: one per core)")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  command.add_option("--cuda", flags.cuda, "folder of a CUDA toolkit to take NVRTC from")
      ->check(CLI::ExistingDirectory)
      ->type_name("DIR");
  command.add_option("--cache", flags.cache, "keep compiled kernels here for the next run")
      ->type_name("DIR");
}

}  // namespace stitch
