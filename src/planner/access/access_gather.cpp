// Indexed ops in reads: an index that a tensor holds, or that arithmetic gives where the tensor is
// known to be iota or an affine constant.
#include <utility>
#include <variant>

#include "graph/error.h"
#include "graph/strided_copy.h"
#include "planner/access/access_compose.h"

namespace stitch {
namespace {

// Constants up to this size are looked through; larger index tables stay reads.
constexpr int64_t kLargestFoldedIndex = 1 << 16;

// Larger numbers are no indices; without them index arithmetic cannot overflow.
bool is_small(int64_t value) { return value > -(int64_t{1} << 40) && value < (int64_t{1} << 40); }

}  // namespace

void ReadComposer::gathered_element(Draft& draft, const Node& node, const Index& index,
                                    const Guards& guards) {
  const ValueId indices = node.operands[1];
  const std::vector<int64_t> from = extents(node.operands[0]);
  const size_t rank = extents(indices).size();
  Index source;
  if (node.op == Op::k_gather) {
    const size_t axis = static_cast<size_t>(std::get<AxisAttributes>(node.attributes).axis);
    const auto start = index.begin() + static_cast<std::ptrdiff_t>(axis);
    const auto end = start + static_cast<std::ptrdiff_t>(rank);
    source.assign(index.begin(), start);
    source.push_back(index_from(indices, Index(start, end), from[axis]));
    source.insert(source.end(), end, index.end());
  } else if (node.op == Op::k_gather_elements) {
    const size_t axis = static_cast<size_t>(std::get<AxisAttributes>(node.attributes).axis);
    source = index;
    source[axis] = index_from(indices, index, from[axis]);
  } else {
    const int batch = std::get<GatherNdAttributes>(node.attributes).batch_dims;
    const auto rest = index.begin() + static_cast<std::ptrdiff_t>(rank - 1);
    source.assign(index.begin(), index.begin() + batch);
    Index coordinate(index.begin(), rest);
    coordinate.push_back(access_.pool.constant(0));
    for (int64_t c = 0; c < extents(indices).back(); ++c) {
      coordinate.back() = access_.pool.constant(c);
      source.push_back(index_from(indices, coordinate, from[source.size()]));
    }
    source.insert(source.end(), rest, index.end());
  }
  element(draft, node.operands[0], std::move(source), guards);
}

// indices[index], wrapped once if negative and clamped to the extent.
ExprId ReadComposer::index_from(ValueId indices, const Index& index, int64_t extent) {
  if (extent <= 1) return access_.pool.constant(0);
  const Read read = this->read(indices, index);
  const ExprId folded = folded_index(read, extent);
  return folded.valid() ? folded : access_.read_index(read, extent);
}

// The index as arithmetic, or none.
ExprId ReadComposer::folded_index(const Read& read, int64_t extent) {
  if (read.pieces.size() != 1) return {};
  const Piece& piece = read.pieces[0];
  const AccessValue& source = access_.value(piece.source);
  if (source.kind == AccessValueKind::kConstant) {
    const ExprId value = affine_constant(piece);
    return value.valid() ? normalised(value, extent) : ExprId();
  }
  if (source.kind != AccessValueKind::kNode) return {};
  const AccessNode& producer = access_.node(source.producer);
  if (producer.kind != AccessKind::kIndex) return {};
  IndexPool::AtomMap atoms;
  for (size_t d = 0; d < source.dims.size(); ++d) {
    std::vector<int64_t> extents;
    for (const AtomId atom : source.dims[d]) extents.push_back(access_.pool.atom(atom).extent);
    const Index parts = access_.pool.delinearise(piece.index[d], extents);
    for (size_t i = 0; i < parts.size(); ++i) atoms.emplace(source.dims[d][i], parts[i]);
  }
  return normalised(access_.pool.substitute(producer.expression, atoms), extent);
}

// base + sum(slope of dim * index) when the constant holds exactly that.
ExprId ReadComposer::affine_constant(const Piece& piece) {
  const Tensor& tensor = *access_.constant(piece.source);
  const std::vector<int64_t>& shape = tensor.extents();
  const int64_t count = tensor.element_count();
  if (count == 0 || count > kLargestFoldedIndex) return {};
  const std::vector<int64_t> strides = row_major_strides(shape);
  const int64_t base = tensor.integer(0);
  if (!is_small(base)) return {};
  std::vector<int64_t> slopes;
  for (size_t d = 0; d < shape.size(); ++d) {
    const int64_t next = shape[d] == 1 ? base : tensor.integer(strides[d]);
    if (!is_small(next)) return {};
    slopes.push_back(next - base);
  }
  for (int64_t i = 0; i < count; ++i) {
    int64_t expected = base;
    for (size_t d = 0; d < shape.size(); ++d) expected += i / strides[d] % shape[d] * slopes[d];
    if (tensor.integer(i) != expected) return {};
  }
  return access_.pool.add(access_.pool.weighted_sum(piece.index, slopes), base);
}

// An index known as arithmetic, wrapped and clamped; none where its sign varies.
ExprId ReadComposer::normalised(ExprId index, int64_t extent) {
  IndexPool& pool = access_.pool;
  const Range range = pool.range(index);
  if (range.low < 0 && range.high >= 0) return {};
  if (range.low < 0) index = pool.add(index, extent);
  return pool.min(pool.max(index, 0), extent - 1);
}

}  // namespace stitch
