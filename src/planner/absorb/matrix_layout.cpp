#include "planner/absorb/matrix_layout.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "graph/strided_copy.h"
#include "planner/access/read_rewriter.h"

namespace stitch {
namespace {

// Four elements, one vector, for each lane of a warp: shorter sums leave lanes idle.
constexpr int64_t kLeastSum = 128;

// What is known of a constant from the nodes that read it.
struct Use {
  bool is_fixed = false;     // it has to stay as it is
  std::vector<bool> summed;  // per dim; empty: nothing has read it yet
};

// By dim of what is read; none where an index runs along kept and summed atoms at once.
std::optional<std::vector<bool>> summed_dims(const AccessGraph& graph, const AccessNode& node,
                                             const Piece& piece) {
  std::vector<bool> summed;
  for (const ExprId index : piece.index) {
    const std::vector<AtomId> atoms = atoms_of(graph, index);
    const auto holds = [&](const std::vector<AtomId>& own) {
      return std::any_of(atoms.begin(), atoms.end(), [&](AtomId a) {
        return std::find(own.begin(), own.end(), a) != own.end();
      });
    };
    summed.push_back(holds(node.reduced));
    if (summed.back() && holds(node.axes)) return std::nullopt;
  }
  return summed;
}

class MatrixLayouts {
 public:
  explicit MatrixLayouts(AccessGraph& graph) : graph_(graph), uses_(graph.values.size()) {}

  void note(AccessNodeId id, bool sums_products) {
    const AccessNode& node = graph_.node(id);
    for (const AccessValueId source : sources_of(graph_, node)) {
      if (!sums_products) uses_[source.index].is_fixed = true;
    }
    if (!sums_products) return;
    for (const Read& operand : node.operands) {
      for (const Piece& piece : operand.pieces) note_read(node, piece);
    }
  }

  void lay_out() {
    for (size_t v = 0; v < uses_.size(); ++v) {
      AccessValue& value = graph_.values[v];
      const bool is_stored = value.kind == AccessValueKind::kConstant && value.graph_value.valid();
      if (is_stored && !uses_[v].is_fixed) store_summed_innermost(value, uses_[v].summed);
    }
  }

 private:
  void note_read(const AccessNode& node, const Piece& piece) {
    Use& use = uses_[piece.source.index];
    const std::optional<std::vector<bool>> summed = summed_dims(graph_, node, piece);
    if (!summed || (!use.summed.empty() && use.summed != *summed)) {
      use.is_fixed = true;
    } else {
      use.summed = *summed;
    }
  }

  static void store_summed_innermost(AccessValue& value, const std::vector<bool>& summed) {
    int64_t sum = 1;
    for (size_t d = 0; d < summed.size(); ++d) sum *= summed[d] ? value.extents[d] : 1;
    if (sum < kLeastSum || value.strides != row_major_strides(value.extents)) return;
    int64_t step = 1;
    for (const bool inner : {true, false}) {
      for (size_t d = summed.size(); d-- > 0;) {
        if (summed[d] != inner) continue;
        value.strides[d] = step;
        step *= value.extents[d];
      }
    }
  }

  AccessGraph& graph_;
  std::vector<Use> uses_;  // by value
};

}  // namespace

void lay_out_matrices(AccessGraph& graph, const std::function<bool(AccessNodeId)>& sums_products) {
  MatrixLayouts layouts(graph);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const AccessNodeId id(n);
    layouts.note(id, graph.node(id).kind == AccessKind::kContraction && sums_products(id));
  }
  layouts.lay_out();
}

}  // namespace stitch
