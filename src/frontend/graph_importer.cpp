#include "frontend/graph_importer.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <stdexcept>
#include <utility>

#include "frontend/data_dependence.h"
#include "frontend/name_suggestion.h"
#include "frontend/node_order.h"
#include "frontend/onnx_types.h"
#include "frontend/shape_folding.h"
#include "graph/error.h"

namespace stitch {
namespace {

constexpr int64_t kMostNodes = 250'000;
// Ends the import: functions and loops multiply.
struct TooManyNodes {};

constexpr int kDeepestCall = 64;  // of functions within functions and subgraphs within subgraphs

ImportedValuePtr failed_value(const std::string& name) {
  auto value = std::make_shared<ImportedValue>();
  value->name = name;
  value->failed = true;
  return value;
}

bool is_failed(const ImportedValuePtr& value) {
  if (!value) return false;
  return value->failed || std::any_of(value->sequence.begin(), value->sequence.end(), is_failed);
}

std::vector<std::string> names_of(const std::vector<OnnxValueInfo>& infos) {
  std::vector<std::string> names;
  for (const OnnxValueInfo& info : infos) names.push_back(info.name);
  return names;
}

// Puts a value back when a block ends.
template <class T>
class Restored {
 public:
  Restored(T& place, T value) : place_(place), old_(std::exchange(place, std::move(value))) {}
  ~Restored() { place_ = std::move(old_); }
  Restored(const Restored&) = delete;
  Restored& operator=(const Restored&) = delete;

 private:
  T& place_;
  T old_;
};

}  // namespace

GraphImporter::GraphImporter(const OnnxModel& model, const ImportOptions& options)
    : model_(model), options_(options) {
  for (const OnnxFunction& f : model.functions) functions_[{f.domain, f.name, f.overload}] = &f;
  for (const OnnxValueInfo& info : model.graph.value_infos) declared_[info.name] = &info;
  for (const OnnxValueInfo& info : model.graph.outputs) declared_[info.name] = &info;
  surroundings_.opsets = &model.opsets;
}

void GraphImporter::run() {
  graph_.model_name = model_.graph.name;
  check_opset();
  if (!problems_.empty()) return;
  define_initializers(model_.graph, model_scope_);
  import_inputs();
  try {
    import_nodes(model_.graph.nodes, names_of(model_.graph.outputs));
  } catch (const TooManyNodes&) {
    add_problem(
        nullptr,
        fmt::format("the model has more than {} nodes once functions and loops are unrolled",
                    kMostNodes));
    return;
  }
  import_outputs();
  note_declared_types();
  note_absent_weights();
}

void GraphImporter::check_opset() {
  const auto found = model_.opsets.find("");
  if (found == model_.opsets.end()) {
    const bool needed = std::any_of(model_.graph.nodes.begin(), model_.graph.nodes.end(),
                                    [](const OnnxNode& node) { return node.domain.empty(); });
    if (needed) add_problem(nullptr, "the model does not say which opset it uses");
  } else if (found->second < kOldestOpset || found->second > kNewestOpset) {
    add_problem(nullptr, fmt::format("opset {} is not supported\nnote: opsets {} to {} are",
                                     found->second, kOldestOpset, kNewestOpset));
  }
}

void GraphImporter::define_initializers(const OnnxGraph& graph, Scope& scope) {
  for (const OnnxTensor& tensor : graph.initializers) {
    if (scope.defines(tensor.name)) {
      add_problem(nullptr, fmt::format("initialiser '{}' is defined twice", tensor.name));
      continue;
    }
    auto value = std::make_shared<ImportedValue>();
    value->name = tensor.name;
    value->initializer = &tensor;
    scope.define(tensor.name, value);
  }
}

void GraphImporter::import_nodes(const std::vector<OnnxNode>& nodes,
                                 const std::vector<std::string>& wanted) {
  const NodeOrder order = order_nodes(nodes, wanted);
  for (const size_t i : order.repeats) {
    add_problem(&nodes[i], "it defines a name that another node defines already");
  }
  if (!order.cycle.empty()) {
    std::string path;
    for (const size_t i : order.cycle) path += fmt::format("'{}' -> ", nodes[i].name);
    add_problem(&nodes[order.cycle.front()], fmt::format("it is part of a cycle: {}'{}'", path,
                                                         nodes[order.cycle.front()].name));
    return;
  }
  for (const size_t i : order.nodes) {
    for (const std::string& output : nodes[i].outputs) {
      const bool repeats =
          std::find(order.repeats.begin(), order.repeats.end(), i) != order.repeats.end();
      if (!output.empty() && scope_->defines(output) && !repeats) {
        add_problem(&nodes[i],
                    fmt::format("it defines '{}', which is an input or initialiser", output));
      }
    }
    if (++imported_nodes_ > kMostNodes) throw TooManyNodes();
    import_node(nodes[i]);
  }
}

void GraphImporter::import_node(const OnnxNode& node) {
  std::vector<ImportedValuePtr> results;
  std::vector<ImportedValuePtr> inputs;
  try {
    // First of all, so that an unknown operator is reported whatever its inputs are.
    if (!find_function(node)) find_operator(node, opset_of(node));
  } catch (const ModelError& error) {
    add_problem(&node, error.what());
    define_outputs(node, results);
    return;
  }
  try {
    for (const std::string& name : node.inputs) {
      inputs.push_back(name.empty() ? nullptr : find_value(name));
    }
    if (std::none_of(inputs.begin(), inputs.end(), is_failed)) {
      const std::vector<OnnxAttribute> attributes = resolved_attributes(node);
      const OnnxFunction* function = find_function(node);
      results =
          function ? call(*function, node, inputs, attributes) : lower(node, inputs, attributes);
    }
  } catch (const DataDependence& dependence) {
    if (is_never_supported(node) || !reads_unbound_extents(inputs)) {
      add_problem(&node, dependence.what());
      problems_.back().inputs_to_bind = dependence.inputs_to_bind();
    }
  } catch (const ModelError& error) {
    if (is_never_supported(node) || !reads_unbound_extents(inputs))
      add_problem(&node, error.what());
  } catch (const InternalError&) {
    if (!has_unbound_dims_) throw;  // an extent was needed as a number: its symbol is reported
  } catch (const std::bad_alloc&) {
    add_problem(&node, "its tensors do not fit into memory");
  } catch (const std::length_error&) {
    add_problem(&node, "its tensors do not fit into memory");
  }
  define_outputs(node, results);
}

std::vector<ImportedValuePtr> GraphImporter::lower(const OnnxNode& node,
                                                   std::vector<ImportedValuePtr> inputs,
                                                   std::span<const OnnxAttribute> attributes) {
  const int64_t opset = opset_of(node);
  const OperatorRow& row = find_operator(node, opset);
  auto folded = fold_node({.node = node,
                           .row = row,
                           .opset = opset,
                           .inputs = inputs,
                           .attributes = attributes,
                           .builder = builder_});
  if (!folded.empty()) return folded;
  NodeContext context({.node = node,
                       .since_version = row.since_version,
                       .opset = opset,
                       .builder = builder_,
                       .inputs = std::move(inputs),
                       .attributes = attributes,
                       .subgraphs = this,
                       .notes = &notes_});
  builder_.set_source(graph_.add_source({surroundings_.prefix + node.name, node.op_type}));
  row.lower(context);
  std::vector<ImportedValuePtr> results = context.results();
  for (const ImportedValuePtr& result : results) {
    if (result && result->value.valid()) check_size("its result", graph_.type(result->value));
  }
  return results;
}

std::vector<ImportedValuePtr> GraphImporter::call(const OnnxFunction& function,
                                                  const OnnxNode& node,
                                                  const std::vector<ImportedValuePtr>& inputs,
                                                  const std::vector<OnnxAttribute>& attributes) {
  if (surroundings_.depth >= kDeepestCall) {
    throw ModelError(fmt::format("functions are called more than {} deep", kDeepestCall));
  }
  if (inputs.size() > function.inputs.size()) {
    throw ModelError(
        fmt::format("{} inputs for a function of {}", inputs.size(), function.inputs.size()));
  }
  std::vector<OnnxAttribute> arguments = attributes;
  for (const OnnxAttribute& absent : function.attribute_defaults) {
    const bool given = std::any_of(arguments.begin(), arguments.end(),
                                   [&](const OnnxAttribute& a) { return a.name == absent.name; });
    if (!given) arguments.push_back(absent);
  }
  Scope inside;
  for (size_t i = 0; i < function.inputs.size(); ++i) {
    // An input left out stays absent for the nodes that read it.
    inside.define(function.inputs[i], i < inputs.size() ? inputs[i] : nullptr);
  }
  const Restored<Scope*> scope(scope_, &inside);
  const Restored<Surroundings> surroundings(
      surroundings_, Surroundings{.opsets = &function.opsets,
                                  .attributes = &arguments,
                                  .prefix = surroundings_.prefix + node.name + "/",
                                  .depth = surroundings_.depth + 1});
  import_nodes(function.nodes, function.outputs);
  std::vector<ImportedValuePtr> results;
  for (const std::string& output : function.outputs) results.push_back(find_value(output));
  return results;
}

std::vector<ImportedValuePtr> GraphImporter::import_subgraph(
    const OnnxGraph& body, std::span<const ImportedValuePtr> inputs) {
  if (surroundings_.depth >= kDeepestCall) {
    throw ModelError(fmt::format("subgraphs are nested more than {} deep", kDeepestCall));
  }
  if (inputs.size() != body.inputs.size()) {
    throw ModelError(
        fmt::format("its subgraph has {} inputs, expected {}", body.inputs.size(), inputs.size()));
  }
  Scope inside(scope_);
  for (size_t i = 0; i < inputs.size(); ++i) inside.define(body.inputs[i].name, inputs[i]);
  define_initializers(body, inside);
  const Restored<Scope*> scope(scope_, &inside);
  Surroundings deeper = surroundings_;
  ++deeper.depth;
  const Restored<Surroundings> surroundings(surroundings_, std::move(deeper));
  const SourceId outside = builder_.source();
  import_nodes(body.nodes, names_of(body.outputs));
  builder_.set_source(outside);
  std::vector<ImportedValuePtr> results;
  for (const OnnxValueInfo& output : body.outputs) results.push_back(find_value(output.name));
  return results;
}

const OnnxFunction* GraphImporter::find_function(const OnnxNode& node) const {
  const auto found = functions_.find({node.domain, node.op_type, node.overload});
  return found == functions_.end() ? nullptr : found->second;
}

int64_t GraphImporter::opset_of(const OnnxNode& node) const {
  const auto found = surroundings_.opsets->find(node.domain);
  if (found != surroundings_.opsets->end()) return found->second;
  const auto of_model = model_.opsets.find(node.domain);
  return of_model == model_.opsets.end() ? 1 : of_model->second;
}

const OperatorRow& GraphImporter::find_operator(const OnnxNode& node, int64_t opset) const {
  if (const OperatorRow* row = table_.find(node.domain, node.op_type, opset)) return *row;
  if (const auto first = table_.first_version(node.domain, node.op_type)) {
    throw ModelError(fmt::format("the operator exists from opset {} on; the model uses opset {}",
                                 *first, opset));
  }
  std::string message =
      node.domain.empty()
          ? "the operator is not supported"
          : fmt::format("the operator of domain '{}' is not supported", node.domain);
  if (node.domain == "com.microsoft.nchwc" || node.domain == "com.ms.internal.nhwc") {
    throw ModelError(message + "\nhelp: save the optimised model at level 'extended' or lower");
  }
  const auto names = table_.names(node.domain);
  if (const auto near = nearest_name(node.op_type, names)) {
    message += fmt::format("\nhelp: did you mean '{}'?", *near);
  }
  throw ModelError(message);
}

bool GraphImporter::is_never_supported(const OnnxNode& node) const {
  const OperatorRow* row = table_.find(node.domain, node.op_type, opset_of(node));
  const std::span<const OperatorRow> rows = unsupported_operators();
  return row && std::any_of(rows.begin(), rows.end(),
                            [row](const OperatorRow& known) { return row == &known; });
}

std::vector<OnnxAttribute> GraphImporter::resolved_attributes(const OnnxNode& node) const {
  std::vector<OnnxAttribute> result;
  for (const OnnxAttribute& attribute : node.attributes) {
    if (attribute.reference.empty()) {
      result.push_back(attribute);
      continue;
    }
    if (!surroundings_.attributes) {
      throw ModelError(fmt::format("attribute '{}' refers to '{}' of a function, outside of one",
                                   attribute.name, attribute.reference));
    }
    for (const OnnxAttribute& given : *surroundings_.attributes) {
      if (given.name != attribute.reference) continue;
      result.push_back(given);
      result.back().name = attribute.name;
    }
  }
  return result;
}

ImportedValuePtr GraphImporter::find_value(const std::string& name) const {
  if (auto value = scope_->find(name)) return value;
  if (scope_->defines(name)) return nullptr;  // an input that the caller of a function left out
  std::string message = fmt::format("'{}' is not defined by any node, input or initialiser", name);
  auto names = scope_->names();
  for (const OnnxNode& node : model_.graph.nodes) {  // those that are not imported too
    names.insert(names.end(), node.outputs.begin(), node.outputs.end());
  }
  if (const auto near = nearest_name(name, names)) {
    message += fmt::format("\nhelp: did you mean '{}'?", *near);
  }
  throw ModelError(message);
}

void GraphImporter::define_outputs(const OnnxNode& node,
                                   const std::vector<ImportedValuePtr>& results) {
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const std::string& name = node.outputs[i];
    if (name.empty() || scope_->defines(name)) continue;
    if (i >= results.size() || !results[i]) {
      if (!results.empty()) add_problem(&node, fmt::format("output {} is not supported", i));
      scope_->define(name, failed_value(name));
      continue;
    }
    ImportedValue& value = *results[i];
    if (value.name.empty()) value.name = name;
    if (value.value.valid() && graph_.value(value.value).name.empty()) {
      graph_.set_name(value.value, surroundings_.prefix + name);
    }
    if (scope_ == &model_scope_) compare_with_declared(name, value);
    scope_->define(name, results[i]);
  }
}

bool GraphImporter::reads_unbound_extents(const std::vector<ImportedValuePtr>& inputs) {
  if (!has_unbound_dims_) return false;
  for (const ImportedValuePtr& input : inputs) {
    if (!input || is_failed(input) || input->is_sequence) continue;
    if (input->elements && !tensor_of(*input->elements)) return true;
    if (input->value.valid() && !is_constant(graph_.type(input->value).shape)) return true;
  }
  return false;
}

void GraphImporter::add_problem(const OnnxNode* node, const std::string& message) {
  ImportProblem problem;
  if (node) {
    problem.node = surroundings_.prefix + node->name;
    problem.op = node->op_type;
  }
  size_t start = 0;
  while (start <= message.size()) {
    const size_t end = std::min(message.find('\n', start), message.size());
    const std::string line = message.substr(start, end - start);
    if (line.starts_with("note: ")) {
      problem.notes.push_back(line.substr(6));
    } else if (line.starts_with("help: ")) {
      problem.helps.push_back(line.substr(6));
    } else {
      problem.reason += (problem.reason.empty() ? "" : " ") + line;
    }
    start = end + 1;
  }
  problems_.push_back(std::move(problem));
}

}  // namespace stitch
