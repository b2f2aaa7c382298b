// Operators that only move elements: Reshape, Transpose, Concat, Split, Expand, Tile ...
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "frontend/node_context.h"
#include "frontend/operator_table.h"
#include "graph/error.h"

namespace stitch {
namespace {

void lower_identity(NodeContext& n) { n.output(0, n.imported(0)); }

// 123456 -> "123,456"
std::string with_separators(int64_t number) {
  std::string digits = std::to_string(number);
  for (size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

// 0 copies the operand's extent, one -1 is what remains: [8,128,768] by [0,0,12,-1] is
// [8,128,12,64].
Shape reshape_target(const Shape& from, const std::vector<Dim>& wanted, bool zero_is_zero) {
  Shape to = wanted;
  std::optional<size_t> inferred;
  Dim rest(1);
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i] == Dim(-1)) {
      if (inferred) throw ModelError(fmt::format("two -1 in the shape {}", to_string(wanted)));
      inferred = i;
      continue;
    }
    if (to[i] == Dim(0) && !zero_is_zero) {
      if (i >= from.size()) {
        throw ModelError(fmt::format("a 0 at axis {} of the shape {} copies an axis that {} lacks",
                                     i, to_string(wanted), to_string(from)));
      }
      to[i] = from[i];
    }
    if (to[i].is_constant() && to[i].constant() < 0) {
      throw ModelError(fmt::format("negative extent in the shape {}", to_string(wanted)));
    }
    rest = rest * to[i];
  }
  const Dim count = element_count(from);
  if (inferred) {
    if (rest == Dim(0)) {
      throw ModelError(
          fmt::format("the -1 in the shape {} cannot be inferred beside a 0", to_string(wanted)));
    }
    to[*inferred] = floordiv(count, rest);
  }
  return to;
}

ValueId reshape_checked(NodeContext& n, const Shape& to, const std::string& note) {
  PrimitiveBuilder& b = n.builder();
  const ValueId x = n.input(0);
  const Dim before = element_count(b.shape(x));
  const Dim after = element_count(to);
  if (before.is_constant() && after.is_constant() && !(before == after)) {
    throw ModelError(fmt::format("cannot reshape {}{} to {}: {} elements against {}{}",
                                 long_name(b.dtype(x)), to_string(b.shape(x)), to_string(to),
                                 with_separators(before.constant()),
                                 with_separators(after.constant()), note));
  }
  return b.reshape(x, to);
}

void lower_reshape(NodeContext& n) {
  const Shape to = reshape_target(n.shape(0), n.known_dims(1), n.integer("allowzero", 0) != 0);
  const ImportedValue& source = *n.imported(1);
  n.output(0, reshape_checked(
                  n, to,
                  fmt::format("\nnote: the target shape comes from {} '{}'",
                              source.initializer ? "initialiser" : "value", n.node().inputs[1])));
}

void lower_flatten(NodeContext& n) {
  const Shape from = n.shape(0);
  int64_t axis = n.integer("axis", 1);
  const auto rank = static_cast<int64_t>(from.size());
  if (axis < -rank || axis > rank) {
    throw ModelError(fmt::format("axis {} is outside rank {}", axis, rank));
  }
  if (axis < 0) axis += rank;
  const Shape before(from.begin(), from.begin() + axis);
  const Shape after(from.begin() + axis, from.end());
  n.output(0, n.builder().reshape(n.input(0), {element_count(before), element_count(after)}));
}

// Axes: an attribute before opset 13, an input from then on.
std::vector<int64_t> axes_of(NodeContext& n) {
  return n.has_input(1) ? n.known_integers(1) : n.integers("axes");
}

void lower_squeeze(NodeContext& n) {
  const Shape from = n.shape(0);
  std::vector<int> axes = normalise_axes(axes_of(n), from.size());
  if (!n.has_input(1) && !n.has_attribute("axes")) {
    for (size_t i = 0; i < from.size(); ++i) {
      if (!from[i].is_constant()) {
        throw ModelError(
            fmt::format("axis {} has extent {}, which may be 1 or not", i, from[i].to_string()));
      }
      if (from[i] == Dim(1)) axes.push_back(static_cast<int>(i));
    }
  }
  Shape to;
  for (size_t i = 0; i < from.size(); ++i) {
    const bool dropped = std::binary_search(axes.begin(), axes.end(), static_cast<int>(i));
    if (!dropped) {
      to.push_back(from[i]);
    } else if (from[i].is_constant() && !(from[i] == Dim(1))) {
      throw ModelError(fmt::format("axis {} of {} is not 1", i, to_string(from)));
    }
  }
  n.output(0, n.builder().reshape(n.input(0), to));
}

void lower_unsqueeze(NodeContext& n) {
  Shape to = n.shape(0);
  const std::vector<int64_t> given = axes_of(n);
  for (const int axis : normalise_axes(given, to.size() + given.size())) {
    to.insert(to.begin() + axis, Dim(1));
  }
  n.output(0, n.builder().reshape(n.input(0), to));
}

void lower_transpose(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const ValueId x = n.input(0);
  std::vector<int> perm;
  for (const int64_t axis : n.integers("perm")) perm.push_back(normalise_axis(axis, b.rank(x)));
  if (!n.has_attribute("perm")) {
    perm.resize(b.rank(x));
    std::iota(perm.rbegin(), perm.rend(), 0);
  }
  std::vector<int> sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  std::vector<int> all(b.rank(x));
  std::iota(all.begin(), all.end(), 0);
  if (sorted != all) {
    throw ModelError(fmt::format("perm [{}] is not a permutation of {} axes",
                                 fmt::join(n.integers("perm"), ","), b.rank(x)));
  }
  n.output(0, b.transpose(x, perm));
}

void lower_concat(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  std::vector<ValueId> parts;
  const int axis = normalise_axis(n.integer("axis", 1), n.rank(0));
  for (const ValueId part : n.inputs()) {
    const bool empty = b.shape(part) == Shape{Dim(0)} && n.rank(0) > 1;  // torch's empty tensor
    if (!empty) parts.push_back(part);
  }
  n.output(0, b.concat(parts.empty() ? n.inputs() : parts, axis));
}

std::vector<Dim> split_sizes(NodeContext& n, const Dim& extent) {
  if (n.has_input(1)) return n.known_dims(1);
  const std::vector<int64_t> given = n.integers("split");
  if (!given.empty()) return {given.begin(), given.end()};
  const auto parts =
      static_cast<int64_t>(n.integer("num_outputs", static_cast<int64_t>(n.output_count())));
  if (parts < 1 || parts > static_cast<int64_t>(n.output_count())) {
    throw ModelError(fmt::format("{} outputs for {} parts", n.output_count(), parts));
  }
  // Equal parts; where that does not work out the last one is smaller (from opset 18 on).
  const Dim each = floordiv(extent + Dim(parts - 1), Dim(parts));
  if (n.opset() < 18 && !(each * Dim(parts) == extent)) {
    throw ModelError(
        fmt::format("cannot split an extent of {} into {} equal parts", extent.to_string(), parts));
  }
  std::vector<Dim> sizes;
  Dim left = extent;
  for (int64_t i = 0; i < parts; ++i) {
    sizes.push_back(min(each, left));
    left = left - sizes.back();
  }
  return sizes;
}

void lower_split(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const int axis = normalise_axis(n.integer("axis", 0), n.rank(0));
  const Dim extent = n.shape(0)[static_cast<size_t>(axis)];
  const std::vector<Dim> sizes = split_sizes(n, extent);
  if (sizes.size() < n.output_count()) {
    throw ModelError(fmt::format("{} outputs for {} parts", n.output_count(), sizes.size()));
  }
  Dim start(0);
  for (const Dim& size : sizes) start = start + size;
  if (start.is_constant() && extent.is_constant() && !(start == extent)) {
    throw ModelError(fmt::format("the parts add up to {} of an extent of {}", start.to_string(),
                                 extent.to_string()));
  }
  start = Dim(0);
  for (size_t i = 0; i < sizes.size(); ++i) {
    const Dim limit = start + sizes[i];
    if (n.wants_output(i)) n.output(i, b.slice_axis(n.input(0), axis, start, limit));
    start = limit;
  }
}

void lower_expand(NodeContext& n) {
  Shape target = n.known_dims(1);
  for (Dim& dim : target) {
    if (dim == Dim(-1)) dim = Dim(1);  // not ONNX, but exported: keep the operand's extent
  }
  PrimitiveBuilder& b = n.builder();
  const ValueId x = n.input(0);
  n.output(0, b.broadcast(x, broadcast_shape(b.shape(x), target)));
}

ValueId tile(PrimitiveBuilder& b, ValueId x, const std::vector<Dim>& repeats) {
  const Shape from = b.shape(x);
  if (repeats.size() != from.size()) {
    throw ModelError(fmt::format("{} repeats for rank {}", repeats.size(), from.size()));
  }
  Shape split, repeated, merged;
  for (size_t i = 0; i < from.size(); ++i) {
    split.insert(split.end(), {Dim(1), from[i]});
    repeated.insert(repeated.end(), {repeats[i], from[i]});
    merged.push_back(repeats[i] * from[i]);
  }
  if (merged == from) return x;
  return b.reshape(b.broadcast(b.reshape(x, split), repeated), merged);
}

void lower_tile(NodeContext& n) { n.output(0, tile(n.builder(), n.input(0), n.known_dims(1))); }

int64_t block_size(NodeContext& n) {
  const int64_t block = n.required_integer("blocksize");
  if (block < 1) throw ModelError(fmt::format("blocksize is {}", block));
  if (n.rank(0) != 4) throw ModelError(fmt::format("input 0 has rank {}, expected 4", n.rank(0)));
  return block;
}

// Channels become blocks of pixels: [n,c*b*b,h,w] to [n,c,h*b,w*b]. DCR has the block before the
// channel, CRD after it.
void lower_depth_to_space(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const int64_t block = block_size(n);
  const std::string mode = n.text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") throw ModelError("attribute 'mode' is neither DCR nor CRD");
  const Shape s = n.shape(0);
  const Dim channels = floordiv(s[1], Dim(block * block));
  const ValueId x = n.input(0);
  ValueId moved;
  if (mode == "DCR") {
    moved =
        b.transpose(b.reshape(x, {s[0], block, block, channels, s[2], s[3]}), {0, 3, 4, 1, 5, 2});
  } else {
    moved =
        b.transpose(b.reshape(x, {s[0], channels, block, block, s[2], s[3]}), {0, 1, 4, 2, 5, 3});
  }
  n.output(0, b.reshape(moved, {s[0], channels, s[2] * Dim(block), s[3] * Dim(block)}));
}

void lower_space_to_depth(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const int64_t block = block_size(n);
  const bool channels_first = n.text("mode", "DCR") == "CRD";
  const Shape s = n.shape(0);
  const Dim height = floordiv(s[2], Dim(block));
  const Dim width = floordiv(s[3], Dim(block));
  const ValueId x = b.reshape(n.input(0), {s[0], s[1], height, block, width, block});
  const ValueId moved = b.transpose(
      x, channels_first ? std::vector<int>{0, 1, 3, 5, 2, 4} : std::vector<int>{0, 3, 5, 1, 2, 4});
  n.output(0, b.reshape(moved, {s[0], s[1] * Dim(block * block), height, width}));
}

constexpr OperatorRow kRows[] = {
    {"Concat", 4, lower_concat},
    {"DepthToSpace", 1, lower_depth_to_space},
    {"Expand", 8, lower_expand},
    {"Flatten", 1, lower_flatten},
    {"Identity", 1, lower_identity},
    {"Reshape", 5, lower_reshape},
    {"SpaceToDepth", 1, lower_space_to_depth},
    {"Split", 2, lower_split},
    {"Squeeze", 1, lower_squeeze},
    {"Tile", 6, lower_tile},
    {"Transpose", 1, lower_transpose},
    {"Unsqueeze", 1, lower_unsqueeze},
    {"MemcpyFromHost", 1, lower_identity},
    {"MemcpyToHost", 1, lower_identity},
};

}  // namespace

std::span<const OperatorRow> movement_operators() { return kRows; }

}  // namespace stitch
