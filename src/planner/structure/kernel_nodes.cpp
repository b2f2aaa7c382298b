#include "planner/structure/kernel_nodes.h"

#include <algorithm>
#include <utility>

#include "graph/error.h"
#include "graph/strided_copy.h"
#include "planner/access/read_rewriter.h"

namespace stitch {
namespace {

std::vector<int64_t> extents_of(const IndexPool& pool, const std::vector<AtomId>& atoms) {
  std::vector<int64_t> extents;
  for (const AtomId atom : atoms) extents.push_back(pool.atom(atom).extent);
  return extents;
}

std::vector<ExprId> expressions_of(IndexPool& pool, const std::vector<AtomId>& atoms) {
  std::vector<ExprId> expressions;
  for (const AtomId atom : atoms) expressions.push_back(pool.of(atom));
  return expressions;
}

// One dim per atom.
void set_atoms(AccessValue& value, const IndexPool& pool, const std::vector<AtomId>& atoms) {
  value.dims.clear();
  for (const AtomId atom : atoms) value.dims.push_back({atom});
  value.extents = extents_of(pool, atoms);
  value.strides = row_major_strides(value.extents);
}

}  // namespace

KernelNodes::KernelNodes(AccessGraph& graph, std::span<const AccessNodeId> originals)
    : graph_(&graph) {
  for (const AccessNodeId original : originals) clone(original);
}

void KernelNodes::clone(AccessNodeId original) {
  AccessNode node = graph_->node(original);
  ReadRewriter rewriter(*graph_, {}, [this](Piece& piece) { lead_to_clone(piece); });
  rewriter.rewrite(node);
  const AccessNodeId id(graph_->nodes.size());
  for (AccessValueId& result : node.results) {
    const AccessValueId old = result;
    AccessValue value = graph_->value(old);
    std::vector<AtomId> atoms;
    std::vector<ExprId> index;
    for (const std::vector<AtomId>& dim : value.dims) {
      atoms.insert(atoms.end(), dim.begin(), dim.end());
      index.push_back(
          graph_->pool.linearise(expressions_of(graph_->pool, dim), extents_of(graph_->pool, dim)));
    }
    value.producer = id;
    set_atoms(value, graph_->pool, atoms);
    result = AccessValueId(graph_->values.size());
    graph_->values.push_back(std::move(value));
    clones_.emplace(old, result);
    originals_.emplace(result, old);
    producers_.emplace(result, id);
    original_index_.emplace(result, std::move(index));
    atoms_.emplace(result, std::move(atoms));
  }
  graph_->nodes.push_back(std::move(node));
  nodes_.push_back(id);
}

void KernelNodes::lead_to_clone(Piece& piece) const {
  const AccessValueId clone = clone_of(piece.source);
  if (!clone.valid()) return;
  const AccessValue& old = graph_->value(piece.source);
  std::vector<ExprId> index;
  for (size_t d = 0; d < old.dims.size(); ++d) {
    const std::vector<ExprId> parts =
        graph_->pool.delinearise(piece.index[d], extents_of(graph_->pool, old.dims[d]));
    index.insert(index.end(), parts.begin(), parts.end());
  }
  piece.source = clone;
  piece.index = std::move(index);
}

AccessValueId KernelNodes::clone_of(AccessValueId original) const {
  const auto found = clones_.find(original);
  return found == clones_.end() ? AccessValueId() : found->second;
}

AccessValueId KernelNodes::original_of(AccessValueId clone) const {
  const auto found = originals_.find(clone);
  return found == originals_.end() ? AccessValueId() : found->second;
}

AccessNodeId KernelNodes::producer(AccessValueId value) const {
  const auto found = producers_.find(value);
  return found == producers_.end() ? AccessNodeId() : found->second;
}

size_t KernelNodes::position(AccessNodeId node) const {
  return static_cast<size_t>(std::find(nodes_.begin(), nodes_.end(), node) - nodes_.begin());
}

const std::vector<AtomId>& KernelNodes::atoms(AccessValueId clone) const {
  return atoms_.at(clone);
}

const std::vector<ExprId>& KernelNodes::index_in_original(AccessValueId clone) const {
  return original_index_.at(clone);
}

template <class ChangeAtoms, class ChangeIndex>
void KernelNodes::rewrite(const IndexPool::AtomMap& map, ChangeAtoms change_atoms,
                          ChangeIndex change_index) {
  ReadRewriter rewriter(*graph_, map, [&](Piece& piece) {
    const auto atoms = atoms_.find(piece.source);
    if (atoms != atoms_.end()) piece.index = change_index(atoms->second, piece.index);
  });
  for (const AccessNodeId id : nodes_) {
    AccessNode node = graph_->node(id);
    rewriter.rewrite(node);
    node.axes = change_atoms(node.axes);
    node.reduced = change_atoms(node.reduced);
    graph_->nodes[id.index] = std::move(node);
  }
  for (const AccessNodeId id : nodes_) {
    for (const AccessValueId result : graph_->node(id).results) {
      for (ExprId& expression : original_index_[result]) expression = rewriter.rewrite(expression);
      std::vector<AtomId>& atoms = atoms_.at(result);
      atoms = change_atoms(atoms);
      set_atoms(graph_->values[result.index], graph_->pool, atoms);
    }
  }
}

AtomId KernelNodes::merge(AtomId outer, AtomId inner) {
  IndexPool& pool = graph_->pool;
  const Atom high = pool.atom(outer);
  const Atom low = pool.atom(inner);
  const AtomId whole = pool.add_atom(high.extent * low.extent, low.name);
  const IndexPool::AtomMap map = {{outer, pool.floordiv(pool.of(whole), low.extent)},
                                  {inner, pool.mod(pool.of(whole), low.extent)}};
  const auto position = [&](const std::vector<AtomId>& atoms) {
    const auto found = std::find(atoms.begin(), atoms.end(), outer);
    if (found == atoms.end()) return atoms.size();
    if (found + 1 == atoms.end() || found[1] != inner) {
      throw InternalError("atoms are merged that do not stand next to each other");
    }
    return static_cast<size_t>(found - atoms.begin());
  };
  const auto change_atoms = [&](std::vector<AtomId> atoms) {
    const size_t i = position(atoms);
    if (i == atoms.size()) return atoms;
    atoms[i] = whole;
    atoms.erase(atoms.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    return atoms;
  };
  const auto change_index = [&](const std::vector<AtomId>& atoms, std::vector<ExprId> index) {
    const size_t i = position(atoms);
    if (i == atoms.size()) return index;
    index[i] = pool.add(pool.scale(index[i], low.extent), index[i + 1]);
    index.erase(index.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    return index;
  };
  rewrite(map, change_atoms, change_index);
  return whole;
}

void KernelNodes::rename(AtomId atom, AtomId to) {
  const auto change_atoms = [&](std::vector<AtomId> atoms) {
    std::replace(atoms.begin(), atoms.end(), atom, to);
    return atoms;
  };
  const auto change_index = [](const std::vector<AtomId>&, std::vector<ExprId> index) {
    return index;
  };
  rewrite({{atom, graph_->pool.of(to)}}, change_atoms, change_index);
}

KernelNodes::Halves KernelNodes::split(AtomId atom, int64_t inner_extent) {
  IndexPool& pool = graph_->pool;
  const Atom old = pool.atom(atom);
  const int64_t outer_extent = (old.extent + inner_extent - 1) / inner_extent;
  Halves halves;
  halves.outer = pool.add_atom(outer_extent, old.name.empty() ? "" : old.name + "_tile");
  halves.inner = pool.add_atom(inner_extent, old.name);
  halves.ragged = outer_extent * inner_extent != old.extent;
  halves.whole = pool.add(pool.scale(pool.of(halves.outer), inner_extent), pool.of(halves.inner));
  const auto change_atoms = [&](std::vector<AtomId> atoms) {
    const auto found = std::find(atoms.begin(), atoms.end(), atom);
    if (found == atoms.end()) return atoms;
    *found = halves.outer;
    atoms.insert(found + 1, halves.inner);
    return atoms;
  };
  const auto change_index = [&](const std::vector<AtomId>& atoms, std::vector<ExprId> index) {
    const auto found = std::find(atoms.begin(), atoms.end(), atom);
    if (found == atoms.end()) return index;
    const auto at = index.begin() + (found - atoms.begin());
    const ExprId whole = *at;
    *at = pool.floordiv(whole, inner_extent);
    index.insert(at + 1, pool.mod(whole, inner_extent));
    return index;
  };
  rewrite({{atom, halves.whole}}, change_atoms, change_index);
  return halves;
}

AccessValueId KernelNodes::split_reduce(AccessNodeId id, const std::vector<AtomId>& parts,
                                        const std::vector<Guard>& guards) {
  AccessNode part = graph_->node(id);
  AccessNode whole = part;
  const AccessValueId result(graph_->values.size());
  const AccessNodeId part_id(graph_->nodes.size());
  std::erase_if(part.reduced, [&](AtomId atom) {
    return std::find(parts.begin(), parts.end(), atom) != parts.end();
  });
  part.axes.insert(part.axes.end(), parts.begin(), parts.end());
  part.guards.insert(part.guards.end(), guards.begin(), guards.end());
  part.results = {result};
  AccessValue value = graph_->value(whole.results.front());
  value.producer = part_id;
  value.dtype = compute_type(value.dtype);
  value.name += value.name.empty() ? "" : "_parts";
  set_atoms(value, graph_->pool, part.axes);
  producers_.emplace(result, part_id);
  atoms_.emplace(result, part.axes);
  if (whole.kind == AccessKind::kContraction) {
    whole.kind = AccessKind::kReduce;
    whole.op = Op::k_reduce;
    whole.attributes = ReduceAttributes{ReduceKind::kSum, {}};
  }
  whole.operands = {{{{result, expressions_of(graph_->pool, part.axes), {}}}}};
  whole.reduced = parts;
  graph_->values.push_back(std::move(value));
  graph_->nodes.push_back(std::move(part));
  graph_->nodes[id.index] = std::move(whole);
  nodes_.insert(std::find(nodes_.begin(), nodes_.end(), id), part_id);
  return result;
}

AccessValueId KernelNodes::add_node(AccessNode node, DType dtype, AccessNodeId before) {
  const AccessNodeId id(graph_->nodes.size());
  const AccessValueId result(graph_->values.size());
  AccessValue value;
  value.dtype = dtype;
  value.producer = id;
  set_atoms(value, graph_->pool, node.axes);
  producers_.emplace(result, id);
  atoms_.emplace(result, node.axes);
  node.results = {result};
  graph_->values.push_back(std::move(value));
  graph_->nodes.push_back(std::move(node));
  nodes_.insert(std::find(nodes_.begin(), nodes_.end(), before), id);
  return result;
}

void KernelNodes::rename_reduced(AccessNodeId id) {
  AccessNode node = graph_->node(id);
  IndexPool::AtomMap map;
  for (AtomId& atom : node.reduced) {
    const Atom old = graph_->pool.atom(atom);
    const AtomId fresh = graph_->pool.add_atom(old.extent, old.name);
    map.emplace(atom, graph_->pool.of(fresh));
    atom = fresh;
  }
  ReadRewriter rewriter(*graph_, std::move(map));
  rewriter.rewrite(node);
  graph_->nodes[id.index] = std::move(node);
}

AccessValueId KernelNodes::insert_copy(AccessNodeId reader, size_t operand) {
  const AccessNode source = graph_->node(reader);
  const Read read = source.operands[operand];
  const std::vector<AtomId> used = atoms_of(*graph_, read);
  AccessNode copy;
  copy.kind = AccessKind::kElementwise;
  copy.op = Op::k_bitcast;
  copy.operands = {read};
  copy.depth = source.depth;
  for (const std::vector<AtomId>* list : {&source.axes, &source.reduced}) {
    for (const AtomId atom : *list) {
      if (std::binary_search(used.begin(), used.end(), atom)) copy.axes.push_back(atom);
    }
  }
  const std::vector<AtomId> axes = copy.axes;
  const AccessNodeId id(graph_->nodes.size());
  const AccessValueId result(graph_->values.size());
  const AccessValue& loaded = graph_->value(read.pieces.front().source);
  AccessValue value;
  value.dtype = loaded.dtype;
  value.name = loaded.name;
  value.producer = id;
  set_atoms(value, graph_->pool, axes);
  copy.results = {result};
  graph_->values.push_back(std::move(value));
  graph_->nodes.push_back(std::move(copy));
  producers_.emplace(result, id);
  atoms_.emplace(result, axes);
  lead_to_copy(read, id);
  return result;
}

// Every node whose operand is `read` takes the copy instead; the copy goes before the first.
void KernelNodes::lead_to_copy(const Read& read, AccessNodeId copy) {
  const AccessValueId result = graph_->node(copy).results.front();
  const Read from_copy = {{{result, expressions_of(graph_->pool, atoms_.at(result)), {}}}};
  auto first = nodes_.end();
  for (auto at = nodes_.begin(); at != nodes_.end(); ++at) {
    for (Read& operand : graph_->nodes[at->index].operands) {
      if (!(operand == read)) continue;
      operand = from_copy;
      if (first == nodes_.end()) first = at;
    }
  }
  nodes_.insert(first, copy);
}

}  // namespace stitch
