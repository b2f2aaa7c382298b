#include "planner/kernel/turn.h"

#include <algorithm>
#include <set>

#include "planner/access/read_rewriter.h"
#include "planner/stage/stage_geometry.h"

namespace stitch {
namespace {

constexpr int64_t kLeastPoints = 4096;
// A run this short fills less than half of a sector per lane whichever way it is read.
constexpr int64_t kShortestSide = 8;
constexpr int64_t kSmallTile = 32;
constexpr int64_t kLargeTile = 64;
constexpr int64_t kVectorBytes = 16;
constexpr int kRegisters = 40;

// The atom along which the address grows by one element; none where no long enough one does.
AtomId contiguous_atom(const AccessGraph& graph, ExprId linear) {
  for (const Term& term : graph.pool.expr(linear).terms) {
    if (term.kind != FactorKind::kAtom || term.coefficient != 1) continue;
    if (graph.pool.atom(term.atom).extent >= kShortestSide) return term.atom;
  }
  return AtomId();
}

// Whether a reader of what the tile holds is evaluated elsewhere too: a window over the result
// reaches into the tiles of other blocks.
bool reads_beside_tile(const KernelStructure& structure, const Cluster& cluster, const Turn& turn) {
  for (const size_t i : cluster.roots) {
    for (const TracedNode& traced : structure.roots[i].trace.nodes) {
      if (!traced.aligned &&
          std::any_of(turn.operands.begin(), turn.operands.end(),
                      [&](const auto& operand) { return operand.first == traced.node; })) {
        return true;
      }
    }
  }
  return false;
}

class TurnBuilder {
 public:
  TurnBuilder(KernelNodes& nodes, std::span<const AccessValueId> stored, const Turn& turn,
              const StageRequest& request)
      : nodes_(nodes), stored_(stored), turn_(turn), request_(request) {}

  BuiltStage run() {
    cut_tiles();
    for (const auto& [reader, operand] : turn_.operands) {
      kept_.push_back(nodes_.insert_copy(reader, operand));
    }
    set_mapping();
    add_reading_group();
    add_storing_group();
    built_.block = kTurnBlock;
    built_.registers = kRegisters;
    return std::move(built_);
  }

 private:
  struct Side {
    AtomId outer, inner;
    int64_t tile = 1;
    int64_t extent = 1;
  };

  Side cut(AtomId atom, int64_t tile) {
    Side side;
    side.extent = nodes_.pool().atom(atom).extent;
    side.tile = std::min(tile, side.extent);
    side.inner = atom;
    if (side.tile == side.extent) return side;
    const KernelNodes::Halves halves = nodes_.split(atom, side.tile);
    side.outer = halves.outer;
    side.inner = halves.inner;
    if (halves.ragged) built_.stage.guards.push_back({halves.whole, 0, side.extent});
    return side;
  }

  void cut_tiles() {
    const int64_t store_extent = nodes_.pool().atom(turn_.store_atom).extent;
    const int64_t load_extent = nodes_.pool().atom(turn_.load_atom).extent;
    const std::vector<AtomId> all = nodes_.atoms(stored_.front());
    const int64_t tiles = point_count(nodes_.pool(), all) / (kLargeTile * kLargeTile);
    const bool large = store_extent >= kLargeTile && load_extent >= kLargeTile &&
                       tiles >= 2 * request_.device->sm_count;
    const int64_t tile = large || turn_.element_bytes <= 2 ? kLargeTile : kSmallTile;
    store_ = cut(turn_.store_atom, tile);
    load_ = cut(turn_.load_atom, tile);
  }

  void set_mapping() {
    StageMapping& mapping = built_.stage.mapping;
    mapping.kind = MappingKind::kTile;
    const ExprId linear = store_address(nodes_, stored_.front()).linear;
    for (const AtomId atom :
         by_falling_step(nodes_.graph(), linear, nodes_.atoms(stored_.front()))) {
      if (atom != store_.inner && atom != load_.inner) mapping.rows.push_back(atom);
    }
    mapping.threads_per_row = kTurnBlock;
    mapping.grid_x = point_count(nodes_.pool(), mapping.rows);
  }

  int vector_along(const Side& side, ExprId linear) const {
    int64_t vector = vector_width(nodes_.graph(), linear, side.inner,
                                  std::max<int64_t>(kVectorBytes / turn_.element_bytes, 1));
    while (vector > 1 && side.extent % vector != 0) vector /= 2;
    return static_cast<int>(vector);
  }

  GroupMapping columns_along(const Side& outer, const Side& inner, int vector) const {
    GroupMapping mapping;
    mapping.columns = {outer.inner, inner.inner};
    mapping.threads = kTurnBlock;
    mapping.vector = vector;
    return mapping;
  }

  void add_reading_group() {
    Group group;
    int vector = 16;
    std::vector<Trace> traces;
    for (const AccessValueId value : kept_) {
      ValueTracer tracer(nodes_, [](AccessValueId, bool) { return false; });
      traces.push_back(tracer.trace_operands(nodes_.producer(value)));
      for (const TracedRead& load : traces.back().loads) {
        const ExprId linear = load.address.linear;
        vector = std::min(vector, vector_along(load_, linear));
      }
      group.roots.push_back({RootKind::kPlace, value, BufferId(), {}});
      group.nodes.push_back(nodes_.producer(value));
      place(value);
    }
    group.mapping = columns_along(store_, load_, vector);
    for (const Trace& trace : traces) request_.traffic->add_loads(built_.stage, group, trace);
    request_.traffic->end_group();
    built_.stage.groups.push_back(std::move(group));
  }

  // One element of padding per row: lanes that read a column meet 32 different banks.
  void place(AccessValueId value) {
    const int64_t bytes = size_bytes(compute_type(nodes_.graph().value(value).dtype));
    Place tile;
    tile.kind = PlaceKind::kShared;
    tile.offset = built_.shared_bytes;
    tile.axes = {store_.inner, load_.inner};
    tile.strides = {load_.tile + 1, 1};
    built_.places[value] = {tile};
    const int64_t used = store_.tile * (load_.tile + 1) * bytes;
    built_.shared_bytes += (used + kVectorBytes - 1) / kVectorBytes * kVectorBytes;
  }

  void add_storing_group() {
    Group group;
    group.block_barrier = true;
    group.mapping = columns_along(
        load_, store_, vector_along(store_, store_address(nodes_, stored_.front()).linear));
    std::set<AccessNodeId> used;
    for (const AccessValueId value : stored_) {
      Root store;
      store.kind = RootKind::kStore;
      store.value = value;
      store.buffer = request_.buffers->at(value);
      store.index = nodes_.index_in_original(value);
      group.roots.push_back(std::move(store));
      ValueTracer tracer(nodes_, [&](AccessValueId v, bool own) {
        return own && std::find(kept_.begin(), kept_.end(), v) != kept_.end();
      });
      const Trace trace = tracer.trace_value(value);
      for (const TracedNode& node : trace.nodes) used.insert(node.node);
      request_.traffic->add_loads(built_.stage, group, trace);
      request_.traffic->add_store(built_.stage, group, value);
    }
    request_.traffic->end_group();
    for (const AccessNodeId node : nodes_.nodes()) {
      if (used.count(node) != 0) group.nodes.push_back(node);
    }
    built_.stage.groups.push_back(std::move(group));
  }

  KernelNodes& nodes_;
  const std::span<const AccessValueId> stored_;
  const Turn& turn_;
  const StageRequest& request_;
  Side store_, load_;
  std::vector<AccessValueId> kept_;
  BuiltStage built_;
};

}  // namespace

std::optional<Turn> find_turn(KernelNodes& nodes, const KernelStructure& structure) {
  const Cluster& cluster = structure.clusters.front();
  const AccessGraph& graph = nodes.graph();
  const int64_t points = point_count(graph.pool, cluster.rows);
  if (cluster.has_reduce || points < kLeastPoints) return std::nullopt;
  Turn turn;
  for (const size_t i : cluster.roots) {
    const Address address = store_address(nodes, structure.roots[i].value);
    const AtomId atom = contiguous_atom(graph, address.linear);
    if (!atom.valid() || (turn.store_atom.valid() && atom != turn.store_atom)) return std::nullopt;
    turn.store_atom = atom;
  }
  for (const size_t i : cluster.roots) {
    for (const TracedRead& load : structure.roots[i].trace.loads) {
      if (!load.aligned || load.operand == TracedRead::kNested || !load.reader.valid()) continue;
      // A read inside of a loop of one thread (a window) has no place in a tile.
      const std::vector<AtomId> atoms =
          atoms_of(graph, graph.node(load.reader).operands[load.operand]);
      if (!contains_all(cluster.rows, atoms)) continue;
      const Address& address = load.address;
      const bool is_large = point_count(graph.pool, atoms) * 2 >= points;
      const AtomId along = contiguous_atom(graph, address.linear);
      if (!is_large || !along.valid() || along == turn.store_atom) continue;
      const Coefficient across = coefficient(graph, address.linear, turn.store_atom);
      if (!across.plain || across.value == 0) continue;
      if (turn.load_atom.valid() && along != turn.load_atom) return std::nullopt;
      turn.load_atom = along;
      turn.element_bytes = address.element_bytes;
      const std::pair<AccessNodeId, size_t> operand(load.reader, load.operand);
      if (std::find(turn.operands.begin(), turn.operands.end(), operand) == turn.operands.end()) {
        turn.operands.push_back(operand);
      }
    }
  }
  if (!turn.load_atom.valid() || reads_beside_tile(structure, cluster, turn)) return std::nullopt;
  return turn;
}

BuiltStage build_turn(KernelNodes& nodes, std::span<const AccessValueId> stored, const Turn& turn,
                      const StageRequest& request) {
  return TurnBuilder(nodes, stored, turn, request).run();
}

}  // namespace stitch
