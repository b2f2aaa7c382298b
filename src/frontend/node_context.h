// One ONNX node while it is lowered: its inputs, attributes and outputs, with the errors that a
// wrong node deserves.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/imported_value.h"
#include "frontend/onnx_model.h"
#include "frontend/primitive_builder.h"

namespace stitch {

// Lowers the nodes of a subgraph (branch, loop body) in place; implemented by the importer.
class SubgraphImporter {
 public:
  virtual ~SubgraphImporter() = default;
  // Values of the body's outputs. `inputs` stand for the body's inputs; other names are looked up
  // outside.
  virtual std::vector<ImportedValuePtr> import_subgraph(
      const OnnxGraph& body, std::span<const ImportedValuePtr> inputs) = 0;
};

class NodeContext {
 public:
  struct Parts {
    const OnnxNode& node;
    int64_t since_version = 1;  // of the definition that applies
    int64_t opset = 1;
    PrimitiveBuilder& builder;
    std::vector<ImportedValuePtr> inputs;       // null: absent
    std::span<const OnnxAttribute> attributes;  // references resolved
    SubgraphImporter* subgraphs = nullptr;
    std::vector<std::string>* notes = nullptr;
  };
  explicit NodeContext(Parts parts);

  const OnnxNode& node() const { return parts_.node; }
  int64_t since_version() const { return parts_.since_version; }
  int64_t opset() const { return parts_.opset; }
  PrimitiveBuilder& builder() { return parts_.builder; }
  SubgraphImporter& subgraphs() { return *parts_.subgraphs; }
  void note(const std::string& text);

  // Inputs. Positions count from 0; ModelError "input 2 is missing" where one is needed.
  size_t input_count() const { return parts_.inputs.size(); }  // with trailing absent ones dropped
  bool has_input(size_t i) const { return i < parts_.inputs.size() && parts_.inputs[i] != nullptr; }
  ImportedValuePtr imported(size_t i);
  ValueId input(size_t i);
  std::vector<ValueId> inputs();  // all; none may be absent
  DType dtype(size_t i);
  Shape shape(size_t i);
  size_t rank(size_t i) { return shape(i).size(); }

  // Known at import, or nothing.
  const ElementTensor* elements(size_t i);
  // Known at import, or ModelError "input 1 must be known at compile time" with what to do.
  Tensor known(size_t i);
  std::vector<Dim> known_dims(size_t i);  // any rank, flattened
  std::vector<int64_t> known_integers(size_t i);
  std::vector<double> known_numbers(size_t i);
  int64_t known_integer(size_t i);  // one element
  double known_number(size_t i);
  Dim known_dim(size_t i);

  // Attributes. ModelError when one has another type than asked for.
  bool has_attribute(std::string_view name) const { return find(name) != nullptr; }
  int64_t integer(std::string_view name, int64_t absent) const;
  int64_t required_integer(std::string_view name) const;
  double number(std::string_view name, double absent) const;
  std::string text(std::string_view name, std::string_view absent) const;
  std::vector<int64_t> integers(std::string_view name) const;  // absent: empty
  std::vector<double> numbers(std::string_view name) const;
  std::vector<std::string> texts(std::string_view name) const;
  const OnnxTensor& tensor(std::string_view name) const;
  const OnnxGraph& graph(std::string_view name) const;
  DType dtype_attribute(std::string_view name, DType absent) const;

  // Outputs.
  size_t output_count() const { return parts_.node.outputs.size(); }
  bool wants_output(size_t i) const;
  void output(size_t i, ValueId value);
  void output(size_t i, ElementTensor elements);
  void output(size_t i, ImportedValuePtr value);
  void output_sequence(size_t i, std::vector<ImportedValuePtr> values);
  const std::vector<ImportedValuePtr>& results() const { return results_; }

 private:
  const OnnxAttribute* find(std::string_view name) const;
  std::string input_label(size_t i) const;

  Parts parts_;
  std::vector<ImportedValuePtr> results_;
};

// The graph value behind an imported one, made now if need be.
ValueId materialise(ImportedValue& value, PrimitiveBuilder& builder);
// The elements of a small value known at import, looked up once.
const ElementTensor* known_elements(ImportedValue& value, PrimitiveBuilder& builder);
ValueType type_of(ImportedValue& value, PrimitiveBuilder& builder);

}  // namespace stitch
