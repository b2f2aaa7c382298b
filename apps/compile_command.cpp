// stitchc compile: an ONNX model becomes a bundle.
#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <memory>

#include "command.h"
#include "compile_model.h"
#include "console.h"
#include "emit_cuda/bundle/staged_folder.h"
#include "emit_cuda/bundle/write_bundle.h"
#include "exit_code.h"
#include "graph/error.h"
#include "kernel_table.h"
#include "model_flags.h"
#include "model_hash.h"
#include "plan_report.h"

namespace stitch {

namespace {

constexpr size_t kKernelsShown = 8;

struct CompileCommandFlags {
  ModelFlags model;
  CompileFlags compile;
  std::filesystem::path output;
  std::string name;
  BundleOptions bundle;
  ConsoleOptions console;
};

// The trail of data (docs/architecture.md).
int compile(const CompileCommandFlags& flags) {
  const auto start = std::chrono::steady_clock::now();
  Console console(flags.console);
  require_replaceable(flags.output, flags.bundle.force);
  CompiledModel compiled;
  import_model(flags.model.model, flags.model.import_options(), flags.compile, console, compiled);
  plan_model(flags.compile, console, compiled);
  build_kernels(flags.compile, flags.compile.wants_host() ? HostImages::kBoth : HostImages::kNone,
                console, compiled);

  const auto bundle_start = std::chrono::steady_clock::now();
  const BundleContents contents =
      bundle_contents(compiled, bundle_name_for(flags.model.model, flags.name),
                      model_hash(flags.model.model), flags.compile);
  const BundleSummary written = write_bundle(contents, flags.output, flags.bundle);
  const auto end = std::chrono::steady_clock::now();
  compiled.times.bundle_ms = std::chrono::duration<double, std::milli>(end - bundle_start).count();

  const std::string& name = contents.manifest.name;
  console.stage(
      "bundle",
      fmt::format("{}: {} architecture{}, {} of images, {}", flags.output.string(),
                  compiled.architectures.size(), compiled.architectures.size() == 1 ? "" : "s",
                  readable_bytes(static_cast<long long>(written.image_bytes)),
                  written.libraries_built
                      ? fmt::format("lib{0}.a, lib{0}.so", name)
                      : "no host compiler, so the library is to be built with cmake"));
  if (console.wants_json()) {
    console.json(report_json(compiled));
    return kDone;
  }
  console.line(kernel_table(contents.manifest.architectures.front(), kKernelsShown));
  console.line(fmt::format("done in {:.1f} s", std::chrono::duration<double>(end - start).count()));
  console.line(fmt::format("next: stitchc inspect {0} | stitchc inspect {0} --source NAME",
                           flags.output.string()));
  return kDone;
}

}  // namespace

void add_compile_command(CLI::App& app, Action& action) {
  auto flags = std::make_shared<CompileCommandFlags>();
  CLI::App* command = app.add_subcommand("compile", "compile a model to a bundle");
  add_model_flags(*command, flags->model);
  command->add_option("-o,--output", flags->output, "the bundle's folder")
      ->required()
      ->type_name("DIR");
  command->add_option("--name", flags->name, "prefix of the C API (default: from the file name)")
      ->type_name("PREFIX");
  add_planning_flags(*command, flags->compile);
  add_building_flags(*command, flags->compile);
  command->add_flag("--force", flags->bundle.force, "replace a folder that stitchc did not make");
  command->add_flag("--json", flags->console.json, "one JSON object on stdout");
  command->add_flag("-q,--quiet", flags->console.quiet, "print errors only");
  command->footer(
      "Examples:\n"
      "  stitchc compile bert.onnx -o bert_bundle --dim batch=8 --dim seq=128\n"
      "  stitchc compile bert.onnx -o bert_bundle --arch sm_80,sm_90,host\n"
      "  stitchc compile resnet.onnx -o out --contractions own --explain");
  command->callback([flags, &action] { action = [flags] { return compile(*flags); }; });
}

}  // namespace stitch
