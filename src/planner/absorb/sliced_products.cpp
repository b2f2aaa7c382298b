#include "planner/absorb/sliced_products.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "graph/strided_copy.h"
#include "planner/absorb/absorb_copies.h"
#include "planner/access/access_prune.h"
#include "planner/access/access_substitute.h"

namespace stitch {
namespace {

// More are no gates.
constexpr size_t kMostSlices = 8;

using Index = std::vector<ExprId>;

// A product and the element-wise nodes behind it, up to the value that is read in slices.
struct SlicedChain {
  std::vector<AccessNodeId> nodes;
  std::vector<Index> slices;
};

class ProductSplitter {
 public:
  ProductSplitter(AccessGraph& graph, const std::function<bool(AccessNodeId)>& sums_products)
      : graph_(graph), readers_(readers_of(graph)), made_behind_(graph.nodes.size()) {
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      const AccessNode& node = graph.nodes[n];
      const bool is_plain =
          node.kind == AccessKind::kContraction && node.operands.size() == 2 && node.scale == 1;
      if (!is_plain || !sums_products(AccessNodeId(n))) continue;
      if (std::optional<SlicedChain> chain = chain_of(AccessNodeId(n))) {
        chains_.push_back(*std::move(chain));
      }
    }
  }

  void run() {
    for (const SlicedChain& chain : chains_) split(chain);
    if (!chains_.empty()) put_nodes_in_place();
  }

 private:
  AccessValueId result_of(AccessNodeId node) const { return graph_.node(node).results.front(); }

  bool is_output(AccessValueId value) const {
    return std::any_of(graph_.outputs.begin(), graph_.outputs.end(),
                       [&](const AccessOutput& output) { return output.value == value; });
  }

  std::optional<SlicedChain> chain_of(AccessNodeId product) {
    SlicedChain chain;
    for (AccessNodeId next = product; next.valid(); next = plain_reader(result_of(next))) {
      chain.nodes.push_back(next);
    }
    const AccessValueId last = result_of(chain.nodes.back());
    if (is_output(last)) return std::nullopt;
    for (const AccessNodeId reader : readers_[last.index]) {
      if (!note_slices(reader, last, chain.slices)) return std::nullopt;
    }
    if (chain.slices.size() < 2 || chain.slices.size() > kMostSlices) return std::nullopt;
    return are_side_by_side(chain.slices, last) ? std::optional(std::move(chain)) : std::nullopt;
  }

  // The only reader, if it is element-wise and reads every element where it lies.
  AccessNodeId plain_reader(AccessValueId value) const {
    const std::vector<AccessNodeId>& all = readers_[value.index];
    if (all.size() != 1 || is_output(value)) return {};
    const AccessNode& node = graph_.node(all.front());
    if (node.kind != AccessKind::kElementwise || node.results.size() != 1) return {};
    if (node.axes != graph_.node(graph_.value(value).producer).axes) return {};
    for (const Read& read : node.operands) {
      for (const Piece& piece : read.pieces) {
        if (piece.source == value && !is_aligned(graph_, piece)) return {};
      }
    }
    return all.front();
  }

  // False where the reader reads the value otherwise than in a slice.
  bool note_slices(AccessNodeId reader, AccessValueId value, std::vector<Index>& slices) const {
    bool found = false;
    for (const Read& read : graph_.node(reader).operands) {
      for (const Piece& piece : read.pieces) {
        if (piece.source != value) continue;
        found = true;
        if (!piece.guards.empty() || !is_slice(piece)) return false;
        if (std::find(slices.begin(), slices.end(), piece.index) == slices.end()) {
          slices.push_back(piece.index);
        }
      }
    }
    return found;
  }

  // Per dim a constant, or an atom and a constant.
  bool is_slice(const Piece& piece) const {
    const std::vector<std::vector<AtomId>>& dims = graph_.value(piece.source).dims;
    for (size_t d = 0; d < dims.size(); ++d) {
      const std::vector<Term>& terms = graph_.pool.expr(piece.index[d]).terms;
      if (dims[d].size() > 1 || terms.size() > 1) return false;
      if (terms.empty()) continue;
      if (terms[0].kind != FactorKind::kAtom || terms[0].coefficient != 1) return false;
    }
    return true;
  }

  std::vector<AtomId> atoms_in(const Index& slice) const {
    std::vector<AtomId> atoms;
    for (const ExprId index : slice) {
      const std::vector<Term>& terms = graph_.pool.expr(index).terms;
      if (!terms.empty()) atoms.push_back(terms[0].atom);
    }
    return atoms;
  }

  // Over the same atoms, and no more of them than there are elements: none is computed twice.
  bool are_side_by_side(const std::vector<Index>& slices, AccessValueId value) const {
    const std::vector<AtomId> atoms = atoms_in(slices.front());
    int64_t points = static_cast<int64_t>(slices.size());
    for (const AtomId atom : atoms) points *= graph_.pool.atom(atom).extent;
    int64_t elements = 1;
    for (const int64_t extent : graph_.value(value).extents) elements *= extent;
    std::vector<AtomId> distinct = atoms;
    std::sort(distinct.begin(), distinct.end());
    const bool repeats = std::adjacent_find(distinct.begin(), distinct.end()) != distinct.end();
    return !atoms.empty() && !repeats && points <= elements &&
           std::all_of(slices.begin(), slices.end(),
                       [&](const Index& slice) { return atoms_in(slice) == atoms; });
  }

  void split(const SlicedChain& chain) {
    const AccessValueId last = result_of(chain.nodes.back());
    std::map<Index, AccessValueId> parts;
    summed_.clear();
    for (const Index& slice : chain.slices) parts.emplace(slice, split_off(chain, slice));
    for (const AccessNodeId reader : readers_[last.index]) {
      for (Read& read : graph_.nodes[reader.index].operands) {
        for (Piece& piece : read.pieces) {
          if (piece.source != last) continue;
          piece.source = parts.at(piece.index);
          for (ExprId& index : piece.index) index = without_offset(index);
        }
      }
    }
  }

  ExprId without_offset(ExprId index) {
    const std::vector<Term> terms = graph_.pool.expr(index).terms;
    return terms.empty() ? graph_.pool.constant(0) : graph_.pool.of(terms[0].atom);
  }

  // The chain for the elements of one slice; returns its last value.
  AccessValueId split_off(const SlicedChain& chain, const Index& slice) {
    const std::vector<AtomId> axes = atoms_in(slice);
    AccessSubstitution::SourceMap sources;
    AccessValueId last;
    for (const AccessNodeId id : chain.nodes) {
      const AccessValue whole = graph_.value(result_of(id));
      IndexPool::AtomMap atoms;
      AccessValue part = whole;
      for (size_t d = 0; d < whole.dims.size(); ++d) {
        if (!whole.dims[d].empty()) atoms.emplace(whole.dims[d].front(), slice[d]);
        const std::vector<Term>& terms = graph_.pool.expr(slice[d]).terms;
        part.dims[d].clear();
        part.extents[d] = 1;
        if (terms.empty()) continue;
        part.dims[d].push_back(terms[0].atom);
        part.extents[d] = graph_.pool.atom(terms[0].atom).extent;
      }
      part.strides = row_major_strides(part.extents);
      AccessNode node = graph_.node(id);
      node.axes = axes;
      rename_reduced(node, atoms);
      AccessSubstitution substitution(graph_, std::move(atoms), sources);
      for (Read& read : node.operands) {
        read = substitution.read(read);
        lead_to_parts(read, slice, last);
      }
      last = AccessValueId(graph_.values.size());
      node.results = {last};
      node.origin = {};
      graph_.values.push_back(std::move(part));
      sources.insert_or_assign(result_of(id), last);
      made_behind_[chain.nodes.back().index].push_back(std::move(node));
    }
    return last;
  }

  // Reads of the part before: at its own atoms.
  void lead_to_parts(Read& read, const Index& slice, AccessValueId part) {
    for (Piece& piece : read.pieces) {
      if (!part.valid() || piece.source != part) continue;
      for (size_t d = 0; d < slice.size(); ++d) piece.index[d] = without_offset(slice[d]);
    }
  }

  // What is summed over keeps loop indices of its own, the same for all slices: one pass sums them.
  void rename_reduced(AccessNode& node, IndexPool::AtomMap& atoms) {
    for (AtomId& atom : node.reduced) {
      if (std::find(node.axes.begin(), node.axes.end(), atom) == node.axes.end()) continue;
      const auto [known, is_new] = summed_.try_emplace(atom);
      if (is_new) known->second = graph_.pool.add_atom(graph_.pool.atom(atom).extent);
      atoms.emplace(atom, graph_.pool.of(known->second));
      atom = known->second;
    }
  }

  void put_nodes_in_place() {
    std::vector<AccessNode> nodes;
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      nodes.push_back(std::move(graph_.nodes[n]));
      for (AccessNode& made : made_behind_[n]) nodes.push_back(std::move(made));
    }
    graph_.nodes = std::move(nodes);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      for (size_t r = 0; r < graph_.nodes[n].results.size(); ++r) {
        AccessValue& value = graph_.values[graph_.nodes[n].results[r].index];
        value.producer = AccessNodeId(n);
      }
    }
    remove_unread_nodes(graph_);
  }

  AccessGraph& graph_;
  std::vector<std::vector<AccessNodeId>> readers_;
  std::vector<std::vector<AccessNode>> made_behind_;  // by node
  std::vector<SlicedChain> chains_;
  std::map<AtomId, AtomId> summed_;  // of the chain at hand: loop indices of its sums
};

}  // namespace

void split_sliced_products(AccessGraph& graph,
                           const std::function<bool(AccessNodeId)>& sums_products) {
  ProductSplitter(graph, sums_products).run();
}

}  // namespace stitch
