#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "graph/attribute_fields.h"
#include "graph/graph_fingerprint.h"
#include "planner/plan/plan_parts.h"
#include "planner/plan/plan_reader.h"
#include "planner/plan/plan_text.h"

namespace stitch {
namespace {

// Numbers in the text are those of the plan; what was left out stays empty.
template <class Entry, class Tag>
Entry& entry_at(std::vector<Entry>& entries, Id<Tag> id) {
  if (id.index >= entries.size()) entries.resize(id.index + 1);
  return entries[id.index];
}

class PlanParser {
 public:
  PlanParser(std::string_view text, const Graph& graph) : graph_(graph), in_(text, plan_.graph) {
    plan_.graph.graph = &graph;
  }

  Plan run() {
    in_.expect("plan");
    plan_.device = in_.text().read_string();
    plan_.architecture = in_.text().read_string();
    plan_.regions = static_cast<int>(named("regions"));
    plan_.arena_bytes = named("arena");
    expect_graph();
    while (in_.accept("atom")) read_atom();
    while (in_.accept("value")) read_value();
    while (in_.accept("read")) read_read();
    while (in_.accept("node")) read_node();
    // Nodes whose clones are used are left out of the text, but not out of their values.
    if (!plan_.graph.nodes.empty() || last_producer_ > 0) {
      plan_.graph.nodes.resize(std::max(plan_.graph.nodes.size(), last_producer_ + 1));
    }
    in_.expect("inputs");
    plan_.graph.inputs = in_.known_ids<AccessValueId>('v');
    while (in_.accept("output")) {
      AccessOutput output;
      output.name = in_.text().read_string();
      output.value = in_.known_id<AccessValueId>('v');
      plan_.graph.outputs.push_back(std::move(output));
    }
    while (in_.accept("buffer")) read_buffer();
    for (;;) {
      if (in_.accept("kernel")) {
        plan_.steps.push_back(read_kernel_and_twins());
      } else if (in_.accept("call")) {
        plan_.steps.push_back(read_call());
      } else {
        break;
      }
    }
    while (in_.accept("note")) plan_.notes.push_back(in_.text().read_string());
    in_.text().expect_end();
    rehash_reads(plan_.graph);
    return std::move(plan_);
  }

 private:
  int64_t named(std::string_view word) {
    in_.expect(word);
    return in_.integer();
  }
  int small_named(std::string_view word) {
    in_.expect(word);
    return in_.small();
  }
  template <class IdType>
  std::vector<IdType> named_ids(std::string_view word, char letter) {
    in_.expect(word);
    return in_.known_ids<IdType>(letter);
  }

  void expect_graph() {
    in_.expect("graph");
    const TextReader::Place place = in_.text().place();
    if (in_.text().read_word("the graph's fingerprint") == fingerprint_text(graph_)) return;
    in_.text().fail(
        place, "the plan is of another model, of other dims, or of another version of stitchc");
  }

  void read_atom() {
    const AtomId id = in_.defined_id<AtomId>('a');
    while (plan_.graph.pool.atom_count() < id.index) plan_.graph.pool.add_atom(1);
    const TextReader::Place place = in_.text().place();
    const int64_t extent = in_.integer();
    if (extent < 0) in_.text().fail(place, "an extent is not negative");
    if (plan_.graph.pool.add_atom(extent, in_.text().read_string()) != id) {
      in_.text().fail(place, "atoms are not in order");
    }
  }

  void read_value() {
    const TextReader::Place place = in_.text().place();
    const AccessValueId id = in_.defined_id<AccessValueId>('v');
    AccessValue value;
    value.kind = in_.word<AccessValueKind>();
    value.dtype = in_.text().read_dtype();
    value.extents = in_.integers();
    in_.expect("strides");
    value.strides = in_.integers();
    in_.expect("dims");
    in_.text().expect('(');
    while (!in_.text().accept(')')) value.dims.push_back(in_.known_ids<AtomId>('a'));
    if (in_.accept("producer")) {
      value.producer = in_.read_id<AccessNodeId>('n');
      last_producer_ = std::max<size_t>(last_producer_, value.producer.index);
      value.result = small_named("result");
    }
    if (in_.accept("graph")) value.graph_value = read_graph_value();
    if (in_.accept("fill_bits")) {
      const int64_t bits = in_.integer();
      Tensor fill(value.dtype, {});
      std::memcpy(fill.mutable_bytes().data(), &bits, fill.mutable_bytes().size());
      value.fill = static_cast<uint32_t>(plan_.graph.fills.size());
      plan_.graph.fills.push_back(std::move(fill));
    }
    value.name = in_.text().read_string();
    const std::string problem = value_problem(plan_.graph, value);
    if (!problem.empty()) in_.text().fail(place, problem);
    entry_at(plan_.graph.values, id) = std::move(value);
  }

  ValueId read_graph_value() {
    const TextReader::Place place = in_.text().place();
    const int64_t index = in_.integer();
    if (index < 0 || static_cast<size_t>(index) >= graph_.value_count()) {
      in_.text().fail(place, "the model has fewer values");
    }
    return ValueId(static_cast<size_t>(index));
  }

  void read_read() {
    const ReadId id = in_.defined_id<ReadId>('r');
    const int64_t extent = named("below");
    Read read = in_.read();
    entry_at(plan_.graph.reads, id) = std::move(read);
    plan_.graph.pool.of(id, {0, extent - 1});
  }

  void read_node() {
    const TextReader::Place start = in_.text().place();
    const AccessNodeId id = in_.defined_id<AccessNodeId>('n');
    AccessNode node;
    node.kind = in_.word<AccessKind>();
    const TextReader::Place place = in_.text().place();
    const std::string op = in_.text().read_word("an op");
    const std::optional<Op> known = parse_op(op);
    if (!known) in_.text().fail(place, "there is no op \"" + op + "\"");
    node.op = *known;
    node.depth = small_named("depth");
    node.results = named_ids<AccessValueId>("results", 'v');
    node.axes = named_ids<AtomId>("axes", 'a');
    node.reduced = named_ids<AtomId>("reduced", 'a');
    node.sources = read_sources();
    node.attributes = default_attributes(node.op);
    if (in_.text().accept('{')) read_attributes(node.attributes);
    for (;;) {
      if (in_.accept("operand")) {
        node.operands.push_back(in_.read());
      } else if (in_.accept("where")) {
        for (const Guard& guard : in_.guards()) node.guards.push_back(guard);
      } else if (in_.accept("target")) {
        node.target.push_back(in_.expression());
      } else if (in_.accept("expression")) {
        node.expression = in_.expression();
      } else {
        break;
      }
    }
    const std::string problem = node_problem(plan_.graph, id, node);
    if (!problem.empty()) in_.text().fail(start, problem);
    entry_at(plan_.graph.nodes, id) = std::move(node);
  }

  std::vector<SourceId> read_sources() {
    const TextReader::Place place = in_.text().place();
    in_.expect("sources");
    std::vector<SourceId> sources = in_.ids<SourceId>('s');
    for (const SourceId source : sources) {
      if (source.index >= graph_.source_count()) {
        in_.text().fail(place, "the plan is of another graph: it has fewer sources");
      }
    }
    return sources;
  }

  void read_attributes(Attributes& attributes) {
    do {
      const TextReader::Place place = in_.text().place();
      const std::string key = in_.text().read_word("the name of an attribute");
      in_.text().expect('=');
      bool known = false;
      std::visit(
          [&](auto& fields) {
            visit_fields(fields, [&](std::string_view field, auto& value) {
              if (key != field) return;
              known = true;
              read_field(value);
            });
          },
          attributes);
      if (!known) in_.text().fail(place, "there is no attribute \"" + key + "\" here");
    } while (in_.text().accept(','));
    in_.text().expect('}');
  }

  template <class Field>
  void read_field(Field& field) {
    if constexpr (std::is_same_v<Field, bool>) {
      field = in_.accept("true");
      if (!field) in_.expect("false");
    } else if constexpr (std::is_same_v<Field, DType>) {
      field = in_.text().read_dtype();
    } else if constexpr (std::is_same_v<Field, Tensor>) {
      in_.expect("tensor");  // constants are no nodes of a plan
    } else if constexpr (std::is_same_v<Field, Dim>) {
      field = in_.text().read_dim();
    } else if constexpr (std::is_enum_v<Field>) {
      field = in_.word<Field>();
    } else if constexpr (std::is_integral_v<Field>) {
      field = static_cast<Field>(in_.integer());
    } else {
      in_.text().expect('[');
      field.clear();
      if (in_.text().accept(']')) return;
      do {
        field.emplace_back();
        read_field(field.back());
      } while (in_.text().accept(','));
      in_.text().expect(']');
    }
  }

  void read_buffer() {
    const TextReader::Place place = in_.text().place();
    if (in_.defined_id<BufferId>('b') != BufferId(plan_.buffers.size())) {
      in_.text().fail(place, "buffers are not in order");
    }
    Buffer buffer;
    buffer.kind = in_.word<BufferKind>();
    buffer.index = in_.small();
    buffer.dtype = in_.text().read_dtype();
    buffer.offset = named("offset");
    buffer.bytes = named("bytes");
    buffer.extents = in_.integers();
    in_.expect("strides");
    buffer.strides = in_.integers();
    buffer.value = in_.known_id<AccessValueId>('v');
    buffer.name = in_.text().read_string();
    if (in_.accept("inside")) buffer.inside = in_.known_id<BufferId>('b');  // wholes come first
    plan_.buffers.push_back(std::move(buffer));
  }

  // A twin has none itself.
  Kernel read_kernel_and_twins() {
    Kernel kernel = read_kernel();
    while (in_.accept("twin")) kernel.twin.push_back(read_kernel());
    return kernel;
  }

  Kernel read_kernel() {
    Kernel kernel;
    kernel.name = in_.text().read_string();
    kernel.block = small_named("block");
    kernel.min_blocks_per_sm = small_named("min_blocks");
    kernel.shared_bytes = named("shared");
    kernel.counters = small_named("counters");
    if (in_.accept("cluster")) kernel.cluster = in_.small();
    kernel.cooperative = in_.accept("cooperative");
    kernel.sources = read_sources();
    in_.expect("estimate_ns");
    Estimate& e = kernel.estimate;
    e.launch_us = microseconds("launch");
    e.memory_us = microseconds("memory");
    e.instruction_us = microseconds("instructions");
    e.barrier_us = microseconds("barriers");
    e.floor_us = microseconds("floor");
    e.total_us = microseconds("total");
    e.registers = small_named("registers");
    e.occupancy = static_cast<double>(named("occupancy_percent")) / 100;
    in_.expect("bytes");
    kernel.bytes.compulsory = named("compulsory");
    kernel.bytes.bytes = named("moved");
    kernel.bytes.requested = named("requested");
    while (in_.accept("part")) {
      Part part;
      part.blocks = named("blocks");
      while (in_.accept("stage")) part.stages.push_back(read_stage());
      kernel.parts.push_back(std::move(part));
    }
    while (in_.accept("at")) {
      const AccessValueId value = in_.known_id<AccessValueId>('v');
      kernel.places[value].push_back(read_place());
    }
    if (in_.accept("why")) kernel.why_not_larger = in_.text().read_string();
    return kernel;
  }

  double microseconds(std::string_view word) { return static_cast<double>(named(word)) / 1e3; }

  Stage read_stage() {
    Stage stage;
    stage.before = in_.word<Separation>();
    StageMapping& m = stage.mapping;
    m.kind = in_.word<MappingKind>();
    m.block_axes = named_ids<AtomId>("blocks", 'a');
    m.rows = named_ids<AtomId>("rows", 'a');
    m.lanes_along_rows = in_.accept("lanes_along_rows");
    m.threads_per_row = small_named("threads_per_row");
    m.row_threads = small_named("row_threads");
    m.rows_per_thread = small_named("rows_per_thread");
    m.passes = named("passes");
    m.grid_x = named("grid");
    m.grid_y = in_.integer();
    if (in_.accept("separation")) {
      stage.split_axes = named_ids<AtomId>("split", 'a');
      stage.whole_grid = in_.accept("whole_grid");
      stage.counter = small_named("counter");
      stage.flag_offset = named("flag");
    }
    if (in_.accept("tile")) read_tile(stage.contraction);
    while (in_.accept("where")) {
      for (const Guard& guard : in_.guards()) stage.guards.push_back(guard);
    }
    while (in_.accept("group")) stage.groups.push_back(read_group());
    return stage;
  }

  void read_tile(ContractionMapping& c) {
    c.m_axes = named_ids<AtomId>("m", 'a');
    c.n_axes = named_ids<AtomId>("n", 'a');
    c.k_axes = named_ids<AtomId>("k", 'a');
    c.m_operand = small_named("m_operand");
    c.tile_m = small_named("size");
    c.tile_n = in_.small();
    c.tile_k = in_.small();
    c.thread_m = small_named("thread");
    c.thread_n = in_.small();
    c.shared_m = named("shared");
    c.shared_n = in_.integer();
    c.pitch_m = small_named("pitch");
    c.pitch_n = in_.small();
  }

  Group read_group() {
    Group group;
    group.mapping.inner_rows = named_ids<AtomId>("inner_rows", 'a');
    group.mapping.columns = named_ids<AtomId>("columns", 'a');
    group.mapping.threads = small_named("threads");
    group.mapping.vector = small_named("vector");
    group.mapping.unrolled = in_.accept("unrolled");
    group.block_barrier = in_.accept("block_barrier");
    group.nodes = named_ids<AccessNodeId>("nodes", 'n');
    while (in_.accept("where")) {
      for (const Guard& guard : in_.guards()) group.guards.push_back(guard);
    }
    for (;;) {
      bool found = false;
      for (const std::string_view word : enumerator_names(RootKind{})) {
        if (!in_.accept(word)) continue;
        group.roots.push_back(read_root(word));
        found = true;
        break;
      }
      if (!found) return group;
    }
  }

  Root read_root(std::string_view word) {
    Root root;
    const auto names = enumerator_names(RootKind{});
    for (size_t i = 0; i < names.size(); ++i) {
      if (names[i] == word) root.kind = static_cast<RootKind>(i);
    }
    root.value = in_.known_id<AccessValueId>('v');
    if (root.kind == RootKind::kStore) {
      root.buffer = in_.known_id<BufferId>('b');
      root.index = in_.index();
    }
    if (in_.accept("slot")) {
      root.slot_offset = in_.integer();
      root.slot_bytes = in_.integer();
    }
    if (in_.accept("cascade")) {
      root.cascade.rule = in_.word<CascadeRule>();
      root.cascade.leader = in_.known_id<AccessValueId>('v');
      root.cascade.center = in_.known_id<AccessValueId>('v');
    }
    return root;
  }

  Place read_place() {
    Place place;
    place.kind = in_.word<PlaceKind>();
    if (in_.accept("offset")) {
      place.offset = in_.integer();
      place.axes = named_ids<AtomId>("axes", 'a');
      in_.expect("strides");
      place.strides = in_.integers();
      place.row_stride = named("row_stride");
    }
    if (in_.text().peek() == 'b') place.buffer = in_.known_id<BufferId>('b');
    return place;
  }

  LibraryMatmul read_call() {
    LibraryMatmul call;
    MatmulLayout& l = call.layout;
    l.node = in_.known_id<AccessNodeId>('n');
    l.m = named("m");
    l.n = named("n");
    l.k = named("k");
    in_.expect("accumulate");
    l.accumulate = in_.text().read_dtype();
    call.sources = read_sources();
    for (MatmulMatrix* matrix : {&l.a, &l.b, &l.d}) {
      in_.expect("matrix");
      *matrix = read_matrix();
    }
    if (in_.accept("plus")) l.c = read_matrix();
    if (in_.accept("scale")) l.scale = read_scale();
    if (in_.accept("bias")) {
      l.bias = in_.known_id<AccessValueId>('v');
      l.bias_offset = named("offset");
    }
    while (in_.accept("batch")) {
      MatmulBatch batch;
      batch.count = in_.integer();
      batch.stride_a = in_.integer();
      batch.stride_b = in_.integer();
      batch.stride_c = in_.integer();
      batch.stride_d = in_.integer();
      l.batch.push_back(batch);
    }
    return call;
  }

  MatmulMatrix read_matrix() {
    MatmulMatrix matrix;
    matrix.value = in_.known_id<AccessValueId>('v');
    matrix.offset = named("offset");
    matrix.column_major = in_.accept("columns");
    if (!matrix.column_major) in_.expect("rows");
    matrix.leading_dimension = named("leading");
    return matrix;
  }

  double read_scale() {
    const TextReader::Place place = in_.text().place();
    const std::string text = in_.text().read_string();
    char* end = nullptr;
    const double scale = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != 0) in_.text().fail(place, "expected a factor");
    return scale;
  }

  const Graph& graph_;
  size_t last_producer_ = 0;
  Plan plan_;
  PlanReader in_;
};

}  // namespace

Plan parse_plan(std::string_view text, const Graph& graph) { return PlanParser(text, graph).run(); }

}  // namespace stitch
