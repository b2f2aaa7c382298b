#include "compile_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <thread>

#include "device_costs.h"
#include "emit_cuda/bundle/bundle_name.h"
#include "emit_cuda/device_files.h"
#include "emit_cuda/program/launch_program.h"
#include "emulator/host_image.h"
#include "graph/error.h"
#include "graph/passes.h"
#include "only_kernel.h"
#include "plan_counts.h"
#include "plan_file.h"
#include "planner/check/plan_validate.h"
#include "planner/plan/plan_text.h"
#include "planner/report/explain.h"
#include "planner/report/requested_bytes.h"
#include "spills.h"

namespace stitch {
namespace fs = std::filesystem;

namespace {

// Of compiling a kernel anew that spills.
constexpr int kMostRounds = 3;

class Stopwatch {
 public:
  double milliseconds() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_)
        .count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

void dump(const fs::path& folder, const std::string& name, const std::string& text) {
  fs::create_directories(folder);
  std::ofstream(folder / name, std::ios::binary) << text;
}

PassOptions pass_options(const fs::path& dump_dir) {
  PassOptions options;
  if (dump_dir.empty()) return options;
  options.dump = [dump_dir, number = 0](const std::string& pass, const std::string& text) mutable {
    dump(dump_dir, fmt::format("{:02}_{}.graph", number++, pass), text);
  };
  return options;
}

int64_t constant_bytes(const Graph& graph) {
  int64_t bytes = 0;
  for (size_t i = 0; i < graph.value_count(); ++i)
    if (const Tensor* tensor = graph.constant(ValueId(i))) bytes += tensor->byte_count();
  return bytes;
}

std::string source_folder(const Plan& plan) { return "src/kernels/" + plan.architecture; }

// The texts of all architectures; a kernel that two architectures share word for word is one.
std::vector<KernelText> kernel_texts(const PlannedArchitecture& planned) {
  std::vector<KernelText> texts;
  for (const KernelSource& kernel : planned.kernels) texts.push_back({kernel.name, kernel.text});
  return texts;
}

std::vector<std::byte> host_image(const PlannedArchitecture& planned,
                                  const CompiledKernels& compiled, const CompileFlags& flags,
                                  HostImages host) {
  std::vector<SourceText> units;
  for (const KernelSource& kernel : planned.kernels)
    if (compiled.function_of.at(kernel.name) == kernel.name)
      units.push_back({kernel.name + ".cu", kernel.text});
  if (units.empty()) return {};
  HostImageOptions options;
  for (const DeviceFile& file : device_files())
    options.device_headers.push_back({std::string(file.name), std::string(file.text)});
  options.cuda_include_folder = default_nvrtc_location(flags.cuda).include_dirs.front();
  options.cache_folder = flags.cache;
  options.plain = host != HostImages::kChecked;
  options.checked = host != HostImages::kPlain;
  options.jobs = static_cast<unsigned>(flags.job_count());
  return build_host_image(units, options);
}

// The plan of a file, which must be for an architecture and a device that the flags ask for.
Plan read_file_for(const fs::path& file, const Graph& graph, const CompileFlags& flags) {
  Plan plan = read_plan_file(file, graph);
  const std::vector<std::string> asked = flags.device_architectures();
  if (std::find(asked.begin(), asked.end(), plan.architecture) == asked.end())
    throw ModelError(
        fmt::format("'{}' is a plan for {}, and --arch asks for {}\nhelp: pass --arch {}",
                    file.string(), plan.architecture, fmt::join(asked, ", "), plan.architecture));
  if (!flags.target.empty() && flags.target != plan.device)
    throw ModelError(fmt::format("'{}' is a plan for the device {}, and --target asks for {}",
                                 file.string(), plan.device, flags.target));
  return plan;
}

Plan plan_for(const std::string& architecture, const Graph& graph, const CompileFlags& flags,
              std::vector<Plan>& files) {
  if (flags.plans.empty()) {
    const PlanOptions options = flags.plan_options(architecture);
    return flags.only_kernel.empty() ? make_plan(graph, options)
                                     : plan_only_kernel(graph, options, flags.only_kernel);
  }
  const auto found = std::find_if(files.begin(), files.end(), [&](const Plan& plan) {
    return plan.architecture == architecture;
  });
  if (found == files.end())
    throw ModelError(
        fmt::format("--arch asks for {}, and no file of --plan is for it", architecture));
  Plan plan = std::move(*found);
  files.erase(found);
  return plan;
}

// Rules that only the emitter knows are the file's matter where the plan is.
std::vector<KernelSource> emit(const Plan& plan, const CompileFlags& flags) {
  try {
    std::vector<KernelSource> kernels = emit_kernels(plan);
    if (!flags.dump_dir.empty())
      for (const KernelSource& kernel : kernels)
        dump(flags.dump_dir / plan.architecture, kernel.name + ".cu", kernel.text);
    return kernels;
  } catch (const InternalError& error) {
    if (flags.plans.empty()) throw;
    throw ModelError(fmt::format("the plan of --plan for {} has no kernels: {}", plan.architecture,
                                 error.what()));
  }
}

// What the planner decided, then why each value goes through memory.
void explain(const PlannedArchitecture& planned, const CompileFlags& flags, Console& console) {
  const Plan& plan = planned.plan;
  const std::string otherwise = flags.plans.empty()
                                    ? fmt::format("--fusion {} joins them no further", flags.fusion)
                                    : "the file of --plan has them apart";
  console.line(fmt::format("{}: {}", plan.architecture, costs_line(planned.device)));
  for (const std::string& note : plan.notes)
    console.line(fmt::format("{}: {}", plan.architecture, note));
  for (const PlanEdge& edge : plan_edges(plan, planned.device, otherwise))
    console.line(fmt::format("{}: {}", plan.architecture, edge_text(plan, edge)));
}

// Kernels that spill get more registers, by fewer blocks at a time, as long as that is possible.
void compile_without_spills(PlannedArchitecture& planned, const Nvrtc& nvrtc,
                            CompileOptions options, const CompileFlags& flags) {
  planned.compiled = compile_kernels(kernel_texts(planned), nvrtc, options);
  options.progress = {};
  for (int round = 0; round < kMostRounds && give_registers(planned); ++round) {
    planned.kernels = emit(planned.plan, flags);
    options.earlier = &planned.compiled;
    planned.compiled = compile_kernels(kernel_texts(planned), nvrtc, options);
  }
}

}  // namespace

void import_model(const fs::path& model, const ImportOptions& options, const CompileFlags& flags,
                  Console& console, CompiledModel& compiled) {
  const Stopwatch import_time;
  ImportResult imported = import_onnx(model, options);
  compiled.notes = std::move(imported.notes);
  compiled.times.import_ms = import_time.milliseconds();
  const Stopwatch pass_time;
  compiled.graph = run_passes(std::move(imported.graph), pass_options(flags.dump_dir));
  compiled.times.passes_ms = pass_time.milliseconds();
  console.stage("import",
                fmt::format("{} nodes, {} primitives, {} of weights",
                            with_thousands(compiled.graph.onnx_node_count),
                            with_thousands(static_cast<long long>(compiled.graph.node_count())),
                            readable_bytes(constant_bytes(compiled.graph))));
  for (const std::string& note : compiled.notes) console.note(note);
}

void plan_model(const CompileFlags& flags, Console& console, CompiledModel& compiled) {
  const Stopwatch time;
  std::string text;
  std::vector<Plan> files;
  for (const fs::path& file : flags.plans)
    files.push_back(read_file_for(file, compiled.graph, flags));
  for (const std::string& architecture : flags.device_architectures()) {
    PlannedArchitecture planned;
    planned.plan = plan_for(architecture, compiled.graph, flags, files);
    planned.device =
        flags.with_calibration(find_device(planned.plan.device, planned.plan.architecture));
    const PlanCounts counts = count_plan(planned.plan);
    text += fmt::format("{}{}  {} regions -> {} kernels + {}", text.empty() ? "" : "     ",
                        architecture, counts.regions, counts.kernels,
                        contractions_text(counts.contractions, counts.contraction_calls));
    if (!flags.dump_dir.empty())
      dump(flags.dump_dir, architecture + ".plan", print_plan(planned.plan));
    compiled.architectures.push_back(std::move(planned));
  }
  compiled.times.plan_ms = time.milliseconds();
  for (const fs::path& file : flags.calibrations)
    if (read_calibration_file(file).clock == CalibrationClock::kEmulator)
      console.note(fmt::format(
          "'{}' was measured on the emulator, whose clock says nothing of a GPU", file.string()));
  console.stage("plan", text);
  if (flags.explain)
    for (const PlannedArchitecture& planned : compiled.architectures)
      explain(planned, flags, console);
}

void build_kernels(const CompileFlags& flags, HostImages host, Console& console,
                   CompiledModel& compiled) {
  const Stopwatch emit_time;
  size_t emitted = 0;
  for (PlannedArchitecture& planned : compiled.architectures) {
    if (flags.plans.empty()) validate_plan(planned.plan);
    count_requested_bytes(planned.plan);
    planned.kernels = emit(planned.plan, flags);
    emitted += planned.kernels.size();
  }
  compiled.times.emit_ms = emit_time.milliseconds();

  const Stopwatch compile_time;
  const Nvrtc nvrtc = Nvrtc::open(default_nvrtc_location(flags.cuda));
  CompileOptions options;
  for (const DeviceFile& file : device_files())
    options.device_files.push_back({std::string(file.name), std::string(file.text)});
  options.cache = flags.cache;
  options.jobs = flags.job_count();
  size_t distinct = 0;
  for (PlannedArchitecture& planned : compiled.architectures) {
    options.architectures = {planned.plan.architecture};
    options.progress = [&](int done, int all) {
      console.progress("compile", done, all,
                       fmt::format("{}, nvrtc {}", planned.plan.architecture, nvrtc.version()));
    };
    compile_without_spills(planned, nvrtc, options, flags);
    distinct += planned.compiled.architectures.front().resources.size();
    if (host != HostImages::kNone)
      planned.host_image = host_image(planned, planned.compiled, flags, host);
  }
  compiled.times.compile_ms = compile_time.milliseconds();
  console.stage("emit", fmt::format("{} kernels, {} distinct", emitted, distinct));
  console.stage("compile", fmt::format("nvrtc {}, {} jobs, {:.1f} s", nvrtc.version(), options.jobs,
                                       compiled.times.compile_ms / 1000));
  for (const PlannedArchitecture& planned : compiled.architectures)
    for (const Spill& spill : spills_of(planned))
      console.note(spill_text(spill, planned.plan.architecture));
}

BundleContents bundle_contents(const CompiledModel& compiled, const std::string& name,
                               const std::string& model_hash, const CompileFlags& flags) {
  BundleContents contents;
  WeightSegments weights;
  contents.program.inputs = input_tensors(compiled.graph);
  contents.program.outputs = output_tensors(compiled.graph);
  contents.manifest.name = name;
  contents.manifest.model_hash = model_hash;
  contents.manifest.tool_version = STITCHC_VERSION;
  contents.manifest.nodes = static_cast<int>(compiled.graph.onnx_node_count);
  contents.manifest.flags = {"--fusion=" + flags.fusion, "--contractions=" + flags.contractions};
  for (const fs::path& file : flags.plans)
    contents.manifest.flags.push_back("--plan=" + file.filename().string());
  for (const fs::path& file : flags.calibrations)
    contents.manifest.flags.push_back("--calibration=" + file.filename().string());
  if (!flags.only_kernel.empty())
    contents.manifest.flags.push_back("--only-kernel=" + flags.only_kernel);
  for (const PlannedArchitecture& planned : compiled.architectures) {
    const ArchitectureCubins& cubins = planned.compiled.architectures.front();
    const ProgramInput input{planned.plan, planned.kernels, planned.compiled, cubins,
                             source_folder(planned.plan)};
    contents.manifest.nvrtc_version = planned.compiled.nvrtc_version;
    contents.program.architectures.push_back(make_architecture_program(input, weights));
    contents.manifest.architectures.push_back(make_manifest_architecture(input));
    ArchitectureImages images;
    images.architecture = architecture_number(planned.plan.architecture);
    for (size_t u = 0; u < cubins.units.size(); ++u)
      images.images.push_back(
          {runtime::ImageKind::kCubin, static_cast<uint32_t>(u), 1, cubins.units[u].cubin});
    if (!planned.host_image.empty())
      images.images.push_back({runtime::ImageKind::kHost, 0,
                               static_cast<uint32_t>(cubins.units.size()), planned.host_image});
    contents.images.push_back(std::move(images));
    for (const KernelSource& kernel : planned.kernels)
      contents.sources.push_back(
          {fmt::format("{}/{}.cu", planned.plan.architecture, kernel.name), kernel.text});
    contents.plans.push_back(
        {architecture_number(planned.plan.architecture), print_plan(planned.plan)});
  }
  for (const DeviceFile& file : device_files())
    contents.sources.push_back({std::string(file.name), std::string(file.text)});
  contents.weights = weights.segments();
  return contents;
}

std::string bundle_name_for(const fs::path& model, const std::string& wish) {
  if (!wish.empty()) return bundle_name(wish);
  // "bert/model.onnx" is called after its folder.
  const std::string stem = model.stem().string();
  const fs::path folder = fs::absolute(model).parent_path().filename();
  return bundle_name(stem == "model" && !folder.empty() ? folder.string() : stem);
}

}  // namespace stitch
