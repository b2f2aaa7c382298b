// Inputs and recorded outputs in the test layout of ONNX: FOLDER/model.onnx and
// FOLDER/test_data_set_N/{input,output}_M.pb, numbered in the order of the model's inputs, outputs.
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "frontend/signature.h"
#include "graph/tensor.h"

namespace stitch {

struct DataSet {
  std::string name;                      // "test_data_set_0"
  std::map<std::string, Tensor> inputs;  // by input name
  std::vector<Tensor> outputs;           // recorded; empty when the folder holds none
};

// Sub-folders test_data_set_*, in numerical order.
std::vector<std::filesystem::path> find_data_sets(const std::filesystem::path& folder);

// ModelError when an input is missing, or there are more files than inputs.
DataSet read_data_set(const std::filesystem::path& folder, const ModelSignature& signature);

// Inputs drawn from a seed where no data set is given: floats from a normal distribution, integers
// from 0 and 1, booleans fair. All extents must be bound.
DataSet draw_data_set(const ModelSignature& signature, const DimBindings& dims, uint64_t seed);

}  // namespace stitch
