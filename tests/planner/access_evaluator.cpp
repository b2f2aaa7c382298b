#include "planner/access_evaluator.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <variant>

#include "graph/error.h"
#include "graph/evaluate.h"
#include "planner/access/floor_division.h"

namespace stitch {
namespace {

// An element of a value.
struct Element {
  const Tensor* tensor = nullptr;
  int64_t index = 0;
};

void copy_element(Tensor& to, int64_t index, const Element& from) {
  const int64_t size = size_bytes(to.dtype());
  const auto source = from.tensor->bytes().subspan(static_cast<size_t>(from.index * size),
                                                   static_cast<size_t>(size));
  std::copy(source.begin(), source.end(),
            to.mutable_bytes().begin() + static_cast<std::ptrdiff_t>(index * size));
}

// One primitive on tensors, by the graph's own evaluator.
std::vector<Tensor> run_primitive(Op op, const Attributes& attributes,
                                  const std::vector<Tensor>& operands, const ValueType& result) {
  Graph graph;
  std::vector<ValueId> values;
  for (const Tensor& operand : operands) {
    ValueType type{operand.dtype(), {}};
    for (const int64_t extent : operand.extents()) type.shape.push_back(extent);
    values.push_back(graph.add_input("x" + std::to_string(values.size()), type));
  }
  const NodeId node = graph.add_node(op, values, attributes, {}, &result);
  return evaluate_node(graph, node, operands);
}

double combine(ScatterKind kind, double a, double b) {
  switch (kind) {
    case ScatterKind::kNone:
      return b;
    case ScatterKind::kAdd:
      return a + b;
    case ScatterKind::kMul:
      return a * b;
    case ScatterKind::kMin:
      return std::min(a, b);
    case ScatterKind::kMax:
      return std::max(a, b);
  }
  return b;
}

class Evaluator {
 public:
  Evaluator(const AccessGraph& graph, const std::map<std::string, Tensor>& inputs)
      : graph_(graph), tensors_(graph.values.size()), at_(graph.pool.atom_count(), 0) {
    for (size_t v = 0; v < graph.values.size(); ++v) {
      const AccessValue& value = graph.values[v];
      if (value.kind == AccessValueKind::kInput) tensors_[v] = inputs.at(value.name);
      if (const Tensor* constant = graph.constant(AccessValueId(v))) tensors_[v] = *constant;
    }
  }

  AccessRun run() {
    for (const AccessNode& node : graph_.nodes) run(node);
    AccessRun result;
    for (const AccessOutput& output : graph_.outputs) {
      result.outputs.push_back(tensors_[output.value.index]);
    }
    result.values = std::move(tensors_);
    return result;
  }

 private:
  void run(const AccessNode& node) {
    const AccessValue& result = graph_.value(node.results[0]);
    ValueType type{result.dtype, {}};
    for (const int64_t extent : result.extents) type.shape.push_back(extent);
    std::vector<Tensor> results;
    switch (node.kind) {
      case AccessKind::kAssembly:
      case AccessKind::kElementwise: {
        std::vector<Tensor> operands;
        for (const Read& read : node.operands) {
          operands.push_back(gather(read, node.axes).reshaped(result.extents));
        }
        const bool copy = node.op == Op::k_bitcast && operands[0].dtype() == result.dtype;
        results = copy ? operands : run_primitive(node.op, node.attributes, operands, type);
        break;
      }
      case AccessKind::kIndex: {
        Tensor tensor(result.dtype, result.extents);
        int64_t next = 0;
        for_each_point(node.axes, [&] {
          const int64_t index = value_of(node.expression);
          if (is_float(result.dtype)) {
            tensor.set_real(next++, static_cast<double>(index));
          } else {
            tensor.set_integer(next++, index);
          }
        });
        results = {tensor};
        break;
      }
      case AccessKind::kReduce:
        results = {reduce(node, type)};
        break;
      case AccessKind::kArgReduce:
        results = {arg_reduce(node, result)};
        break;
      case AccessKind::kContraction:
        results = {contract(node, result)};
        break;
      case AccessKind::kScan:
        results =
            run_primitive(node.op, node.attributes,
                          {gather(node.operands[0], node.axes).reshaped(result.extents)}, type);
        break;
      case AccessKind::kSort:
        results = sort(node, type);
        break;
      case AccessKind::kScatter:
        results = {scatter(node, result)};
        break;
    }
    for (size_t r = 0; r < node.results.size(); ++r) {
      tensors_[node.results[r].index] = results[r];
    }
  }

  void for_each_point(const std::vector<AtomId>& atoms, const std::function<void()>& visit,
                      size_t from = 0) {
    if (from == atoms.size()) return visit();
    int64_t& index = at_[atoms[from].index];
    for (index = 0; index < graph_.pool.atom(atoms[from]).extent; ++index) {
      for_each_point(atoms, visit, from + 1);
    }
    index = 0;
  }

  int64_t count(const std::vector<AtomId>& atoms) const {
    int64_t product = 1;
    for (const AtomId atom : atoms) product *= graph_.pool.atom(atom).extent;
    return product;
  }

  bool holds(const std::vector<Guard>& guards) {
    return std::all_of(guards.begin(), guards.end(), [&](const Guard& guard) {
      const int64_t value = value_of(guard.expr);
      return guard.low <= value && value < guard.high;
    });
  }

  Element element(const Read& read) {
    for (const Piece& piece : read.pieces) {
      if (!holds(piece.guards)) continue;
      const Tensor& tensor = tensors_[piece.source.index];
      int64_t index = 0;
      for (size_t d = 0; d < piece.index.size(); ++d) {
        const int64_t i = value_of(piece.index[d]);
        const int64_t extent = graph_.value(piece.source).extents[d];
        if (i < 0 || i >= extent) throw InternalError("a read leaves its source");
        index = index * extent + i;
      }
      return {&tensor, index};
    }
    throw InternalError("no piece of a read holds");
  }

  int64_t value_of(ExprId id) {
    const Expr& expr = graph_.pool.expr(id);
    int64_t sum = expr.constant;
    for (const Term& term : expr.terms) sum += term.coefficient * value_of(term);
    return sum;
  }

  int64_t value_of(const Term& term) {
    switch (term.kind) {
      case FactorKind::kAtom:
        return at_[term.atom.index];
      case FactorKind::kFloorDiv:
        return floor_quotient(value_of(term.inner), term.operand);
      case FactorKind::kMod:
        return floor_remainder(value_of(term.inner), term.operand);
      case FactorKind::kMin:
        return std::min(value_of(term.inner), term.operand);
      case FactorKind::kMax:
        return std::max(value_of(term.inner), term.operand);
      case FactorKind::kRead: {
        const Element found = element(graph_.reads[term.read.index]);
        const int64_t high = graph_.pool.read_range(term.read).high;
        int64_t value = found.tensor->integer(found.index);
        if (value < 0) value += high + 1;
        return std::clamp<int64_t>(value, 0, high);
      }
    }
    return 0;
  }

  // A flat tensor of the elements read at every point.
  Tensor gather(const Read& read, const std::vector<AtomId>& atoms) {
    Tensor result(graph_.value(read.pieces[0].source).dtype, {count(atoms)});
    int64_t next = 0;
    for_each_point(atoms, [&] { copy_element(result, next++, element(read)); });
    return result;
  }

  Tensor reduce(const AccessNode& node, const ValueType& type) {
    std::vector<AtomId> atoms = node.axes;
    atoms.insert(atoms.end(), node.reduced.begin(), node.reduced.end());
    const Tensor flat =
        gather(node.operands[0], atoms).reshaped({count(node.axes), count(node.reduced)});
    const auto* window = std::get_if<WindowAttributes>(&node.attributes);
    ReduceAttributes attributes;
    attributes.kind = window ? window->kind : std::get<ReduceAttributes>(node.attributes).kind;
    attributes.axes = {1};
    ValueType row{type.dtype, {count(node.axes)}};
    const Tensor reduced = run_primitive(Op::k_reduce, attributes, {flat}, row)[0];
    return reduced.reshaped(constant_extents(type.shape));
  }

  Tensor arg_reduce(const AccessNode& node, const AccessValue& result) {
    const auto* reduce = std::get_if<ArgReduceAttributes>(&node.attributes);
    const bool is_min = reduce && reduce->kind == ReduceKind::kMin;
    const bool last = reduce && reduce->last;
    Tensor tensor(result.dtype, result.extents);
    int64_t next = 0;
    for_each_point(node.axes, [&] {
      std::optional<double> best;
      int64_t payload = 0;
      for_each_point(node.reduced, [&] {
        if (!holds(node.guards)) return;
        const Element found = element(node.operands[0]);
        const double value = found.tensor->real(found.index);
        const bool wins = !best || (std::isnan(value) ? !std::isnan(*best) || last
                                                      : (is_min ? value < *best : value > *best) ||
                                                            (last && value == *best));
        if (!wins) return;
        best = value;
        payload = value_of(node.expression);
      });
      tensor.set_integer(next++, payload);
    });
    return tensor;
  }

  Tensor contract(const AccessNode& node, const AccessValue& result) {
    Tensor tensor(result.dtype, result.extents);
    int64_t next = 0;
    for_each_point(node.axes, [&] {
      double real = 0;
      int64_t integer = 0;
      for_each_point(node.reduced, [&] {
        const Element a = element(node.operands[0]), b = element(node.operands[1]);
        if (is_float(result.dtype)) {
          real += a.tensor->real(a.index) * b.tensor->real(b.index);
        } else {
          integer += a.tensor->integer(a.index) * b.tensor->integer(b.index);
        }
      });
      real *= node.scale;
      for (size_t i = 2; i < node.operands.size(); ++i) {
        const Element added = element(node.operands[i]);
        real += added.tensor->real(added.index);
      }
      if (is_float(result.dtype)) {
        tensor.set_real(next++, real);
      } else {
        tensor.set_integer(next++, integer);
      }
    });
    return tensor;
  }

  std::vector<Tensor> sort(const AccessNode& node, const ValueType& type) {
    const auto& attributes = std::get<TopKAttributes>(node.attributes);
    const size_t axis = static_cast<size_t>(attributes.axis);
    std::vector<AtomId> atoms;
    const AccessValue& result = graph_.value(node.results[0]);
    for (size_t d = 0; d < result.dims.size(); ++d) {
      const std::vector<AtomId>& dim = d == axis ? node.reduced : result.dims[d];
      atoms.insert(atoms.end(), dim.begin(), dim.end());
    }
    std::vector<int64_t> extents = result.extents;
    extents[axis] = count(node.reduced);
    return run_primitive(node.op, node.attributes,
                         {gather(node.operands[0], atoms).reshaped(extents)}, type);
  }

  Tensor scatter(const AccessNode& node, const AccessValue& result) {
    Tensor tensor = gather(node.operands[0], node.axes).reshaped(result.extents);
    const ScatterKind kind = std::get<ScatterAttributes>(node.attributes).kind;
    for_each_point(node.reduced, [&] {
      int64_t index = 0;
      size_t coordinate = 2;
      for (size_t d = 0; d < result.extents.size(); ++d) {
        int64_t i = 0;
        if (node.target[d].valid()) {
          i = value_of(node.target[d]);
        } else {
          const Element found = element(node.operands[coordinate++]);
          i = found.tensor->integer(found.index);
          if (i < 0) i += result.extents[d];
        }
        if (i < 0 || i >= result.extents[d]) return;
        index = index * result.extents[d] + i;
      }
      const Element update = element(node.operands[1]);
      tensor.set_real(index, combine(kind, tensor.real(index), update.tensor->real(update.index)));
    });
    return tensor;
  }

  const AccessGraph& graph_;
  std::vector<Tensor> tensors_;
  std::vector<int64_t> at_;
};

}  // namespace

AccessRun run_access(const AccessGraph& graph, const std::map<std::string, Tensor>& inputs) {
  return Evaluator(graph, inputs).run();
}

std::vector<Tensor> evaluate_access(const AccessGraph& graph,
                                    const std::map<std::string, Tensor>& inputs) {
  return run_access(graph, inputs).outputs;
}

}  // namespace stitch
