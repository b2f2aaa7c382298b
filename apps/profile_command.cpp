// stitchc profile: the quality of each kernel, counted by the emulator.
#include <fmt/format.h>

#include <memory>

#include "command.h"
#include "console.h"
#include "exit_code.h"
#include "graph/error.h"
#include "model_flags.h"
#include "profile_model.h"
#include "table.h"

namespace stitch {

namespace {

struct ProfileFlags {
  ProfileRequest request;
  ModelFlags model;
  std::string device = "emulator";
  ConsoleOptions console;
};

std::string two_digits(double number) { return fmt::format("{:.2f}", number); }

std::vector<std::string> row(const KernelProfile& kernel) {
  if (!kernel.was_launched) return {kernel.name, "not launched: its twin ran instead"};
  return {kernel.name,
          readable_bytes(kernel.bytes),
          readable_bytes(kernel.compulsory_bytes),
          two_digits(kernel.traffic_ratio()),
          fmt::format("{:.3f}", kernel.sector_efficiency()),
          kernel.shared_wavefronts > 0 ? two_digits(kernel.bank_conflict_factor()) : "-",
          fmt::format("{:.3g}", kernel.barriers),
          std::to_string(kernel.grid_barriers),
          fmt::format("{:.1f}", kernel.instructions_per_element()),
          std::to_string(kernel.registers),
          std::to_string(kernel.spill_bytes),
          kernel.shared_bytes == 0 ? "0" : readable_bytes(kernel.shared_bytes),
          fmt::format("{:.0f} %", 100 * kernel.occupancy),
          two_digits(kernel.waves),
          fmt::format("{:.2f} us", kernel.limit_us),
          fmt::format("{:.1f} us", kernel.predicted_us)};
}

std::string profile_table(const ModelProfile& profile) {
  const std::vector<TableColumn> columns = {{"kernel", Align::kLeft},
                                            {"bytes"},
                                            {"min"},
                                            {"traffic"},
                                            {"sectors"},
                                            {"banks"},
                                            {"barriers"},
                                            {"grid"},
                                            {"instr"},
                                            {"regs"},
                                            {"spill"},
                                            {"smem"},
                                            {"occupancy"},
                                            {"waves"},
                                            {"limit"},
                                            {"predicted"}};
  Table table(columns);
  for (const KernelProfile& kernel : profile.kernels) {
    std::vector<std::string> cells = row(kernel);
    cells.resize(columns.size());
    table.add_row(std::move(cells));
  }
  return table.to_string();
}

std::string summary(const ModelProfile& profile) {
  const std::vector<KernelProfile> kernels = profile.memory_intensive();
  const KernelProfile total = total_profile(kernels);
  std::string text = fmt::format(
      "{} kernels on {}, inputs {}: {} through global memory of {} at least, {} requested; "
      "sectors {:.3f} used, bank conflicts {:.2f}, spills {} B",
      kernels.size(), profile.device, profile.inputs, readable_bytes(total.bytes),
      readable_bytes(total.compulsory_bytes),
      readable_bytes(static_cast<long long>(total.requested_bytes)), total.sector_efficiency(),
      total.bank_conflict_factor(), total.spill_bytes);
  text += fmt::format("\nlimit {:.2f} us: the least bytes at {} GB/s; predicted {:.1f} us",
                      total.limit_us, with_thousands(static_cast<long long>(profile.dram_gbps)),
                      total.predicted_us);
  const size_t own = profile.kernels.size() - kernels.size();
  if (own > 0) text += fmt::format("\n{} own contractions are rows, and not in the sums", own);
  return text;
}

std::string profile_text(const ModelProfile& profile) {
  nlohmann::ordered_json json;
  json["architecture"] = profile.architecture;
  json["device"] = profile.device;
  json["dram_gbps"] = profile.dram_gbps;
  json["inputs"] = profile.inputs;
  json["contractions"] = profile.contractions;
  json["emulator_seconds"] = profile.host_seconds;
  json["kernels"] = nlohmann::ordered_json::array();
  for (const KernelProfile& kernel : profile.kernels)
    json["kernels"].push_back(profile_json(kernel));
  json["total"] = profile_json(total_profile(profile.memory_intensive()));
  return json.dump();
}

int profile(const ProfileFlags& flags) {
  Console console(flags.console);
  if (flags.device == "gpu" || flags.device.rfind("gpu:", 0) == 0)
    throw ModelError(
        "--device gpu: counts come from the emulator only\nhelp: pass --device emulator");
  ProfileRequest request = flags.request;
  const std::string kind = "emulator";
  if (flags.device.rfind(kind + ":", 0) == 0) {
    request.architecture = flags.device.substr(kind.size() + 1);
    request.compile.architectures = {request.architecture};
  } else if (flags.device != kind) {
    throw ModelError(fmt::format("--device {}: expected emulator or emulator:sm_XX", flags.device));
  }
  request.import = flags.model.import_options();
  const ModelProfile result = profile_model(request, console);
  if (console.wants_json()) {
    console.json(profile_text(result));
    return kDone;
  }
  console.line(profile_table(result));
  console.line(summary(result));
  return kDone;
}

}  // namespace

void add_profile_command(CLI::App& app, Action& action) {
  auto flags = std::make_shared<ProfileFlags>();
  CLI::App* command = app.add_subcommand(
      "profile",
      "count what each kernel does on the emulator: bytes, sectors, conflicts, barriers");
  command
      ->add_option(
          "target", flags->request.target,
          "a folder with model.onnx, an ONNX file, or a bundle compiled with --arch ...,host")
      ->required()
      ->type_name("FOLDER|MODEL.onnx|BUNDLE");
  command->add_option("--device", flags->device, "emulator (default) or emulator:sm_90")
      ->type_name("DEVICE");
  command
      ->add_option("--data", flags->request.data,
                   "of a model: this data set (default: the first; drawn where there is none)")
      ->type_name("test_data_set_N");
  command
      ->add_option("--input", flags->request.inputs,
                   "of a bundle: .npy or ONNX .pb file of an input (default: all drawn)")
      ->type_name("NAME=FILE");
  command->add_option("--seed", flags->request.seed, "of inputs that are drawn")->type_name("N");
  add_binding_flags(*command, flags->model);
  add_planning_flags(*command, flags->request.compile);
  add_building_flags(*command, flags->request.compile);
  command->add_flag("--json", flags->console.json, "one JSON object on stdout");
  command->add_flag("-q,--quiet", flags->console.quiet, "print errors only");
  command->footer(
      "Columns:\n"
      "  bytes      through global memory, as planned; min: each input and output once\n"
      "  traffic    bytes of all sectors requested, over the distinct bytes read or written\n"
      "  sectors    share of the bytes of requested 32-byte sectors that some thread uses\n"
      "  banks      shared-memory wavefronts over the fewest possible; -: no shared memory\n"
      "  barriers   block barriers that a block passes; grid: row and grid barriers\n"
      "  instr      loads, stores, shared accesses, shuffles, votes, atomics per thread and 4 "
      "bytes\n"
      "  occupancy  resident threads over the most, by registers and shared memory of the cubin\n"
      "  waves      blocks over those that the device holds at once\n"
      "  limit      min at the device's bandwidth\n"
      "Examples:\n"
      "  stitchc profile model_folder\n"
      "  stitchc profile model.onnx --dim batch=2 --device emulator:sm_90\n"
      "  stitchc profile bert_bundle --input ids=ids.npy --json");
  command->callback([flags, &action] { action = [flags] { return profile(*flags); }; });
}

}  // namespace stitch
