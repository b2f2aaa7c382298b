#include "frontend/shape_folding.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "frontend/dim_arithmetic.h"
#include "frontend/node_context.h"
#include "frontend/operator_table.h"
#include "frontend/primitive_builder.h"
#include "graph/error.h"

namespace stitch {
namespace {

using KnownInputs = std::vector<const ElementTensor*>;  // null: absent

ImportedValuePtr imported(const OnnxNode& node, size_t output, ElementTensor elements) {
  auto value = std::make_shared<ImportedValue>();
  value->name = node.outputs[output];
  value->elements = std::move(elements);
  return value;
}

// Lowers the node in a graph of its own, on constants, and evaluates its outputs.
std::vector<std::optional<Tensor>> evaluate_apart(
    const FoldingRequest& request, const std::vector<std::optional<Tensor>>& inputs) {
  Graph graph;
  PrimitiveBuilder builder(graph);
  std::vector<ImportedValuePtr> values;
  for (const auto& tensor : inputs) {
    values.push_back(tensor ? std::make_shared<ImportedValue>() : nullptr);
    if (tensor) values.back()->value = graph.add_constant(*tensor);
  }
  std::vector<std::string> notes;
  NodeContext context({.node = request.node,
                       .since_version = request.row.since_version,
                       .opset = request.opset,
                       .builder = builder,
                       .inputs = std::move(values),
                       .attributes = request.attributes,
                       .notes = &notes});
  request.row.lower(context);
  std::vector<std::optional<Tensor>> results;
  for (const ImportedValuePtr& result : context.results()) {
    results.emplace_back();
    if (!result || result->is_sequence) continue;
    const ValueType type = type_of(*result, builder);
    const Dim count = element_count(type.shape);
    if (!count.is_constant() || count.constant() > ElementTensor::kLargestCount) continue;
    results.back() = builder.known(materialise(*result, builder));
  }
  return results;
}

std::vector<ImportedValuePtr> fold_numbers(const FoldingRequest& request,
                                           const KnownInputs& known) {
  std::vector<std::optional<Tensor>> inputs;
  for (const ElementTensor* elements : known) {
    inputs.push_back(elements ? tensor_of(*elements) : std::nullopt);
  }
  const auto tensors = evaluate_apart(request, inputs);
  std::vector<ImportedValuePtr> results;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!tensors[i]) {
      if (!request.node.outputs[i].empty()) return {};
      results.push_back(nullptr);
    } else {
      results.push_back(imported(request.node, i, *elements_of(*tensors[i])));
    }
  }
  return results;
}

// How many leading inputs of an operator hold the elements that it moves; the others say where to.
// 0: the operator computes.
size_t moved_inputs(std::string_view op_type, size_t input_count) {
  static const std::set<std::string_view> kMoveFirst = {
      "Expand", "Flatten", "Gather",  "GatherElements", "GatherND",  "Identity", "Reshape",
      "Slice",  "Split",   "Squeeze", "Tile",           "Transpose", "Unsqueeze"};
  if (kMoveFirst.contains(op_type)) return 1;
  return op_type == "Concat" ? input_count : 0;
}

std::vector<ImportedValuePtr> move_dims(const FoldingRequest& request, const KnownInputs& known) {
  const size_t moved = moved_inputs(request.node.op_type, known.size());
  std::vector<Element> all;
  std::vector<std::optional<Tensor>> inputs;
  for (size_t i = 0; i < known.size(); ++i) {
    if (!known[i]) {
      inputs.emplace_back();
    } else if (i >= moved) {
      inputs.push_back(tensor_of(*known[i]));
      if (!inputs.back()) return {};  // a symbolic target: the lowering reads it as Dims
    } else {
      Tensor positions(DType::kI64, known[i]->extents);
      for (int64_t k = 0; k < known[i]->count(); ++k) {
        positions.set_integer(k, static_cast<int64_t>(all.size()) + k);
      }
      all.insert(all.end(), known[i]->elements.begin(), known[i]->elements.end());
      inputs.push_back(std::move(positions));
    }
  }
  const auto tensors = evaluate_apart(request, inputs);
  std::vector<ImportedValuePtr> results;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!tensors[i]) return {};
    ElementTensor elements{known[0]->dtype, tensors[i]->extents(), {}};
    for (int64_t k = 0; k < tensors[i]->element_count(); ++k) {
      elements.elements.push_back(all.at(static_cast<size_t>(tensors[i]->integer(k))));
    }
    results.push_back(imported(request.node, i, std::move(elements)));
  }
  return results;
}

std::vector<ImportedValuePtr> cast_dims(const FoldingRequest& request, const ElementTensor& from) {
  for (const OnnxAttribute& attribute : request.attributes) {
    const auto* to = std::get_if<int64_t>(&attribute.value);
    if (attribute.name != "to" || !to) continue;
    constexpr int64_t kInt32 = 6, kInt64 = 7;  // TensorProto.DataType
    if (*to != kInt32 && *to != kInt64) return {};
    ElementTensor cast = from;
    cast.dtype = *to == kInt32 ? DType::kI32 : DType::kI64;
    return {imported(request.node, 0, std::move(cast))};
  }
  return {};
}

std::vector<ImportedValuePtr> product_of_dims(const FoldingRequest& request,
                                              const ElementTensor& from) {
  Dim product(1);
  for (const Element& element : from.elements) {
    const auto dim = dim_of(element);
    if (!dim) return {};
    product = product * *dim;
  }
  bool keep = true;
  for (const OnnxAttribute& attribute : request.attributes) {
    const auto* value = std::get_if<int64_t>(&attribute.value);
    if (attribute.name == "keepdims" && value) keep = *value != 0;
  }
  if (from.rank() != 1) return {};
  ElementTensor result = scalar_of(from.dtype, product);
  if (keep) result.extents = {1};
  return {imported(request.node, 0, std::move(result))};
}

std::vector<ImportedValuePtr> fold_symbols(const FoldingRequest& request,
                                           const KnownInputs& known) {
  const std::string_view op_type = request.node.op_type;
  if (moved_inputs(op_type, known.size()) > 0) return move_dims(request, known);
  if (std::count(known.begin(), known.end(), nullptr) > 0) return {};
  if (op_type == "Cast") return cast_dims(request, *known[0]);
  if (op_type == "ReduceProd" && known.size() == 1) return product_of_dims(request, *known[0]);
  if (auto result = fold_dims(op_type, known)) {
    return {imported(request.node, 0, std::move(*result))};
  }
  return {};
}

}  // namespace

std::vector<ImportedValuePtr> fold_node(const FoldingRequest& request) {
  if (request.inputs.empty() || !request.node.domain.empty()) return {};
  for (const OnnxAttribute& attribute : request.attributes) {
    if (std::holds_alternative<std::shared_ptr<const OnnxGraph>>(attribute.value)) return {};
  }
  KnownInputs known;
  bool symbolic = false;
  for (const ImportedValuePtr& input : request.inputs) {
    known.push_back(input ? known_elements(*input, request.builder) : nullptr);
    if (input && !known.back()) return {};
    if (!input) continue;
    symbolic = symbolic || std::any_of(known.back()->elements.begin(), known.back()->elements.end(),
                                       [](const Element& e) { return !number_of(e); });
  }
  return symbolic ? fold_symbols(request, known) : fold_numbers(request, known);
}

}  // namespace stitch
