// A model compiled for one set of input shapes into a bundle of its own, and opened on the
// emulator.
#pragma once
#include <filesystem>
#include <memory>
#include <string>

#include "compile_model.h"
#include "data_set.h"
#include "emulator/private_folder.h"
#include "runtime/runner/loaded_bundle.h"

namespace stitch {

struct EmulatedModelRequest {
  std::filesystem::path model;
  ImportOptions import;
  CompileFlags compile;  // the first architecture is run
  // Which of the emulator's images is built follows from what it is asked to watch.
  runtime::EmulatorSettings emulator;
  std::string command;  // of stitchc, for messages
};

class EmulatedModel {
 public:
  // Dims are bound as `dims` says, and inputs that decide shapes from the data set.
  EmulatedModel(const EmulatedModelRequest& request, const DimBindings& dims, const DataSet& set,
                Console& console);

  // One inference on the data set's inputs. Throws LauncherError.
  std::vector<std::vector<std::byte>> run(const DataSet& set);

  const CompiledModel& compiled() const { return compiled_; }
  const runtime::LoadedBundle& bundle() const { return *bundle_; }
  std::filesystem::path bundle_folder() const { return folder_.path() / "bundle"; }
  // Inputs became constants: it serves no other data set.
  bool binds_inputs() const { return binds_inputs_; }

 private:
  PrivateFolder folder_;
  bool binds_inputs_ = false;
  CompiledModel compiled_;
  std::unique_ptr<runtime::LoadedBundle> bundle_;
};

}  // namespace stitch
