// If, Loop and Scan without control flow: a known branch is taken, of unknown ones both are
// computed and one selected; loops are unrolled.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "frontend/node_context.h"
#include "frontend/operator_table.h"
#include "graph/error.h"

namespace stitch {
namespace {

constexpr int64_t kMostTrips = 1024;  // unrolled

std::optional<bool> known_condition(NodeContext& n, ImportedValue& value) {
  if (const ElementTensor* known = known_elements(value, n.builder())) {
    if (known->count() == 1) {
      if (const auto number = number_of(known->elements.front())) return *number != 0;
    }
  }
  if (const auto tensor = n.builder().known(materialise(value, n.builder()))) {
    if (tensor->element_count() == 1) return tensor->integer(0) != 0;
  }
  return {};
}

// Both branches are computed and one is selected: primitives have no side effects and do not fault.
void select_branch(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const ValueId condition = b.reshape(b.cast(n.input(0), DType::kBool), {});
  const auto then_values = n.subgraphs().import_subgraph(n.graph("then_branch"), {});
  const auto else_values = n.subgraphs().import_subgraph(n.graph("else_branch"), {});
  if (then_values.size() != else_values.size()) {
    throw ModelError(
        fmt::format("its branches have {} and {} outputs", then_values.size(), else_values.size()));
  }
  for (size_t i = 0; i < then_values.size(); ++i) {
    if (!then_values[i] || !else_values[i] || then_values[i]->failed || else_values[i]->failed) {
      throw ModelError("a branch has a problem");
    }
    const ValueId x = materialise(*then_values[i], b);
    const ValueId y = materialise(*else_values[i], b);
    if (!(b.type(x) == b.type(y))) {
      throw ModelError(
          fmt::format("its condition depends on data, and its branches give {} and {} as output {}",
                      to_string(b.type(x)), to_string(b.type(y)), i));
    }
    n.output(i, b.select(condition, x, y));
  }
}

void lower_if(NodeContext& n) {
  const auto condition = known_condition(n, *n.imported(0));
  if (!condition) {
    select_branch(n);
    return;
  }
  const auto results =
      n.subgraphs().import_subgraph(n.graph(*condition ? "then_branch" : "else_branch"), {});
  for (size_t i = 0; i < results.size(); ++i) n.output(i, results[i]);
}

ImportedValuePtr constant_value(const std::string& name, DType dtype, int64_t number) {
  auto value = std::make_shared<ImportedValue>();
  value->name = name;
  value->elements = scalar_of(dtype, Element(Dim(number)));
  return value;
}

// Inputs: trips, condition, carried...; body: (i, condition, carried...) to (condition, carried...,
// slices...). Slices are stacked along a new first axis.
void lower_loop(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const OnnxGraph& body = n.graph("body");
  if (n.input_count() < 2 && body.inputs.size() > 2) throw ModelError("its inputs are missing");
  const int64_t trips = n.has_input(0) ? n.known_integer(0) : kMostTrips + 1;
  ImportedValuePtr condition = n.has_input(1) ? n.imported(1) : constant_value("", DType::kBool, 1);
  std::vector<ImportedValuePtr> carried;
  for (size_t i = 2; i < body.inputs.size(); ++i) carried.push_back(n.imported(i));
  if (body.outputs.size() < carried.size() + 1) throw ModelError("its body has too few outputs");
  std::vector<std::vector<ValueId>> slices(body.outputs.size() - 1 - carried.size());
  for (int64_t trip = 0; trip < trips; ++trip) {
    const auto go_on = known_condition(n, *condition);
    if (!go_on) throw ModelError("its condition depends on data, so it cannot be unrolled");
    if (!*go_on) break;
    if (trip == kMostTrips) {
      throw ModelError(fmt::format("it runs for more than {} trips", kMostTrips));
    }
    std::vector<ImportedValuePtr> inputs = {constant_value("", DType::kI64, trip), condition};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    const auto results = n.subgraphs().import_subgraph(body, inputs);
    for (const ImportedValuePtr& result : results) {
      if (!result || result->failed) throw ModelError("its body has a problem");
    }
    condition = results[0];
    for (size_t i = 0; i < carried.size(); ++i) carried[i] = results[i + 1];
    for (size_t i = 0; i < slices.size(); ++i) {
      const ValueId slice = materialise(*results[1 + carried.size() + i], b);
      slices[i].push_back(b.insert_axis(slice, 0));
    }
  }
  for (size_t i = 0; i < carried.size(); ++i) n.output(i, carried[i]);
  for (size_t i = 0; i < slices.size(); ++i) {
    if (!n.wants_output(carried.size() + i)) continue;
    if (slices[i].empty()) throw ModelError("it runs for no trip, so its slices have no shape");
    n.output(carried.size() + i, b.concat(slices[i], 0));
  }
}

struct ScanInput {
  ValueId value;
  int axis = 0;
  bool backwards = false;
};

std::vector<ImportedValuePtr> scan_step(NodeContext& n, const OnnxGraph& body,
                                        const std::vector<ImportedValuePtr>& states,
                                        const std::vector<ScanInput>& inputs, int64_t step,
                                        int64_t length) {
  PrimitiveBuilder& b = n.builder();
  std::vector<ImportedValuePtr> values = states;
  for (const ScanInput& input : inputs) {
    const int64_t at = input.backwards ? length - 1 - step : step;
    auto value = std::make_shared<ImportedValue>();
    value->value =
        b.drop_axis(b.slice_axis(input.value, input.axis, Dim(at), Dim(at + 1)), input.axis);
    values.push_back(std::move(value));
  }
  auto results = n.subgraphs().import_subgraph(body, values);
  for (const ImportedValuePtr& result : results) {
    if (!result || result->failed) throw ModelError("its body has a problem");
  }
  return results;
}

// Inputs: states..., sequences...; the sequences are sliced along their scan axis, the results of
// the steps are stacked along theirs.
void lower_scan(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const OnnxGraph& body = n.graph("body");
  const int64_t scanned = n.required_integer("num_scan_inputs");
  const auto input_count = static_cast<int64_t>(n.input_count());
  if (scanned < 1 || scanned > input_count) {
    throw ModelError(fmt::format("{} scan inputs of {} inputs", scanned, input_count));
  }
  const auto state_count = static_cast<size_t>(input_count - scanned);
  const auto entry = [&](const char* name, size_t i) {
    const auto values = n.integers(name);
    return i < values.size() ? values[i] : 0;
  };
  std::vector<ImportedValuePtr> states;
  for (size_t i = 0; i < state_count; ++i) states.push_back(n.imported(i));
  std::vector<ScanInput> inputs;
  for (size_t i = 0; i < static_cast<size_t>(scanned); ++i) {
    const ValueId value = n.input(state_count + i);
    inputs.push_back({value, normalise_axis(entry("scan_input_axes", i), b.rank(value)),
                      entry("scan_input_directions", i) != 0});
  }
  const int64_t length = b.dim(inputs[0].value, inputs[0].axis).constant();
  if (length > kMostTrips) throw ModelError(fmt::format("it has more than {} steps", kMostTrips));
  if (length == 0) throw ModelError("it has no steps, so its slices have no shape");
  if (body.outputs.size() < state_count) throw ModelError("its body has too few outputs");
  std::vector<std::vector<ValueId>> slices(body.outputs.size() - state_count);
  for (int64_t step = 0; step < length; ++step) {
    const auto results = scan_step(n, body, states, inputs, step, length);
    for (size_t i = 0; i < state_count; ++i) states[i] = results[i];
    for (size_t i = 0; i < slices.size(); ++i) {
      slices[i].push_back(materialise(*results[state_count + i], b));
    }
  }
  for (size_t i = 0; i < state_count; ++i) n.output(i, states[i]);
  for (size_t i = 0; i < slices.size(); ++i) {
    const int axis = normalise_axis(entry("scan_output_axes", i), b.rank(slices[i].front()) + 1);
    if (entry("scan_output_directions", i) != 0) std::reverse(slices[i].begin(), slices[i].end());
    std::vector<ValueId> parts;
    for (const ValueId slice : slices[i]) parts.push_back(b.insert_axis(slice, axis));
    n.output(state_count + i, b.concat(parts, axis));
  }
}

constexpr OperatorRow kRows[] = {
    {"If", 1, lower_if},
    {"Loop", 1, lower_loop},
    {"Scan", 9, lower_scan},
};

}  // namespace

std::span<const OperatorRow> control_operators() { return kRows; }

}  // namespace stitch
