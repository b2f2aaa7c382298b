#include "model_verdict.h"

#include <fmt/format.h>

#include "graph/error.h"
#include "verify_model.h"

namespace stitch {

std::string verify_faults(const std::filesystem::path& model, const VerdictOptions& options) {
  VerifyRequest request;
  request.target = model;
  request.compile.fusion = options.fusion == FusionMode::kStitch ? "stitch" : "none";
  request.compile.contractions =
      options.contractions == ContractionMode::kLibrary ? "library" : "own";
  request.compile.jobs = 1;  // tests run beside each other
  Console console({.quiet = true});
  std::string faults;
  try {
    const VerifyResult result = verify_model(request, console);
    for (const DataSetVerdict& set : result.data_sets) {
      for (const std::string& report : set.reports)
        faults += fmt::format("{}: {}\n", set.name, report);
      for (const OutputVerdict& output : set.outputs)
        if (!output.passed)
          faults += fmt::format("{}: output '{}' is off by {:.1e} of its row. {}\n", set.name,
                                output.name, output.ours.max_rel_row, output.reason);
    }
    if (faults.empty() && !result.passed()) faults = "it did not pass\n";
  } catch (const ModelError& error) {
    faults = fmt::format("{}\n", error.what());
  } catch (const DeviceError& error) {
    faults = fmt::format("{}\n", error.what());
  }
  return faults;
}

}  // namespace stitch
