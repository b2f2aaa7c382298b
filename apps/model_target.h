// What a command is pointed at: a model's file or folder, and the data sets beside it.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "compile_flags.h"
#include "compile_model.h"
#include "console.h"
#include "data_set.h"

namespace stitch {

// The absolute path of model.onnx in a folder, or of the file itself. ModelError when it is absent.
std::filesystem::path model_file(const std::filesystem::path& target);

// The data sets beside the model, or the one that `wish` names or is the folder of. ModelError when
// there is none of that name.
std::vector<std::filesystem::path> chosen_data_sets(const std::string& wish,
                                                    const std::filesystem::path& model);

// Inputs whose values decide shapes (axes, lengths of ranges) have to be constants: the import says
// which, and they are bound to the values of the data set.
void import_for_data(const DataSet& set, const std::filesystem::path& model,
                     const CompileFlags& flags, Console& console, ImportOptions& options,
                     CompiledModel& compiled);

}  // namespace stitch
