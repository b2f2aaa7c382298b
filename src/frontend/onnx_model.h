// An ONNX file as plain values, free of protobuf: what the importer reads.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "graph/tensor.h"

namespace stitch {

// A tensor of the file. Where its data cannot be used, `problem` says why and `tensor` is empty;
// that matters only if something reads it.
struct OnnxTensor {
  std::string name;
  Tensor tensor;
  std::string problem;
  bool data_absent = false;  // external file missing and allowed to be: the bytes mean nothing
};

struct OnnxDim {
  std::optional<int64_t> extent;
  std::string symbol;  // dim_param; empty where the file gives neither
};

enum class OnnxTypeKind : uint8_t { kUnknown, kTensor, kSequence, kOptional, kOther };

// A declared type: of a graph input, an output, or an intermediate value (value_info).
struct OnnxValueInfo {
  std::string name;
  OnnxTypeKind kind = OnnxTypeKind::kUnknown;
  int64_t element_type = 0;  // TensorProto.DataType
  bool has_shape = false;
  std::vector<OnnxDim> dims;
};

struct OnnxGraph;

struct OnnxAttribute {
  std::string name;
  std::string reference;  // of an attribute of the enclosing function; no value then
  std::variant<std::monostate, int64_t, float, std::string, OnnxTensor,
               std::shared_ptr<const OnnxGraph>, std::vector<int64_t>, std::vector<float>,
               std::vector<std::string>>
      value;
};

struct OnnxNode {
  std::string name;  // of the file; the first output's name where it has none
  std::string op_type;
  std::string domain;    // "" for the default domain, also where the file says "ai.onnx"
  std::string overload;  // of the function that is called
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<OnnxAttribute> attributes;
};

struct OnnxGraph {
  std::string name;
  std::vector<OnnxNode> nodes;
  std::vector<OnnxTensor> initializers;
  std::vector<OnnxValueInfo> inputs;
  std::vector<OnnxValueInfo> outputs;
  std::vector<OnnxValueInfo> value_infos;
};

using OpsetImports = std::map<std::string, int64_t>;  // by domain

struct OnnxFunction {
  std::string name;
  std::string domain;
  std::string overload;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<OnnxAttribute> attribute_defaults;
  std::vector<OnnxNode> nodes;
  OpsetImports opsets;
};

struct OnnxModel {
  int64_t ir_version = 0;
  OpsetImports opsets;
  std::vector<OnnxFunction> functions;
  OnnxGraph graph;
};

struct ReadModelOptions {
  // Missing files of external data give tensors without meaning instead of a problem.
  bool weights_may_be_absent = false;
};

// Reads a file; external data is mapped, not copied. ModelError when there is no such file or it
// is not an ONNX model.
OnnxModel read_model(const std::filesystem::path& file, const ReadModelOptions& options = {});

}  // namespace stitch
