// Inputs, outputs and declared types of a model: the part of GraphImporter that is not about nodes.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "frontend/graph_importer.h"
#include "frontend/name_suggestion.h"
#include "frontend/onnx_types.h"
#include "graph/error.h"

namespace stitch {
namespace {

// Larger than the memory of any device, and small enough that sums over all values of a model stay
// within 64 bits.
constexpr int64_t kMostBytes = int64_t{1} << 46;

std::string axis_name(const OnnxValueInfo& input, size_t axis) {
  return fmt::format("{}.{}", input.name, axis);
}

// "float32[8,seq,?]"
std::string declared_text(const OnnxValueInfo& info) {
  std::string text = onnx_type_name(info.element_type) + "[";
  for (size_t i = 0; i < info.dims.size(); ++i) {
    if (i > 0) text += ",";
    const OnnxDim& dim = info.dims[i];
    text += dim.extent ? std::to_string(*dim.extent) : dim.symbol.empty() ? "?" : dim.symbol;
  }
  return text + "]";
}

std::string type_text(const ValueType& type) {
  return std::string(long_name(type.dtype)) + to_string(type.shape);
}

}  // namespace

void GraphImporter::import_inputs() {
  std::set<std::string> seen;
  for (const OnnxValueInfo& input : model_.graph.inputs) {
    try {
      if (!seen.insert(input.name).second) {
        throw ModelError(fmt::format("input '{}' is defined twice", input.name));
      }
      const auto bound = options_.bound_inputs.find(input.name);
      if (bound != options_.bound_inputs.end()) {
        import_bound_input(input, bound->second);
        continue;
      }
      if (model_scope_.defines(input.name)) continue;  // an initialiser is its value
      auto value = std::make_shared<ImportedValue>();
      value->name = input.name;
      model_scope_.define(input.name, value);
      value->failed = true;  // until its type is known
      const ValueType type = input_type(input);
      check_size(fmt::format("input '{}':", input.name), type);
      value->value = graph_.add_input(input.name, type);
      value->failed = false;
    } catch (const ModelError& error) {
      add_problem(nullptr, error.what());
    }
  }
  check_dim_names();
  for (const auto& [name, tensor] : options_.bound_inputs) {
    if (!seen.contains(name)) {
      add_problem(nullptr,
                  fmt::format("'{}' is bound to a value but is no input of the model", name));
    }
  }
}

ValueType GraphImporter::input_type(const OnnxValueInfo& input) {
  switch (input.kind) {
    case OnnxTypeKind::kTensor:
      break;
    case OnnxTypeKind::kUnknown:
      throw ModelError(fmt::format("input '{}' has no type", input.name));
    case OnnxTypeKind::kSequence:
    case OnnxTypeKind::kOptional:
    case OnnxTypeKind::kOther:
      throw ModelError(fmt::format("input '{}' is not a tensor", input.name));
  }
  const auto dtype = dtype_of_onnx(input.element_type);
  if (!dtype) {
    throw ModelError(fmt::format("input '{}' has elements of type {}, which is not supported",
                                 input.name, onnx_type_name(input.element_type)));
  }
  if (!input.has_shape) {
    throw ModelError(fmt::format("input '{}' has no shape, not even a rank", input.name));
  }
  ValueType type{*dtype, {}};
  for (size_t axis = 0; axis < input.dims.size(); ++axis) {
    type.shape.push_back(input_dim(input, axis));
  }
  return type;
}

// A symbol is looked up by input and axis first, so that one name of two extents can be told apart.
Dim GraphImporter::input_dim(const OnnxValueInfo& input, size_t axis) {
  const OnnxDim& dim = input.dims[axis];
  if (dim.extent && *dim.extent >= 0) return Dim(*dim.extent);  // exporters write -1 for unknown
  const std::string by_axis = axis_name(input, axis);
  const std::string name = dim.symbol.empty() ? by_axis : dim.symbol;
  for (const std::string& key : {by_axis, name}) {
    const auto found = options_.dims.find(key);
    if (found == options_.dims.end()) continue;
    if (found->second < 0) {
      throw ModelError(fmt::format("dimension '{}' is bound to {}", key, found->second));
    }
    return Dim(found->second);
  }
  const bool reported = has_unbound_dims_ &&
                        std::any_of(problems_.begin(), problems_.end(), [&](const auto& problem) {
                          return problem.reason.ends_with(fmt::format("dimension '{}'", name));
                        });
  if (!reported) {
    add_problem(nullptr,
                fmt::format("input '{}' has the unbound dimension '{}'\nhelp: pass --dim {}=8",
                            input.name, name, name));
  }
  has_unbound_dims_ = true;
  return Dim::symbol(name);
}

void GraphImporter::check_dim_names() {
  std::vector<std::string> names;
  std::set<std::string> by_axis;
  for (const OnnxValueInfo& input : model_.graph.inputs) {
    for (size_t axis = 0; axis < input.dims.size(); ++axis) {
      by_axis.insert(axis_name(input, axis));
      if (!input.dims[axis].symbol.empty()) names.push_back(input.dims[axis].symbol);
    }
  }
  for (const auto& [name, extent] : options_.dims) {
    if (by_axis.contains(name) || std::find(names.begin(), names.end(), name) != names.end())
      continue;
    std::string message =
        fmt::format("no input has the dimension '{}', which is bound to {}", name, extent);
    if (const auto near = nearest_name(name, names))
      message += fmt::format("\nhelp: did you mean '{}'?", *near);
    add_problem(nullptr, message);
  }
}

void GraphImporter::check_size(const std::string& what, const ValueType& type) {
  if (!is_constant(type.shape)) return;
  const std::vector<int64_t> extents = constant_extents(type.shape);
  if (std::find(extents.begin(), extents.end(), 0) != extents.end()) return;
  int64_t bytes = size_bytes(type.dtype);
  for (const int64_t extent : extents) {
    if (bytes > kMostBytes / extent)
      throw ModelError(
          fmt::format("{} {} is larger than any device's memory", what, type_text(type)));
    bytes *= extent;
  }
}

void GraphImporter::import_bound_input(const OnnxValueInfo& input, const Tensor& tensor) {
  const ValueType found{tensor.dtype(), Shape(tensor.extents().begin(), tensor.extents().end())};
  bool fits =
      input.kind == OnnxTypeKind::kTensor && dtype_of_onnx(input.element_type) == found.dtype;
  if (fits && input.has_shape) {
    fits = input.dims.size() == found.shape.size();
    for (size_t axis = 0; fits && axis < input.dims.size(); ++axis) {
      const OnnxDim& dim = input.dims[axis];
      fits = !dim.extent || *dim.extent < 0 || found.shape[axis] == Dim(*dim.extent);
    }
  }
  auto value = std::make_shared<ImportedValue>();
  value->name = input.name;
  value->failed = !fits;
  model_scope_.define(input.name, value);
  if (!fits) {
    throw ModelError(fmt::format("input '{}' is {}, but the value bound to it is {}", input.name,
                                 declared_text(input), type_text(found)));
  }
  value->value = graph_.add_constant(tensor, input.name);
}

void GraphImporter::import_outputs() {
  std::set<std::string> seen;
  for (const OnnxValueInfo& output : model_.graph.outputs) {
    try {
      if (!seen.insert(output.name).second) {
        throw ModelError(fmt::format("output '{}' is listed twice", output.name));
      }
      const ImportedValuePtr value = find_value(output.name);
      if (value->failed) continue;
      if (value->is_sequence) {
        throw ModelError(fmt::format("output '{}' is a sequence, expected a tensor", output.name));
      }
      graph_.add_output(output.name, materialise(*value, builder_));
    } catch (const ModelError& error) {
      if (!has_unbound_dims_) add_problem(nullptr, error.what());
    }
  }
  if (model_.graph.outputs.empty()) add_problem(nullptr, "the model has no outputs");
}

void GraphImporter::compare_with_declared(const std::string& name, const ImportedValue& value) {
  const auto found = declared_.find(name);
  if (found == declared_.end() || !value.value.valid()) return;
  const OnnxValueInfo& info = *found->second;
  if (info.kind != OnnxTypeKind::kTensor || info.element_type == 0) return;
  const ValueType& type = graph_.type(value.value);
  bool agrees = dtype_of_onnx(info.element_type) == type.dtype;
  if (agrees && info.has_shape) {
    agrees = info.dims.size() == type.shape.size();
    for (size_t axis = 0; agrees && axis < info.dims.size(); ++axis) {
      const auto& extent = info.dims[axis].extent;
      agrees = !extent || *extent < 0 || !type.shape[axis].is_constant() ||
               type.shape[axis] == Dim(*extent);
    }
  }
  if (!agrees) {
    stale_types_.push_back(fmt::format("'{}' is declared {}, inferred {}", name,
                                       declared_text(info), type_text(type)));
  }
}

void GraphImporter::note_absent_weights() {
  const auto& initializers = model_.graph.initializers;
  const auto absent = std::count_if(initializers.begin(), initializers.end(),
                                    [](const OnnxTensor& tensor) { return tensor.data_absent; });
  if (absent > 0) {
    notes_.push_back(fmt::format("the data of {} weights is absent; zeros stand for it", absent));
  }
}

void GraphImporter::note_declared_types() {
  if (stale_types_.empty()) return;
  notes_.push_back(fmt::format("{} declared types are wrong and were ignored; the first: {}",
                               stale_types_.size(), stale_types_.front()));
}

}  // namespace stitch
