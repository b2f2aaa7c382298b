// Sequences: lists of values that exist at import only, so every position must be known.
#include <fmt/format.h>

#include <algorithm>

#include "frontend/node_context.h"
#include "frontend/operator_table.h"
#include "graph/error.h"

namespace stitch {
namespace {

std::vector<ImportedValuePtr> list_of(NodeContext& n, size_t i) {
  const ImportedValuePtr value = n.imported(i);
  if (!value->is_sequence) throw ModelError(fmt::format("input {} is not a sequence", i));
  return value->sequence;
}

// Negative positions count from the end; `limit` itself is allowed where something is inserted.
size_t position_of(NodeContext& n, size_t input, size_t limit) {
  const int64_t given = n.known_integer(input);
  const auto size = static_cast<int64_t>(limit);
  const int64_t position = given < 0 ? given + size : given;
  if (position < 0 || position > size) {
    throw ModelError(fmt::format("position {} of a sequence of {}", given, size));
  }
  return static_cast<size_t>(position);
}

void lower_sequence_construct(NodeContext& n) {
  std::vector<ImportedValuePtr> values;
  for (size_t i = 0; i < n.input_count(); ++i) values.push_back(n.imported(i));
  n.output_sequence(0, values);
}

void lower_sequence_empty(NodeContext& n) { n.output_sequence(0, {}); }

void lower_sequence_at(NodeContext& n) {
  const auto list = list_of(n, 0);
  const size_t position = position_of(n, 1, list.size());
  if (position == list.size()) {
    throw ModelError(fmt::format("position {} of a sequence of {}", position, list.size()));
  }
  n.output(0, list[position]);
}

void lower_sequence_insert(NodeContext& n) {
  auto list = list_of(n, 0);
  const size_t position = n.has_input(2) ? position_of(n, 2, list.size()) : list.size();
  list.insert(list.begin() + static_cast<std::ptrdiff_t>(position), n.imported(1));
  n.output_sequence(0, list);
}

void lower_sequence_erase(NodeContext& n) {
  auto list = list_of(n, 0);
  if (list.empty()) throw ModelError("the sequence is empty");
  const size_t position = n.has_input(1) ? position_of(n, 1, list.size()) : list.size() - 1;
  if (position == list.size()) {
    throw ModelError(fmt::format("position {} of a sequence of {}", position, list.size()));
  }
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(position));
  n.output_sequence(0, list);
}

void lower_sequence_length(NodeContext& n) {
  n.output(0, scalar_of(DType::kI64, Dim(static_cast<int64_t>(list_of(n, 0).size()))));
}

void lower_concat_from_sequence(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const bool new_axis = n.integer("new_axis", 0) != 0;
  std::vector<ValueId> parts;
  for (const ImportedValuePtr& value : list_of(n, 0)) parts.push_back(materialise(*value, b));
  if (parts.empty()) throw ModelError("the sequence is empty");
  const int axis =
      normalise_axis(n.required_integer("axis"), b.rank(parts[0]) + (new_axis ? 1 : 0));
  if (new_axis) {
    for (ValueId& part : parts) part = b.insert_axis(part, axis);
  }
  n.output(0, b.concat(parts, axis));
}

// Without sizes: slices of extent 1, their axis dropped if keepdims is 0. One size: chunks of it.
void lower_split_to_sequence(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const ValueId x = n.input(0);
  const int axis = normalise_axis(n.integer("axis", 0), b.rank(x));
  const int64_t extent = b.dim(x, axis).constant();
  constexpr int64_t kMostParts = 65536;
  if (extent > kMostParts) throw ModelError(fmt::format("a list of {} parts", extent));
  std::vector<int64_t> sizes;
  bool drop = false;
  if (!n.has_input(1)) {
    sizes.assign(static_cast<size_t>(extent), 1);
    drop = n.integer("keepdims", 1) == 0;
  } else if (n.rank(1) == 0) {
    const int64_t chunk = n.known_integer(1);
    if (chunk < 1) throw ModelError(fmt::format("a split of {}", chunk));
    for (int64_t at = 0; at < extent; at += chunk) sizes.push_back(std::min(chunk, extent - at));
  } else {
    sizes = n.known_integers(1);
  }
  std::vector<ImportedValuePtr> parts;
  int64_t start = 0;
  for (const int64_t size : sizes) {
    if (size < 0 || start + size > extent) {
      throw ModelError(fmt::format("the parts do not add up to {}", extent));
    }
    auto part = std::make_shared<ImportedValue>();
    part->value = b.slice_axis(x, axis, Dim(start), Dim(start + size));
    if (drop) part->value = b.drop_axis(part->value, axis);
    parts.push_back(part);
    start += size;
  }
  n.output_sequence(0, parts);
}

constexpr OperatorRow kRows[] = {
    {"ConcatFromSequence", 11, lower_concat_from_sequence},
    {"SequenceAt", 11, lower_sequence_at},
    {"SequenceConstruct", 11, lower_sequence_construct},
    {"SequenceEmpty", 11, lower_sequence_empty},
    {"SequenceErase", 11, lower_sequence_erase},
    {"SequenceInsert", 11, lower_sequence_insert},
    {"SequenceLength", 11, lower_sequence_length},
    {"SplitToSequence", 11, lower_split_to_sequence},
};

}  // namespace

std::span<const OperatorRow> sequence_operators() { return kRows; }

}  // namespace stitch
