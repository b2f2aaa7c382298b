#include "planner/access/access_graph.h"

#include <algorithm>
#include <cstring>

namespace stitch {
namespace {

uint64_t hash_of(const Read& read) {
  uint64_t hash = read.pieces.size();
  const auto mix = [&](uint64_t value) { hash = (hash ^ value) * 0x100000001b3ull; };
  for (const Piece& piece : read.pieces) {
    mix(piece.source.index);
    for (const ExprId index : piece.index) mix(index.index);
    for (const Guard& guard : piece.guards) {
      mix(guard.expr.index);
      mix(static_cast<uint64_t>(guard.low));
      mix(static_cast<uint64_t>(guard.high));
    }
  }
  return hash;
}

class SourceCollector {
 public:
  explicit SourceCollector(const AccessGraph& graph) : graph_(graph) {}
  void add(const Read& read) {
    for (const Piece& piece : read.pieces) {
      sources.push_back(piece.source);
      for (const ExprId index : piece.index) add(index);
      for (const Guard& guard : piece.guards) add(guard.expr);
    }
  }
  void add(ExprId expr) {
    if (!expr.valid() || !graph_.pool.has_read(expr)) return;
    for (const ReadId read : graph_.pool.reads_of(expr)) add(graph_.reads[read.index]);
  }
  std::vector<AccessValueId> sources;

 private:
  const AccessGraph& graph_;
};

}  // namespace

const Tensor* AccessGraph::constant(AccessValueId id) const {
  const AccessValue& found = value(id);
  if (found.kind != AccessValueKind::kConstant) return nullptr;
  return found.fill != AccessValue::kNoFill ? &fills[found.fill]
                                            : graph->constant(found.graph_value);
}

AccessValueId AccessGraph::add_fill(const Tensor& tensor) {
  for (size_t v = 0; v < values.size(); ++v) {
    if (values[v].fill == AccessValue::kNoFill) continue;
    const Tensor& known = fills[values[v].fill];
    if (known.dtype() == tensor.dtype() &&
        std::memcmp(known.bytes().data(), tensor.bytes().data(), tensor.bytes().size()) == 0) {
      return AccessValueId(v);
    }
  }
  AccessValue fill;
  fill.kind = AccessValueKind::kConstant;
  fill.dtype = tensor.dtype();
  fill.fill = static_cast<uint32_t>(fills.size());
  fills.push_back(tensor);
  values.push_back(std::move(fill));
  return AccessValueId(values.size() - 1);
}

ExprId AccessGraph::read_index(const Read& read, int64_t extent) {
  const Range range = {0, std::max<int64_t>(extent - 1, 0)};
  const uint64_t hash = hash_of(read);
  const auto [first, last] = reads_by_hash.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    if (pool.read_range(it->second).high == range.high && reads[it->second.index] == read) {
      return pool.of(it->second, range);
    }
  }
  const ReadId id(reads.size());
  reads.push_back(read);
  reads_by_hash.emplace(hash, id);
  return pool.of(id, range);
}

void rehash_reads(AccessGraph& graph) {
  graph.reads_by_hash.clear();
  for (size_t r = 0; r < graph.reads.size(); ++r) {
    graph.reads_by_hash.emplace(hash_of(graph.reads[r]), ReadId(r));
  }
}

bool is_aligned(const AccessGraph& graph, const Piece& piece) {
  if (!piece.guards.empty()) return false;
  const AccessValue& source = graph.value(piece.source);
  for (size_t d = 0; d < source.dims.size(); ++d) {
    const Expr& index = graph.pool.expr(piece.index[d]);
    const std::vector<AtomId>& atoms = source.dims[d];
    if (index.constant != 0 || index.terms.size() != atoms.size()) return false;
    int64_t stride = 1;
    for (size_t i = atoms.size(); i-- > 0;) {
      const auto same = [&](const Term& term) {
        return term.kind == FactorKind::kAtom && term.atom == atoms[i] &&
               term.coefficient == stride;
      };
      if (std::none_of(index.terms.begin(), index.terms.end(), same)) return false;
      stride *= graph.pool.atom(atoms[i]).extent;
    }
  }
  return true;
}

std::vector<AccessValueId> sources_of(const AccessGraph& graph, const AccessNode& node) {
  SourceCollector collector(graph);
  for (const Read& read : node.operands) collector.add(read);
  for (const Guard& guard : node.guards) collector.add(guard.expr);
  for (const ExprId target : node.target) collector.add(target);
  collector.add(node.expression);
  std::vector<AccessValueId>& sources = collector.sources;
  std::sort(sources.begin(), sources.end());
  sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
  return sources;
}

ExprId dim_index(IndexPool& pool, const std::vector<AtomId>& atoms) {
  std::vector<ExprId> index;
  std::vector<int64_t> extents;
  for (const AtomId atom : atoms) {
    index.push_back(pool.of(atom));
    extents.push_back(pool.atom(atom).extent);
  }
  return pool.linearise(index, extents);
}

std::vector<ExprId> own_index(AccessGraph& graph, AccessValueId value) {
  std::vector<ExprId> index;
  for (const auto& atoms : graph.values[value.index].dims) {
    index.push_back(dim_index(graph.pool, atoms));
  }
  return index;
}

}  // namespace stitch
