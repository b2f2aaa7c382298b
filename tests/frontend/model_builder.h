// Writes small ONNX files for tests; protobuf stays in model_builder.cpp.
//
//   ModelBuilder model(17);
//   model.input("x", DType::kF32, {"batch", "4"}).node("Relu", {"x"}, {"y"}).output("y");
//   const Graph graph = model.import({.dims = {{"batch", 2}}}).graph;
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "frontend/import_onnx.h"
#include "graph/tensor.h"

namespace stitch {

class ModelBuilder;

using TestAttributeValue = std::variant<int64_t, float, std::string, std::vector<int64_t>,
                                        std::vector<float>, Tensor, const ModelBuilder*>;
struct TestAttribute {
  std::string name;
  TestAttributeValue value;
};

struct TestNodeOptions {
  std::string name = {};
  std::string domain = {};
};

class ModelBuilder {
 public:
  explicit ModelBuilder(int64_t opset = 17);
  ~ModelBuilder();
  ModelBuilder(const ModelBuilder&) = delete;
  ModelBuilder& operator=(const ModelBuilder&) = delete;

  // Dims: numbers, symbols, or "" for neither.
  ModelBuilder& input(const std::string& name, DType dtype, const std::vector<std::string>& dims);
  ModelBuilder& typed_input(const std::string& name, int onnx_type);  // of rank 1
  ModelBuilder& initializer(const std::string& name, const Tensor& tensor);
  ModelBuilder& external_initializer(const std::string& name, DType dtype,
                                     const std::vector<int64_t>& dims,
                                     const std::vector<std::pair<std::string, std::string>>& keys);
  // Raw bytes that need not fit the extents.
  ModelBuilder& broken_initializer(const std::string& name, const std::vector<int64_t>& dims,
                                   const std::string& raw_data, int onnx_type = 1);
  ModelBuilder& node(const std::string& op, const std::vector<std::string>& inputs,
                     const std::vector<std::string>& outputs,
                     const std::vector<TestAttribute>& attributes = {},
                     const TestNodeOptions& options = {});
  // The last node's attribute `name` refers to `reference` of the enclosing function.
  ModelBuilder& attribute_reference(const std::string& name, const std::string& reference);
  ModelBuilder& value_info(const std::string& name, DType dtype,
                           const std::vector<std::string>& dims);
  ModelBuilder& output(const std::string& name, DType dtype = DType::kF32);
  ModelBuilder& import_domain(const std::string& domain, int64_t version);
  // The nodes of `body` as a function of the model; its inputs and outputs by name.
  ModelBuilder& function(const std::string& domain, const std::string& name,
                         const ModelBuilder& body, const std::vector<std::string>& attributes = {});

  std::filesystem::path save(const std::filesystem::path& file) const;
  // Saved to a temporary folder that is removed at once.
  ImportResult import(const ImportOptions& options = {}) const;
  // The message of the ModelError that importing gives; "" when it succeeds.
  std::string import_error(const ImportOptions& options = {}) const;
  CheckReport check(const ImportOptions& options = {}) const;
  // The outputs on these inputs, in native precision; extents come from the tensors.
  std::vector<Tensor> run(const std::vector<std::pair<std::string, Tensor>>& inputs) const;

 private:
  struct Message;
  std::unique_ptr<Message> message_;
};

// A folder for a test's files, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

Tensor f32(std::vector<int64_t> extents, const std::vector<double>& values);
Tensor i64(std::vector<int64_t> extents, const std::vector<int64_t>& values);
std::vector<double> reals(const Tensor& tensor);

}  // namespace stitch
