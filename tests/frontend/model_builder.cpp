#include "frontend/model_builder.h"

#include <onnx.pb.h>
#include <stdlib.h>
#include <unistd.h>

#include <cctype>
#include <fstream>

#include "frontend/onnx_types.h"
#include "frontend/signature.h"
#include "graph/error.h"
#include "graph/evaluate.h"

namespace stitch {

struct ModelBuilder::Message {
  onnx::ModelProto model;
  onnx::GraphProto& graph() { return *model.mutable_graph(); }
};

namespace {

void fill_type(onnx::ValueInfoProto& info, const std::string& name, int onnx_type,
               const std::vector<std::string>& dims) {
  info.set_name(name);
  auto& type = *info.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx_type);
  auto& shape = *type.mutable_shape();
  for (const std::string& dim : dims) {
    auto& entry = *shape.add_dim();
    const bool number =
        !dim.empty() && (std::isdigit(static_cast<unsigned char>(dim[0])) || dim[0] == '-');
    if (number) {
      entry.set_dim_value(std::stoll(dim));
    } else if (!dim.empty()) {
      entry.set_dim_param(dim);
    }
  }
}

void fill_tensor(onnx::TensorProto& message, const std::string& name, const Tensor& tensor) {
  message.set_name(name);
  message.set_data_type(onnx_type_of(tensor.dtype()));
  for (const int64_t extent : tensor.extents()) message.add_dims(extent);
  message.set_raw_data(tensor.bytes().data(), tensor.bytes().size());
}

}  // namespace

ModelBuilder::ModelBuilder(int64_t opset) : message_(std::make_unique<Message>()) {
  message_->model.set_ir_version(8);
  message_->graph().set_name("test");
  import_domain("", opset);
}

ModelBuilder::~ModelBuilder() = default;

ModelBuilder& ModelBuilder::input(const std::string& name, DType dtype,
                                  const std::vector<std::string>& dims) {
  fill_type(*message_->graph().add_input(), name, onnx_type_of(dtype), dims);
  return *this;
}

ModelBuilder& ModelBuilder::typed_input(const std::string& name, int onnx_type) {
  fill_type(*message_->graph().add_input(), name, onnx_type, {"1"});
  return *this;
}

ModelBuilder& ModelBuilder::initializer(const std::string& name, const Tensor& tensor) {
  fill_tensor(*message_->graph().add_initializer(), name, tensor);
  return *this;
}

ModelBuilder& ModelBuilder::external_initializer(
    const std::string& name, DType dtype, const std::vector<int64_t>& dims,
    const std::vector<std::pair<std::string, std::string>>& keys) {
  auto& tensor = *message_->graph().add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(onnx_type_of(dtype));
  for (const int64_t dim : dims) tensor.add_dims(dim);
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  for (const auto& [key, value] : keys) {
    auto& entry = *tensor.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  }
  return *this;
}

ModelBuilder& ModelBuilder::broken_initializer(const std::string& name,
                                               const std::vector<int64_t>& dims,
                                               const std::string& raw_data, int onnx_type) {
  auto& tensor = *message_->graph().add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(onnx_type);
  for (const int64_t dim : dims) tensor.add_dims(dim);
  tensor.set_raw_data(raw_data);
  return *this;
}

ModelBuilder& ModelBuilder::node(const std::string& op, const std::vector<std::string>& inputs,
                                 const std::vector<std::string>& outputs,
                                 const std::vector<TestAttribute>& attributes,
                                 const TestNodeOptions& options) {
  auto& node = *message_->graph().add_node();
  node.set_op_type(op);
  node.set_name(options.name);
  node.set_domain(options.domain);
  for (const std::string& name : inputs) node.add_input(name);
  for (const std::string& name : outputs) node.add_output(name);
  for (const TestAttribute& attribute : attributes) {
    auto& message = *node.add_attribute();
    message.set_name(attribute.name);
    if (const auto* integer = std::get_if<int64_t>(&attribute.value)) {
      message.set_type(onnx::AttributeProto::INT);
      message.set_i(*integer);
    } else if (const auto* number = std::get_if<float>(&attribute.value)) {
      message.set_type(onnx::AttributeProto::FLOAT);
      message.set_f(*number);
    } else if (const auto* text = std::get_if<std::string>(&attribute.value)) {
      message.set_type(onnx::AttributeProto::STRING);
      message.set_s(*text);
    } else if (const auto* integers = std::get_if<std::vector<int64_t>>(&attribute.value)) {
      message.set_type(onnx::AttributeProto::INTS);
      for (const int64_t value : *integers) message.add_ints(value);
    } else if (const auto* numbers = std::get_if<std::vector<float>>(&attribute.value)) {
      message.set_type(onnx::AttributeProto::FLOATS);
      for (const float value : *numbers) message.add_floats(value);
    } else if (const auto* tensor = std::get_if<Tensor>(&attribute.value)) {
      message.set_type(onnx::AttributeProto::TENSOR);
      fill_tensor(*message.mutable_t(), attribute.name, *tensor);
    } else {
      message.set_type(onnx::AttributeProto::GRAPH);
      *message.mutable_g() = std::get<const ModelBuilder*>(attribute.value)->message_->graph();
    }
  }
  return *this;
}

ModelBuilder& ModelBuilder::attribute_reference(const std::string& name,
                                                const std::string& reference) {
  auto& nodes = *message_->graph().mutable_node();
  auto& attribute = *nodes.Mutable(nodes.size() - 1)->add_attribute();
  attribute.set_name(name);
  attribute.set_ref_attr_name(reference);
  attribute.set_type(onnx::AttributeProto::FLOAT);
  return *this;
}

ModelBuilder& ModelBuilder::value_info(const std::string& name, DType dtype,
                                       const std::vector<std::string>& dims) {
  fill_type(*message_->graph().add_value_info(), name, onnx_type_of(dtype), dims);
  return *this;
}

ModelBuilder& ModelBuilder::output(const std::string& name, DType dtype) {
  auto& info = *message_->graph().add_output();
  info.set_name(name);
  info.mutable_type()->mutable_tensor_type()->set_elem_type(onnx_type_of(dtype));
  return *this;
}

ModelBuilder& ModelBuilder::import_domain(const std::string& domain, int64_t version) {
  auto& entry = *message_->model.add_opset_import();
  entry.set_domain(domain);
  entry.set_version(version);
  return *this;
}

ModelBuilder& ModelBuilder::function(const std::string& domain, const std::string& name,
                                     const ModelBuilder& body,
                                     const std::vector<std::string>& attributes) {
  auto& function = *message_->model.add_functions();
  function.set_domain(domain);
  function.set_name(name);
  onnx::GraphProto& graph = body.message_->graph();
  for (const auto& input : graph.input()) function.add_input(input.name());
  for (const auto& output : graph.output()) function.add_output(output.name());
  for (const auto& node : graph.node()) *function.add_node() = node;
  for (const std::string& attribute : attributes) function.add_attribute(attribute);
  for (const auto& entry : body.message_->model.opset_import()) {
    *function.add_opset_import() = entry;
  }
  return *this;
}

std::filesystem::path ModelBuilder::save(const std::filesystem::path& file) const {
  std::ofstream stream(file, std::ios::binary);
  message_->model.SerializeToOstream(&stream);
  return file;
}

ImportResult ModelBuilder::import(const ImportOptions& options) const {
  const TemporaryFolder folder;
  return import_onnx(save(folder.path() / "model.onnx"), options);
}

std::string ModelBuilder::import_error(const ImportOptions& options) const {
  const TemporaryFolder folder;
  const auto file = save(folder.path() / "model.onnx");
  try {
    import_onnx(file, options);
  } catch (const ModelError& error) {
    std::string message = error.what();
    const std::string path = folder.path().string() + "/";
    for (size_t at = message.find(path); at != std::string::npos; at = message.find(path)) {
      message.erase(at, path.size());
    }
    return message;
  }
  return "";
}

CheckReport ModelBuilder::check(const ImportOptions& options) const {
  const TemporaryFolder folder;
  return check_onnx(save(folder.path() / "model.onnx"), options);
}

std::vector<Tensor> ModelBuilder::run(
    const std::vector<std::pair<std::string, Tensor>>& inputs) const {
  const TemporaryFolder folder;
  const auto file = save(folder.path() / "model.onnx");
  const std::map<std::string, Tensor> by_name(inputs.begin(), inputs.end());
  ImportOptions options;
  options.dims = bind_dims(read_signature(file), by_name);
  return evaluate(import_onnx(file, options).graph, by_name, EvaluationPrecision::kNative);
}

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "stitch_XXXXXX").string();
  if (!::mkdtemp(pattern.data())) throw InternalError("no temporary folder");
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Tensor f32(std::vector<int64_t> extents, const std::vector<double>& values) {
  Tensor tensor(DType::kF32, std::move(extents));
  for (size_t i = 0; i < values.size(); ++i) tensor.set_real(static_cast<int64_t>(i), values[i]);
  return tensor;
}

Tensor i64(std::vector<int64_t> extents, const std::vector<int64_t>& values) {
  Tensor tensor(DType::kI64, std::move(extents));
  for (size_t i = 0; i < values.size(); ++i) {
    tensor.set_integer(static_cast<int64_t>(i), values[i]);
  }
  return tensor;
}

std::vector<double> reals(const Tensor& tensor) {
  std::vector<double> values;
  for (int64_t i = 0; i < tensor.element_count(); ++i) values.push_back(tensor.real(i));
  return values;
}

}  // namespace stitch
