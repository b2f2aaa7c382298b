#include "frontend/node_context.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/data_dependence.h"
#include "frontend/onnx_types.h"
#include "graph/error.h"

namespace stitch {
namespace {

void require_usable(const OnnxTensor& tensor, const std::string& name) {
  if (!tensor.problem.empty()) {
    throw ModelError(fmt::format("initialiser '{}': {}", name, tensor.problem));
  }
}

Shape shape_of(const std::vector<int64_t>& extents) {
  return Shape(extents.begin(), extents.end());
}

}  // namespace

ValueId materialise(ImportedValue& value, PrimitiveBuilder& builder) {
  if (value.value.valid()) return value.value;
  if (value.is_sequence) {
    throw ModelError(fmt::format("'{}' is a sequence where a tensor is needed", value.name));
  }
  if (value.initializer) {
    require_usable(*value.initializer, value.name);
    value.value = builder.constant(value.initializer->tensor);
    if (value.initializer->data_absent) builder.mark_absent(value.value);
  } else if (value.elements) {
    const auto tensor = tensor_of(*value.elements);
    if (!tensor) {
      throw ModelError(fmt::format("'{}' holds extents that are not bound", value.name));
    }
    value.value = builder.constant(*tensor);
  } else {
    throw InternalError("an imported value without content");
  }
  builder.graph().set_name(value.value, value.name);
  return value.value;
}

const ElementTensor* known_elements(ImportedValue& value, PrimitiveBuilder& builder) {
  if (!value.elements && !value.elements_looked_up && !value.is_sequence) {
    value.elements_looked_up = true;
    if (value.initializer) {
      require_usable(*value.initializer, value.name);
      if (!value.initializer->data_absent) {
        value.elements = elements_of(value.initializer->tensor);
      }
    } else if (const Tensor* tensor = builder.graph().constant(value.value)) {
      value.elements = elements_of(*tensor);
    }
  }
  return value.elements ? &*value.elements : nullptr;
}

ValueType type_of(ImportedValue& value, PrimitiveBuilder& builder) {
  if (value.value.valid()) return builder.type(value.value);
  if (value.initializer) {
    require_usable(*value.initializer, value.name);
    return {value.initializer->tensor.dtype(), shape_of(value.initializer->tensor.extents())};
  }
  if (value.elements) return {value.elements->dtype, shape_of(value.elements->extents)};
  return builder.type(materialise(value, builder));
}

NodeContext::NodeContext(Parts parts) : parts_(std::move(parts)) {
  while (!parts_.inputs.empty() && parts_.inputs.back() == nullptr) parts_.inputs.pop_back();
  results_.resize(parts_.node.outputs.size());
}

void NodeContext::note(const std::string& text) {
  parts_.notes->push_back(
      fmt::format("node '{}' ({}): {}", parts_.node.name, parts_.node.op_type, text));
}

std::string NodeContext::input_label(size_t i) const {
  return fmt::format("input {} '{}'", i, parts_.node.inputs.at(i));
}

ImportedValuePtr NodeContext::imported(size_t i) {
  if (!has_input(i)) throw ModelError(fmt::format("input {} is missing", i));
  return parts_.inputs[i];
}

ValueId NodeContext::input(size_t i) { return materialise(*imported(i), parts_.builder); }

std::vector<ValueId> NodeContext::inputs() {
  std::vector<ValueId> values;
  for (size_t i = 0; i < input_count(); ++i) values.push_back(input(i));
  if (values.empty()) throw ModelError("input 0 is missing");
  return values;
}

DType NodeContext::dtype(size_t i) { return type_of(*imported(i), parts_.builder).dtype; }
Shape NodeContext::shape(size_t i) { return type_of(*imported(i), parts_.builder).shape; }

const ElementTensor* NodeContext::elements(size_t i) {
  return known_elements(*imported(i), parts_.builder);
}

Tensor NodeContext::known(size_t i) {
  ImportedValue& value = *imported(i);
  if (value.initializer && value.initializer->data_absent) {
    throw ModelError(fmt::format("{} must be known at compile time, but its weights are absent",
                                 input_label(i)));
  }
  if (const ElementTensor* known = known_elements(value, parts_.builder)) {
    if (auto tensor = tensor_of(*known)) return *tensor;
  }
  if (auto tensor = parts_.builder.known(input(i))) return *tensor;
  throw DataDependence(input_label(i), parts_.builder.inputs_behind(value.value));
}

std::vector<Dim> NodeContext::known_dims(size_t i) {
  std::vector<Dim> dims;
  if (const ElementTensor* known = elements(i)) {
    for (const Element& element : known->elements) {
      const auto dim = dim_of(element);
      if (!dim) throw ModelError(fmt::format("{} holds a fraction", input_label(i)));
      dims.push_back(*dim);
    }
    return dims;
  }
  const Tensor tensor = this->known(i);
  for (int64_t k = 0; k < tensor.element_count(); ++k) dims.emplace_back(tensor.integer(k));
  return dims;
}

std::vector<int64_t> NodeContext::known_integers(size_t i) {
  const Tensor tensor = known(i);
  std::vector<int64_t> values;
  for (int64_t k = 0; k < tensor.element_count(); ++k) values.push_back(tensor.integer(k));
  return values;
}

std::vector<double> NodeContext::known_numbers(size_t i) {
  const Tensor tensor = known(i);
  std::vector<double> values;
  for (int64_t k = 0; k < tensor.element_count(); ++k) values.push_back(tensor.real(k));
  return values;
}

int64_t NodeContext::known_integer(size_t i) {
  const auto values = known_integers(i);
  if (values.size() != 1) {
    throw ModelError(
        fmt::format("{} has {} elements, expected one", input_label(i), values.size()));
  }
  return values.front();
}

double NodeContext::known_number(size_t i) {
  const auto values = known_numbers(i);
  if (values.size() != 1) {
    throw ModelError(
        fmt::format("{} has {} elements, expected one", input_label(i), values.size()));
  }
  return values.front();
}

Dim NodeContext::known_dim(size_t i) {
  const auto dims = known_dims(i);
  if (dims.size() != 1) {
    throw ModelError(fmt::format("{} has {} elements, expected one", input_label(i), dims.size()));
  }
  return dims.front();
}

const OnnxAttribute* NodeContext::find(std::string_view name) const {
  for (const OnnxAttribute& attribute : parts_.attributes) {
    if (attribute.name == name) return &attribute;
  }
  return nullptr;
}

namespace {

template <class T>
const T& value_as(const OnnxAttribute& attribute, std::string_view expected) {
  const T* value = std::get_if<T>(&attribute.value);
  if (!value) throw ModelError(fmt::format("attribute '{}' is not {}", attribute.name, expected));
  return *value;
}

}  // namespace

int64_t NodeContext::integer(std::string_view name, int64_t absent) const {
  const OnnxAttribute* attribute = find(name);
  return attribute ? value_as<int64_t>(*attribute, "an integer") : absent;
}

int64_t NodeContext::required_integer(std::string_view name) const {
  const OnnxAttribute* attribute = find(name);
  if (!attribute) throw ModelError(fmt::format("attribute '{}' is missing", name));
  return value_as<int64_t>(*attribute, "an integer");
}

double NodeContext::number(std::string_view name, double absent) const {
  const OnnxAttribute* attribute = find(name);
  if (!attribute) return absent;
  if (const auto* integer = std::get_if<int64_t>(&attribute->value)) {
    return static_cast<double>(*integer);
  }
  return static_cast<double>(value_as<float>(*attribute, "a number"));
}

std::string NodeContext::text(std::string_view name, std::string_view absent) const {
  const OnnxAttribute* attribute = find(name);
  return attribute ? value_as<std::string>(*attribute, "a string") : std::string(absent);
}

std::vector<int64_t> NodeContext::integers(std::string_view name) const {
  const OnnxAttribute* attribute = find(name);
  if (!attribute) return {};
  return value_as<std::vector<int64_t>>(*attribute, "a list of integers");
}

std::vector<double> NodeContext::numbers(std::string_view name) const {
  const OnnxAttribute* attribute = find(name);
  if (!attribute) return {};
  const auto& values = value_as<std::vector<float>>(*attribute, "a list of numbers");
  return std::vector<double>(values.begin(), values.end());
}

std::vector<std::string> NodeContext::texts(std::string_view name) const {
  const OnnxAttribute* attribute = find(name);
  if (!attribute) return {};
  return value_as<std::vector<std::string>>(*attribute, "a list of strings");
}

const OnnxTensor& NodeContext::tensor(std::string_view name) const {
  const OnnxAttribute* attribute = find(name);
  if (!attribute) throw ModelError(fmt::format("attribute '{}' is missing", name));
  const auto& tensor = value_as<OnnxTensor>(*attribute, "a tensor");
  if (!tensor.problem.empty()) {
    throw ModelError(fmt::format("attribute '{}': {}", name, tensor.problem));
  }
  return tensor;
}

const OnnxGraph& NodeContext::graph(std::string_view name) const {
  const OnnxAttribute* attribute = find(name);
  if (!attribute) throw ModelError(fmt::format("attribute '{}' is missing", name));
  return *value_as<std::shared_ptr<const OnnxGraph>>(*attribute, "a graph");
}

DType NodeContext::dtype_attribute(std::string_view name, DType absent) const {
  return has_attribute(name) ? require_dtype(required_integer(name)) : absent;
}

bool NodeContext::wants_output(size_t i) const {
  return i < parts_.node.outputs.size() && !parts_.node.outputs[i].empty();
}

void NodeContext::output(size_t i, ValueId value) {
  if (i >= results_.size()) return;
  results_[i] = std::make_shared<ImportedValue>();
  results_[i]->name = parts_.node.outputs[i];
  results_[i]->value = value;
}

void NodeContext::output(size_t i, ElementTensor elements) {
  if (i >= results_.size()) return;
  results_[i] = std::make_shared<ImportedValue>();
  results_[i]->name = parts_.node.outputs[i];
  results_[i]->elements = std::move(elements);
}

void NodeContext::output(size_t i, ImportedValuePtr value) {
  if (i < results_.size()) results_[i] = std::move(value);
}

void NodeContext::output_sequence(size_t i, std::vector<ImportedValuePtr> values) {
  if (i >= results_.size()) return;
  results_[i] = std::make_shared<ImportedValue>();
  results_[i]->name = parts_.node.outputs[i];
  results_[i]->is_sequence = true;
  results_[i]->sequence = std::move(values);
}

}  // namespace stitch
