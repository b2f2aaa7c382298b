#include "data_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <random>

#include "frontend/tensor_file.h"
#include "graph/error.h"

namespace stitch {
namespace fs = std::filesystem;

namespace {

constexpr std::string_view kPrefix = "test_data_set_";

int number_of(const fs::path& folder) {
  const std::string name = folder.filename().string();
  int number = -1;
  std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), number);
  return number;
}

int64_t bound_extent(const DeclaredTensor& input, const DeclaredDim& dim, const DimBindings& dims) {
  if (dim.extent) return *dim.extent;
  const auto bound = dims.find(dim.name);
  if (bound == dims.end())
    throw ModelError(fmt::format("input '{}' has the unbound dimension '{}'\nhelp: pass --dim {}=N",
                                 input.name, dim.name, dim.name));
  return bound->second;
}

std::string declared_text(const DeclaredTensor& input) {
  std::vector<std::string> dims;
  for (const DeclaredDim& dim : input.dims)
    dims.push_back(dim.extent ? std::to_string(*dim.extent) : dim.name);
  return fmt::format("{}[{}]", long_name(*input.dtype), fmt::join(dims, ","));
}

// Extents of symbols are free here: they are what the model gets compiled for.
Tensor read_input(const fs::path& file, const DeclaredTensor& input) {
  Tensor tensor = read_tensor_pb(file);
  if (!input.dtype || !input.has_shape) return tensor;
  bool fits = tensor.dtype() == *input.dtype && tensor.extents().size() == input.dims.size();
  for (size_t axis = 0; fits && axis < input.dims.size(); ++axis) {
    const std::optional<int64_t>& extent = input.dims[axis].extent;
    fits = !extent || *extent < 0 || *extent == tensor.extents()[axis];
  }
  if (!fits)
    throw ModelError(fmt::format("'{}' holds {}[{}], but input '{}' is {}", file.string(),
                                 long_name(tensor.dtype()), fmt::join(tensor.extents(), ","),
                                 input.name, declared_text(input)));
  return tensor;
}

}  // namespace

std::vector<fs::path> find_data_sets(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (entry.is_directory() && entry.path().filename().string().rfind(kPrefix, 0) == 0)
      found.push_back(entry.path());
  std::sort(found.begin(), found.end(), [](const fs::path& a, const fs::path& b) {
    return std::pair(number_of(a), a) < std::pair(number_of(b), b);
  });
  return found;
}

DataSet read_data_set(const fs::path& folder, const ModelSignature& signature) {
  DataSet set;
  set.name = folder.filename().string();
  for (size_t i = 0; i < signature.inputs.size(); ++i)
    set.inputs[signature.inputs[i].name] =
        read_input(folder / fmt::format("input_{}.pb", i), signature.inputs[i]);
  if (fs::exists(folder / fmt::format("input_{}.pb", signature.inputs.size())))
    throw ModelError(fmt::format("'{}' holds more inputs than the model's {}", folder.string(),
                                 signature.inputs.size()));
  for (size_t i = 0; i < signature.outputs.size(); ++i) {
    const fs::path file = folder / fmt::format("output_{}.pb", i);
    if (!fs::exists(file)) {
      if (i > 0) throw ModelError(fmt::format("'{}' is missing", file.string()));
      break;
    }
    set.outputs.push_back(read_tensor_pb(file));
  }
  return set;
}

DataSet draw_data_set(const ModelSignature& signature, const DimBindings& dims, uint64_t seed) {
  DataSet set;
  set.name = fmt::format("drawn from seed {}", seed);
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  for (const DeclaredTensor& input : signature.inputs) {
    if (!input.dtype || !input.has_shape)
      throw ModelError(
          fmt::format("input '{}' has no type or shape to draw data for\n"
                      "help: pass --data FOLDER",
                      input.name));
    std::vector<int64_t> extents;
    for (const DeclaredDim& dim : input.dims) extents.push_back(bound_extent(input, dim, dims));
    Tensor tensor(*input.dtype, extents);
    for (int64_t i = 0; i < tensor.element_count(); ++i) {
      if (is_float(*input.dtype))
        tensor.set_real(i, normal(random));
      else
        tensor.set_integer(i, static_cast<int64_t>(random() & 1u));
    }
    set.inputs[input.name] = std::move(tensor);
  }
  return set;
}

}  // namespace stitch
