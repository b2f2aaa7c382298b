// stitchc inspect: what is in a bundle.
#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <memory>

#include "command.h"
#include "console.h"
#include "emit_cuda/bundle/manifest.h"
#include "exit_code.h"
#include "frontend/name_suggestion.h"
#include "graph/error.h"
#include "kernel_table.h"

namespace stitch {

namespace {

struct InspectFlags {
  std::filesystem::path bundle;
  std::string architecture;  // "sm_80"; empty: the first
  std::string kernel;
  std::string source;
  ConsoleOptions console;
};

const ManifestArchitecture& chosen_architecture(const Manifest& manifest, const std::string& name) {
  if (manifest.architectures.empty()) throw ModelError("the bundle holds no architecture");
  if (name.empty()) return manifest.architectures.front();
  std::string known;
  for (const ManifestArchitecture& architecture : manifest.architectures) {
    const std::string own = fmt::format("sm_{}", architecture.architecture);
    if (own == name) return architecture;
    known += (known.empty() ? "" : ", ") + own;
  }
  throw ModelError(fmt::format("the bundle has no architecture '{}'; it holds {}", name, known));
}

// A kernel by its name, or by an unambiguous beginning of it ("k04").
const ManifestKernel& chosen_kernel(const ManifestArchitecture& architecture,
                                    const std::string& name) {
  std::vector<const ManifestKernel*> begins;
  std::vector<std::string> names;
  for (const ManifestKernel& kernel : architecture.kernels) {
    if (kernel.name == name) return kernel;
    if (kernel.name.rfind(name, 0) == 0) begins.push_back(&kernel);
    names.push_back(kernel.name);
  }
  if (begins.size() == 1) return *begins.front();
  std::string message =
      begins.empty() ? fmt::format("the bundle has no kernel '{}'", name)
                     : fmt::format("'{}' begins the names of {} kernels", name, begins.size());
  if (const auto near = nearest_name(name, names))
    message += "\nhelp: did you mean '" + *near + "'?";
  throw ModelError(message);
}

std::string read_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw ModelError(fmt::format("cannot read '{}'", path.string()));
  return {std::istreambuf_iterator<char>(in), {}};
}

int inspect(const InspectFlags& flags) {
  const Manifest manifest = read_manifest(flags.bundle);
  Console console(flags.console);
  if (console.wants_json()) {
    console.json(read_text(flags.bundle / "manifest.json"));
    return kDone;
  }
  const ManifestArchitecture& architecture = chosen_architecture(manifest, flags.architecture);
  if (!flags.source.empty()) {
    const ManifestKernel& kernel = chosen_kernel(architecture, flags.source);
    std::string text = read_text(flags.bundle / kernel.source);
    if (!text.empty() && text.back() == '\n') text.pop_back();
    console.line(text);
  } else if (!flags.kernel.empty()) {
    console.line(kernel_details(chosen_kernel(architecture, flags.kernel)));
  } else {
    console.line(kernel_table(architecture));
    console.line("min = each input and output once. Times are predicted and uncalibrated.");
  }
  return kDone;
}

}  // namespace

void add_inspect_command(CLI::App& app, Action& action) {
  auto flags = std::make_shared<InspectFlags>();
  CLI::App* command =
      app.add_subcommand("inspect", "kernels of a bundle: nodes, mappings, resources, bytes");
  command->add_option("bundle", flags->bundle, "a folder that stitchc made")
      ->required()
      ->type_name("DIR");
  command->add_option("--arch", flags->architecture, "one of the bundle's architectures")
      ->type_name("sm_XX");
  command->add_option("--kernel", flags->kernel, "details of one kernel")->type_name("NAME");
  command->add_option("--source", flags->source, "the CUDA source of one kernel")
      ->type_name("NAME");
  command->add_flag("--json", flags->console.json, "the manifest as JSON");
  command->footer(
      "Examples:\n  stitchc inspect bundle\n  stitchc inspect bundle --arch sm_90 --kernel k04\n"
      "  stitchc inspect bundle --source k04");
  command->callback([flags, &action] { action = [flags] { return inspect(*flags); }; });
}

}  // namespace stitch
