// Appends primitives to a graph with the conveniences that lowering needs: NumPy broadcasting,
// scalar operands, kept dimensions, and values known at import.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace stitch {

// Result shape of NumPy broadcasting; ModelError "cannot broadcast [2,3] with [4]".
Shape broadcast_shape(const Shape& a, const Shape& b);
// 0 <= axis < rank; negative axes count from the end; ModelError "axis 3 is outside rank 2".
int normalise_axis(int64_t axis, size_t rank);
// Sorted; ModelError when an axis repeats.
std::vector<int> normalise_axes(const std::vector<int64_t>& axes, size_t rank);

class PrimitiveBuilder {
 public:
  explicit PrimitiveBuilder(Graph& graph) : graph_(graph) {}

  Graph& graph() { return graph_; }
  // The ONNX node to which the primitives from here on belong.
  void set_source(SourceId source) { source_ = source; }
  SourceId source() const { return source_; }
  const ValueType& type(ValueId x) const { return graph_.type(x); }
  DType dtype(ValueId x) const { return graph_.type(x).dtype; }
  // A copy: references into the graph end with the next append.
  Shape shape(ValueId x) const { return graph_.type(x).shape; }
  size_t rank(ValueId x) const { return graph_.type(x).shape.size(); }
  Dim dim(ValueId x, int axis) const { return graph_.type(x).shape[static_cast<size_t>(axis)]; }

  // Generators.
  ValueId constant(Tensor tensor);
  ValueId scalar(DType dtype, double value);  // rank 0
  ValueId scalar_integer(DType dtype, int64_t value);
  ValueId filled(DType dtype, double value, const Shape& shape);
  ValueId iota(DType dtype, const Shape& shape, int axis);

  // Element-wise. Operands broadcast like NumPy's; a number takes the other operand's dtype.
  ValueId unary(Op op, ValueId x);
  ValueId binary(Op op, ValueId a, ValueId b);
  ValueId binary(Op op, ValueId a, double b);
  ValueId binary(Op op, double a, ValueId b);
  ValueId add(ValueId a, ValueId b) { return binary(Op::k_add, a, b); }
  ValueId add(ValueId a, double b) { return binary(Op::k_add, a, b); }
  ValueId sub(ValueId a, ValueId b) { return binary(Op::k_sub, a, b); }
  ValueId sub(ValueId a, double b) { return binary(Op::k_sub, a, b); }
  ValueId sub(double a, ValueId b) { return binary(Op::k_sub, a, b); }
  ValueId mul(ValueId a, ValueId b) { return binary(Op::k_mul, a, b); }
  ValueId mul(ValueId a, double b) { return binary(Op::k_mul, a, b); }
  ValueId div(ValueId a, ValueId b) { return binary(Op::k_div, a, b); }
  ValueId div(ValueId a, double b) { return binary(Op::k_div, a, b); }
  ValueId div(double a, ValueId b) { return binary(Op::k_div, a, b); }
  ValueId compare(CompareKind kind, ValueId a, ValueId b);
  ValueId compare(CompareKind kind, ValueId a, double b);
  ValueId bitwise(BitwiseKind kind, ValueId a, ValueId b);
  ValueId shift(ShiftKind kind, ValueId a, ValueId b);
  ValueId select(ValueId condition, ValueId a, ValueId b);
  ValueId cast(ValueId x, DType dtype);  // x itself when it has that dtype

  // Movement; x itself where nothing moves.
  ValueId reshape(ValueId x, const Shape& shape);
  ValueId broadcast(ValueId x, const Shape& shape);  // NumPy's rule: axes aligned at the end
  // axes[i] is the axis of `shape` for axis i of x.
  ValueId broadcast_axes(ValueId x, const Shape& shape, std::vector<int> axes);
  ValueId transpose(ValueId x, const std::vector<int>& perm);
  ValueId slice(ValueId x, SliceAttributes bounds);
  ValueId slice_axis(ValueId x, int axis, const Dim& start, const Dim& limit, int64_t step = 1);
  ValueId reverse(ValueId x, std::vector<int> axes);
  ValueId pad(ValueId x, ValueId fill, PadAttributes amounts);
  ValueId concat(const std::vector<ValueId>& parts, int axis);  // of one part: that part
  ValueId insert_axis(ValueId x, int axis);                     // a new axis of extent 1
  ValueId drop_axis(ValueId x, int axis);                       // of extent 1

  // Indexed reads and writes.
  ValueId gather(ValueId x, ValueId indices, int axis);
  ValueId gather_elements(ValueId x, ValueId indices, int axis);
  ValueId gather_nd(ValueId x, ValueId indices, int batch_dims);
  // Negative indices count from the end of an axis of this extent.
  ValueId wrap_indices(ValueId indices, const Dim& extent);

  // Reductions. Half types are the caller's to widen.
  ValueId reduce(ReduceKind kind, ValueId x, std::vector<int> axes, bool keep_axes);
  ValueId mean(ValueId x, const std::vector<int>& axes, bool keep_axes);
  // A value reduced over `axes` repeated along them again, to `shape`.
  ValueId spread(ValueId reduced, const Shape& shape, const std::vector<int>& axes);

  // NumPy's matmul rule on ranks and leading axes.
  ValueId matmul(ValueId a, ValueId b);

  // Any primitive with one result.
  ValueId node(Op op, std::vector<ValueId> operands, Attributes attributes = {},
               const ValueType* type = nullptr);
  NodeId node_of_many(Op op, std::vector<ValueId> operands, Attributes attributes);

  // The tensor that a value is known to be: a constant, or computed from constants (by the
  // evaluator; not values of more than 2^22 elements, nor through more than 1000 nodes in a row).
  std::optional<Tensor> known(ValueId x) { return known(x, 0); }
  // Names of the graph's inputs that a value is computed from, in the graph's order.
  std::vector<std::string> inputs_behind(ValueId x) const;
  // The data of this constant is not there: nothing computed from it is known.
  void mark_absent(ValueId constant) { known_[constant] = std::nullopt; }

 private:
  std::optional<Tensor> known(ValueId x, int depth);

  Graph& graph_;
  SourceId source_;
  std::map<std::pair<DType, uint64_t>, ValueId> scalars_;
  std::map<ValueId, std::optional<Tensor>> known_;
};

}  // namespace stitch
