#include <fmt/format.h>
#include <onnx.pb.h>

#include <limits>

#include "frontend/external_data.h"
#include "frontend/mapped_file.h"
#include "frontend/onnx_model.h"
#include "frontend/tensor_proto.h"
#include "graph/error.h"

namespace stitch {
namespace {

std::string default_domain(const std::string& domain) {
  return domain == "ai.onnx" ? std::string() : domain;
}

// The schema of Debian's ONNX 1.12 lacks these two fields; there they read as empty.
template <class Message>
std::string overload_of(const Message& message) {
  if constexpr (requires { message.overload(); }) return message.overload();
  return {};
}

template <class Function, class Visit>
void each_attribute_default(Function& function, const Visit& visit) {
  if constexpr (requires { function.mutable_attribute_proto(); }) {
    for (auto& attribute : *function.mutable_attribute_proto()) visit(attribute);
  }
}

// Moves a ModelProto into an OnnxModel.
class ModelReader {
 public:
  explicit ModelReader(TensorSource source) : source_(source) {}

  OnnxModel model(onnx::ModelProto& message) {
    OnnxModel result;
    result.ir_version = message.ir_version();
    result.opsets = opsets(message.opset_import());
    for (auto& f : *message.mutable_functions()) result.functions.push_back(function(f));
    result.graph = graph(*message.mutable_graph());
    return result;
  }

 private:
  template <class Imports>
  OpsetImports opsets(const Imports& imports) {
    OpsetImports result;
    for (const auto& entry : imports) result[default_domain(entry.domain())] = entry.version();
    return result;
  }

  OnnxGraph graph(onnx::GraphProto& message) {
    OnnxGraph result;
    result.name = message.name();
    for (auto& n : *message.mutable_node()) result.nodes.push_back(node(n));
    for (auto& t : *message.mutable_initializer()) {
      result.initializers.push_back(take_tensor(t, source_));
    }
    for (auto& t : *message.mutable_sparse_initializer()) {
      result.initializers.push_back(take_sparse_tensor(t, source_));
    }
    for (const auto& v : message.input()) result.inputs.push_back(value_info(v));
    for (const auto& v : message.output()) result.outputs.push_back(value_info(v));
    for (const auto& v : message.value_info()) result.value_infos.push_back(value_info(v));
    return result;
  }

  OnnxFunction function(onnx::FunctionProto& message) {
    OnnxFunction result;
    result.name = message.name();
    result.domain = default_domain(message.domain());
    result.overload = overload_of(message);
    result.inputs.assign(message.input().begin(), message.input().end());
    result.outputs.assign(message.output().begin(), message.output().end());
    each_attribute_default(message, [&](onnx::AttributeProto& a) {
      result.attribute_defaults.push_back(attribute(a));
    });
    for (auto& n : *message.mutable_node()) result.nodes.push_back(node(n));
    result.opsets = opsets(message.opset_import());
    return result;
  }

  OnnxNode node(onnx::NodeProto& message) {
    OnnxNode result;
    result.name = message.name();
    result.op_type = message.op_type();
    result.domain = default_domain(message.domain());
    result.overload = overload_of(message);
    result.inputs.assign(message.input().begin(), message.input().end());
    result.outputs.assign(message.output().begin(), message.output().end());
    for (auto& a : *message.mutable_attribute()) result.attributes.push_back(attribute(a));
    if (result.name.empty()) {
      for (const std::string& output : result.outputs) {
        if (result.name.empty()) result.name = output;
      }
    }
    return result;
  }

  OnnxAttribute attribute(onnx::AttributeProto& message) {
    OnnxAttribute result;
    result.name = message.name();
    result.reference = message.ref_attr_name();
    if (!result.reference.empty()) return result;
    switch (kind(message)) {
      case onnx::AttributeProto::INT:
        result.value = message.i();
        break;
      case onnx::AttributeProto::FLOAT:
        result.value = message.f();
        break;
      case onnx::AttributeProto::STRING:
        result.value = message.s();
        break;
      case onnx::AttributeProto::TENSOR:
        result.value = take_tensor(*message.mutable_t(), source_);
        break;
      case onnx::AttributeProto::SPARSE_TENSOR:
        result.value = take_sparse_tensor(*message.mutable_sparse_tensor(), source_);
        break;
      case onnx::AttributeProto::GRAPH:
        result.value = std::make_shared<const OnnxGraph>(graph(*message.mutable_g()));
        break;
      case onnx::AttributeProto::INTS:
        result.value = std::vector<int64_t>(message.ints().begin(), message.ints().end());
        break;
      case onnx::AttributeProto::FLOATS:
        result.value = std::vector<float>(message.floats().begin(), message.floats().end());
        break;
      case onnx::AttributeProto::STRINGS:
        result.value = std::vector<std::string>(message.strings().begin(), message.strings().end());
        break;
      case onnx::AttributeProto::UNDEFINED:
      case onnx::AttributeProto::TYPE_PROTO:
      case onnx::AttributeProto::TENSORS:
      case onnx::AttributeProto::GRAPHS:
      case onnx::AttributeProto::SPARSE_TENSORS:
      case onnx::AttributeProto::TYPE_PROTOS:
        break;  // no operator of this importer has one
    }
    return result;
  }

  // Files of IR version 1 do not say which field is set.
  static onnx::AttributeProto::AttributeType kind(const onnx::AttributeProto& message) {
    if (message.type() != onnx::AttributeProto::UNDEFINED) return message.type();
    if (message.has_i()) return onnx::AttributeProto::INT;
    if (message.has_f()) return onnx::AttributeProto::FLOAT;
    if (message.has_s()) return onnx::AttributeProto::STRING;
    if (message.has_t()) return onnx::AttributeProto::TENSOR;
    if (message.has_g()) return onnx::AttributeProto::GRAPH;
    if (message.ints_size() > 0) return onnx::AttributeProto::INTS;
    if (message.floats_size() > 0) return onnx::AttributeProto::FLOATS;
    if (message.strings_size() > 0) return onnx::AttributeProto::STRINGS;
    return onnx::AttributeProto::UNDEFINED;
  }

  OnnxValueInfo value_info(const onnx::ValueInfoProto& message) {
    OnnxValueInfo result;
    result.name = message.name();
    const auto& type = message.type();
    if (type.has_tensor_type()) {
      result.kind = OnnxTypeKind::kTensor;
      result.element_type = type.tensor_type().elem_type();
      result.has_shape = type.tensor_type().has_shape();
      for (const auto& dim : type.tensor_type().shape().dim()) {
        OnnxDim d;
        if (dim.has_dim_value()) d.extent = dim.dim_value();
        if (dim.has_dim_param()) d.symbol = dim.dim_param();
        result.dims.push_back(std::move(d));
      }
    } else if (type.has_sequence_type()) {
      result.kind = OnnxTypeKind::kSequence;
    } else if (type.has_optional_type()) {
      result.kind = OnnxTypeKind::kOptional;
    } else if (type.value_case() != onnx::TypeProto::VALUE_NOT_SET) {
      result.kind = OnnxTypeKind::kOther;
    }
    return result;
  }

  TensorSource source_;
};

}  // namespace

OnnxModel read_model(const std::filesystem::path& file, const ReadModelOptions& options) {
  const auto mapped = MappedFile::open(file);
  const size_t size = mapped->bytes().size();
  if (size > static_cast<size_t>(std::numeric_limits<int>::max())) {
    throw ModelError(fmt::format(
        "'{}' is larger than 2 GB\nhelp: save the model with external data", file.string()));
  }
  onnx::ModelProto message;
  if (size == 0 || !message.ParseFromArray(mapped->bytes().data(), static_cast<int>(size))) {
    throw ModelError(fmt::format("'{}' is not an ONNX model, or is cut off", file.string()));
  }
  if (!message.has_graph()) {
    throw ModelError(fmt::format("'{}' is not an ONNX model: it has no graph", file.string()));
  }
  ExternalData external(file.parent_path());
  ModelReader reader({.external = &external, .may_be_absent = options.weights_may_be_absent});
  return reader.model(message);
}

}  // namespace stitch
