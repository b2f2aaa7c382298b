// Imports the nodes of an ONNX model one by one into a graph, and collects what goes wrong.
#pragma once
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "frontend/import_onnx.h"
#include "frontend/node_context.h"
#include "frontend/onnx_model.h"
#include "frontend/operator_table.h"
#include "frontend/primitive_builder.h"
#include "frontend/scope.h"

namespace stitch {

class GraphImporter : public SubgraphImporter {
 public:
  GraphImporter(const OnnxModel& model, const ImportOptions& options);

  void run();
  Graph take_graph() { return std::move(graph_); }
  std::vector<ImportProblem> take_problems() { return std::move(problems_); }
  std::vector<std::string> take_notes() { return std::move(notes_); }

  std::vector<ImportedValuePtr> import_subgraph(const OnnxGraph& body,
                                                std::span<const ImportedValuePtr> inputs) override;

 private:
  // Where nodes are read: the model, or the body of a function that is called.
  struct Surroundings {
    const OpsetImports* opsets = nullptr;
    const std::vector<OnnxAttribute>* attributes = nullptr;  // of the call; null outside functions
    std::string prefix;                                      // of node names: "call/"
    int depth = 0;
  };

  void check_opset();
  void import_inputs();
  ValueType input_type(const OnnxValueInfo& input);
  Dim input_dim(const OnnxValueInfo& input, size_t axis);
  // Bindings of dimensions that no input has are mistyped.
  void check_dim_names();
  void import_bound_input(const OnnxValueInfo& input, const Tensor& tensor);
  void import_outputs();
  void define_initializers(const OnnxGraph& graph, Scope& scope);
  void import_nodes(const std::vector<OnnxNode>& nodes, const std::vector<std::string>& wanted);
  void import_node(const OnnxNode& node);
  std::vector<ImportedValuePtr> lower(const OnnxNode& node, std::vector<ImportedValuePtr> inputs,
                                      std::span<const OnnxAttribute> attributes);
  std::vector<ImportedValuePtr> call(const OnnxFunction& function, const OnnxNode& node,
                                     const std::vector<ImportedValuePtr>& inputs,
                                     const std::vector<OnnxAttribute>& attributes);
  const OnnxFunction* find_function(const OnnxNode& node) const;
  const OperatorRow& find_operator(const OnnxNode& node, int64_t opset) const;
  // Of the operators that are known only for the reason why they are not supported.
  bool is_never_supported(const OnnxNode& node) const;
  int64_t opset_of(const OnnxNode& node) const;
  std::vector<OnnxAttribute> resolved_attributes(const OnnxNode& node) const;
  ImportedValuePtr find_value(const std::string& name) const;
  void define_outputs(const OnnxNode& node, const std::vector<ImportedValuePtr>& results);
  void compare_with_declared(const std::string& name, const ImportedValue& value);
  void note_declared_types();
  void note_absent_weights();
  // ModelError when it has more bytes than any device holds.
  static void check_size(const std::string& what, const ValueType& type);
  bool reads_unbound_extents(const std::vector<ImportedValuePtr>& inputs);
  void add_problem(const OnnxNode* node, const std::string& message);

  const OnnxModel& model_;
  const ImportOptions& options_;
  OperatorTable table_;
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>, const OnnxFunction*>
      functions_;
  std::map<std::string_view, const OnnxValueInfo*> declared_;
  Graph graph_;
  PrimitiveBuilder builder_{graph_};
  Scope model_scope_;
  Scope* scope_ = &model_scope_;
  Surroundings surroundings_;
  bool has_unbound_dims_ = false;
  int64_t imported_nodes_ = 0;
  std::vector<std::string> stale_types_;
  std::vector<ImportProblem> problems_;
  std::vector<std::string> notes_;
};

}  // namespace stitch
