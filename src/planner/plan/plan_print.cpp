#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "graph/attribute_fields.h"
#include "graph/graph_fingerprint.h"
#include "graph/text_quote.h"
#include "planner/plan/plan_text.h"
#include "planner/plan/plan_words.h"

namespace stitch {
namespace {

template <class IdType>
std::string ids_text(char letter, const std::vector<IdType>& ids) {
  std::string text = "[";
  for (size_t i = 0; i < ids.size(); ++i) {
    text += fmt::format("{}{}{}", i > 0 ? "," : "", letter, ids[i].index);
  }
  return text + "]";
}

std::string integers_text(const std::vector<int64_t>& integers) {
  return fmt::format("[{}]", fmt::join(integers, ","));
}

// What the steps of a plan use, found from the steps on.
class UsedParts {
 public:
  explicit UsedParts(const Plan& plan) : plan_(plan) {
    for (const Buffer& buffer : plan.buffers) add_value(buffer.value);
    for (const Step& step : plan.steps) {
      if (const Kernel* kernel = std::get_if<Kernel>(&step)) {
        add_kernel(*kernel);
      } else {
        add_node(std::get<LibraryMatmul>(step).layout.node);
      }
    }
    for (const AccessValueId input : plan.graph.inputs) add_value(input);
    for (const AccessOutput& output : plan.graph.outputs) add_value(output.value);
  }

  std::set<AtomId> atoms;
  std::set<ReadId> reads;
  std::set<AccessNodeId> nodes;
  std::set<AccessValueId> values;

 private:
  void add_kernel(const Kernel& kernel) {
    for (const Part& part : kernel.parts) {
      for (const Stage& stage : part.stages) add_stage(stage);
    }
    for (const auto& [value, places] : kernel.places) {
      add_value(value);
      for (const Place& place : places) add_atoms(place.axes);
    }
    for (const Kernel& twin : kernel.twin) add_kernel(twin);
  }
  void add_stage(const Stage& stage) {
    add_atoms(stage.split_axes);
    add_atoms(stage.mapping.block_axes);
    add_atoms(stage.mapping.rows);
    add_atoms(stage.contraction.m_axes);
    add_atoms(stage.contraction.n_axes);
    add_atoms(stage.contraction.k_axes);
    for (const Guard& guard : stage.guards) add_expression(guard.expr);
    for (const Group& group : stage.groups) {
      add_atoms(group.mapping.inner_rows);
      add_atoms(group.mapping.columns);
      for (const Guard& guard : group.guards) add_expression(guard.expr);
      for (const AccessNodeId node : group.nodes) add_node(node);
      for (const Root& root : group.roots) {
        add_value(root.value);
        add_value(root.cascade.leader);
        add_value(root.cascade.center);
        for (const ExprId index : root.index) add_expression(index);
      }
    }
  }
  void add_node(AccessNodeId id) {
    if (!nodes.insert(id).second) return;
    const AccessNode& node = plan_.graph.node(id);
    add_atoms(node.axes);
    add_atoms(node.reduced);
    for (const AccessValueId result : node.results) add_value(result);
    for (const Read& operand : node.operands) add_read(operand);
    for (const Guard& guard : node.guards) add_expression(guard.expr);
    for (const ExprId target : node.target) add_expression(target);
    add_expression(node.expression);
  }
  void add_value(AccessValueId id) {
    if (!id.valid() || !values.insert(id).second) return;
    for (const std::vector<AtomId>& dim : plan_.graph.value(id).dims) add_atoms(dim);
  }
  void add_read(const Read& read) {
    for (const Piece& piece : read.pieces) {
      add_value(piece.source);
      for (const ExprId index : piece.index) add_expression(index);
      for (const Guard& guard : piece.guards) add_expression(guard.expr);
    }
  }
  void add_expression(ExprId expression) {
    if (!expression.valid()) return;
    add_atoms(plan_.graph.pool.atoms_of(expression));
    for (const ReadId read : plan_.graph.pool.reads_of(expression)) {
      if (reads.insert(read).second) add_read(plan_.graph.reads[read.index]);
    }
  }
  void add_atoms(const std::vector<AtomId>& list) { atoms.insert(list.begin(), list.end()); }

  const Plan& plan_;
};

class PlanPrinter {
 public:
  explicit PlanPrinter(const Plan& plan) : plan_(plan), used_(plan) {}

  std::string run() {
    line("plan {} {} regions {} arena {} graph {}", quote(plan_.device), quote(plan_.architecture),
         plan_.regions, plan_.arena_bytes, fingerprint_text(*plan_.graph.graph));
    for (const AtomId id : used_.atoms) {
      const Atom& atom = plan_.graph.pool.atom(id);
      line("atom a{} {} {}", id.index, atom.extent, quote(atom.name));
    }
    for (const AccessValueId id : used_.values) print_value(id);
    // A read may stand inside of another one that has a smaller number: those inside come first.
    for (const ReadId id : used_.reads) print_read(id);
    for (const AccessNodeId id : used_.nodes) print_node(id);
    line("inputs {}", ids_text('v', plan_.graph.inputs));
    for (const AccessOutput& output : plan_.graph.outputs) {
      line("output {} v{}", quote(output.name), output.value.index);
    }
    for (size_t b = 0; b < plan_.buffers.size(); ++b) print_buffer(b);
    for (const Step& step : plan_.steps) {
      if (const Kernel* kernel = std::get_if<Kernel>(&step)) {
        print_kernel(*kernel, "kernel");
      } else {
        print_call(std::get<LibraryMatmul>(step));
      }
    }
    for (const std::string& note : plan_.notes) line("note {}", quote(note));
    return std::move(text_);
  }

 private:
  template <class... Arguments>
  void line(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    text_.append(static_cast<size_t>(indent_) * 2, ' ');
    fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
    text_ += '\n';
  }

  std::string expression(ExprId id) const {
    if (!id.valid()) return "none";
    const Expr& e = plan_.graph.pool.expr(id);
    std::string text;
    for (const Term& term : e.terms) {
      text += fmt::format("{}{}*{}", text.empty() ? "" : " + ", term.coefficient, factor(term));
    }
    if (text.empty() || e.constant != 0) {
      text += fmt::format("{}{}", text.empty() ? "" : " + ", e.constant);
    }
    return text;
  }

  std::string factor(const Term& term) const {
    switch (term.kind) {
      case FactorKind::kAtom:
        return fmt::format("a{}", term.atom.index);
      case FactorKind::kFloorDiv:
        return fmt::format("div({}, {})", expression(term.inner), term.operand);
      case FactorKind::kMod:
        return fmt::format("mod({}, {})", expression(term.inner), term.operand);
      case FactorKind::kMin:
        return fmt::format("min({}, {})", expression(term.inner), term.operand);
      case FactorKind::kMax:
        return fmt::format("max({}, {})", expression(term.inner), term.operand);
      case FactorKind::kRead:
        return fmt::format("r{}", term.read.index);
    }
    return {};
  }

  std::string index_text(const std::vector<ExprId>& index) const {
    std::string text = "[";
    for (size_t d = 0; d < index.size(); ++d) text += (d > 0 ? ", " : "") + expression(index[d]);
    return text + "]";
  }

  std::string guards_text(const std::vector<Guard>& guards) const {
    std::string text;
    for (const Guard& guard : guards) {
      text += fmt::format(" if {} in {} {}", expression(guard.expr), guard.low, guard.high);
    }
    return text;
  }

  std::string read_text(const Read& read) const {
    std::string text;
    for (const Piece& piece : read.pieces) {
      text += fmt::format("{}v{} {}{}", text.empty() ? "" : " | ", piece.source.index,
                          index_text(piece.index), guards_text(piece.guards));
    }
    return text;
  }

  void print_read(ReadId id) {
    if (!printed_reads_.insert(id).second) return;
    const Read& read = plan_.graph.reads[id.index];
    for (const Piece& piece : read.pieces) {
      for (const ExprId index : piece.index) print_reads_of(index);
      for (const Guard& guard : piece.guards) print_reads_of(guard.expr);
    }
    line("read r{} below {} {}", id.index, plan_.graph.pool.read_range(id).high + 1,
         read_text(read));
  }

  void print_reads_of(ExprId e) {
    for (const ReadId inner : plan_.graph.pool.reads_of(e)) print_read(inner);
  }

  void print_value(AccessValueId id) {
    const AccessValue& value = plan_.graph.value(id);
    std::string dims;
    for (const std::vector<AtomId>& dim : value.dims) dims += ids_text('a', dim);
    std::string origin;
    if (value.producer.valid()) {
      origin = fmt::format(" producer n{} result {}", value.producer.index, value.result);
    }
    if (value.graph_value.valid()) origin += fmt::format(" graph {}", value.graph_value.index);
    if (value.fill != AccessValue::kNoFill) {
      const std::span<const std::byte> bytes = plan_.graph.fills[value.fill].bytes();
      uint64_t bits = 0;
      std::memcpy(&bits, bytes.data(), std::min(bytes.size(), sizeof(bits)));
      origin += fmt::format(" fill_bits {}", static_cast<int64_t>(bits));
    }
    line("value v{} {} {} {} strides {} dims ({}){} {}", id.index, word_of(value.kind),
         name(value.dtype), integers_text(value.extents), integers_text(value.strides), dims,
         origin, quote(value.name));
  }

  void print_node(AccessNodeId id) {
    const AccessNode& node = plan_.graph.node(id);
    std::vector<SourceId> sources = node.sources;
    line("node n{} {} {} depth {} results {} axes {} reduced {} sources {}{}", id.index,
         word_of(node.kind), name(node.op), node.depth, ids_text('v', node.results),
         ids_text('a', node.axes), ids_text('a', node.reduced), ids_text('s', sources),
         attributes_text(node.attributes));
    ++indent_;
    for (const Read& operand : node.operands) line("operand {}", read_text(operand));
    for (const Guard& guard : node.guards) line("where{}", guards_text({guard}));
    for (const ExprId target : node.target) line("target {}", expression(target));
    if (node.expression.valid()) line("expression {}", expression(node.expression));
    --indent_;
  }

  static std::string attributes_text(const Attributes& attributes) {
    std::string text;
    std::visit(
        [&](const auto& fields) {
          visit_fields(fields, [&](std::string_view key, const auto& field) {
            text += fmt::format("{}{}={}", text.empty() ? "" : ", ", key, field_text(field));
          });
        },
        attributes);
    return text.empty() ? "" : fmt::format(" {{{}}}", text);
  }

  template <class Field>
  static std::string field_text(const Field& field) {
    if constexpr (std::is_same_v<Field, bool>) {
      return field ? "true" : "false";
    } else if constexpr (std::is_same_v<Field, DType>) {
      return std::string(name(field));
    } else if constexpr (std::is_same_v<Field, Tensor>) {
      return "tensor";
    } else if constexpr (std::is_same_v<Field, std::vector<Dim>>) {
      std::string text = "[";
      for (size_t i = 0; i < field.size(); ++i) text += (i > 0 ? "," : "") + field[i].to_string();
      return text + "]";
    } else if constexpr (std::is_enum_v<Field>) {
      return std::string(word_of(field));
    } else if constexpr (std::is_integral_v<Field>) {
      return fmt::format("{}", field);
    } else {
      return fmt::format("[{}]", fmt::join(field, ","));
    }
  }

  void print_buffer(size_t b) {
    const Buffer& buffer = plan_.buffers[b];
    line("buffer b{} {} {} {} offset {} bytes {} {} strides {} v{} {}", b, word_of(buffer.kind),
         buffer.index, name(buffer.dtype), buffer.offset, buffer.bytes,
         integers_text(buffer.extents), integers_text(buffer.strides), buffer.value.index,
         quote(buffer.name) +
             (buffer.inside.valid() ? fmt::format(" inside b{}", buffer.inside.index) : ""));
  }

  void print_kernel(const Kernel& kernel, const char* word) {
    line("{} {} block {} min_blocks {} shared {} counters {}{}{} sources {}", word,
         quote(kernel.name), kernel.block, kernel.min_blocks_per_sm, kernel.shared_bytes,
         kernel.counters, kernel.cluster > 1 ? fmt::format(" cluster {}", kernel.cluster) : "",
         kernel.cooperative ? " cooperative" : "", ids_text('s', kernel.sources));
    ++indent_;
    const Estimate& e = kernel.estimate;
    line(
        "estimate_ns launch {} memory {} instructions {} barriers {} floor {} total {} registers "
        "{} "
        "occupancy_percent {}",
        nanoseconds(e.launch_us), nanoseconds(e.memory_us), nanoseconds(e.instruction_us),
        nanoseconds(e.barrier_us), nanoseconds(e.floor_us), nanoseconds(e.total_us), e.registers,
        std::lround(e.occupancy * 100));
    line("bytes compulsory {} moved {} requested {}", kernel.bytes.compulsory, kernel.bytes.bytes,
         kernel.bytes.requested);
    for (const Part& part : kernel.parts) {
      line("part blocks {}", part.blocks);
      ++indent_;
      for (const Stage& stage : part.stages) print_stage(stage);
      --indent_;
    }
    for (const auto& [value, places] : kernel.places) {
      for (const Place& place : places) print_place(value, place);
    }
    if (!kernel.why_not_larger.empty()) line("why {}", quote(kernel.why_not_larger));
    for (const Kernel& twin : kernel.twin) print_kernel(twin, "twin");
    --indent_;
  }

  static int64_t nanoseconds(double microseconds) { return std::llround(microseconds * 1e3); }

  void print_stage(const Stage& stage) {
    const StageMapping& m = stage.mapping;
    line(
        "stage {} {} blocks {} rows {} {}threads_per_row {} row_threads {} rows_per_thread {} "
        "passes {} grid {} {}",
        word_of(stage.before), word_of(m.kind), ids_text('a', m.block_axes), ids_text('a', m.rows),
        m.lanes_along_rows ? "lanes_along_rows " : "", m.threads_per_row, m.row_threads,
        m.rows_per_thread, m.passes, m.grid_x, m.grid_y);
    ++indent_;
    if (stage.before != Separation::kNone) {
      line("separation split {}{} counter {} flag {}", ids_text('a', stage.split_axes),
           stage.whole_grid ? " whole_grid" : "", stage.counter, stage.flag_offset);
    }
    if (m.kind == MappingKind::kContraction) {
      const ContractionMapping& c = stage.contraction;
      line("tile m {} n {} k {} m_operand {} size {} {} {} thread {} {} shared {} {} pitch {} {}",
           ids_text('a', c.m_axes), ids_text('a', c.n_axes), ids_text('a', c.k_axes), c.m_operand,
           c.tile_m, c.tile_n, c.tile_k, c.thread_m, c.thread_n, c.shared_m, c.shared_n, c.pitch_m,
           c.pitch_n);
    }
    for (const Guard& guard : stage.guards) line("where{}", guards_text({guard}));
    for (const Group& group : stage.groups) print_group(group);
    --indent_;
  }

  void print_group(const Group& group) {
    const GroupMapping& m = group.mapping;
    line("group inner_rows {} columns {} threads {} vector {}{}{} nodes {}",
         ids_text('a', m.inner_rows), ids_text('a', m.columns), m.threads, m.vector,
         m.unrolled ? " unrolled" : "", group.block_barrier ? " block_barrier" : "",
         ids_text('n', group.nodes));
    ++indent_;
    for (const Guard& guard : group.guards) line("where{}", guards_text({guard}));
    for (const Root& root : group.roots) {
      std::string more;
      if (root.kind == RootKind::kStore) {
        more = fmt::format(" b{} {}", root.buffer.index, index_text(root.index));
      }
      if (root.slot_offset >= 0) {
        more += fmt::format(" slot {} {}", root.slot_offset, root.slot_bytes);
      }
      if (root.cascade.rule != CascadeRule::kNone) {
        more += fmt::format(" cascade {} v{} v{}", word_of(root.cascade.rule),
                            root.cascade.leader.index, root.cascade.center.index);
      }
      line("{} v{}{}", word_of(root.kind), root.value.index, more);
    }
    --indent_;
  }

  void print_place(AccessValueId value, const Place& place) {
    std::string more;
    if (place.kind == PlaceKind::kShared || place.kind == PlaceKind::kCluster ||
        place.kind == PlaceKind::kScratch) {
      more = fmt::format(" offset {} axes {} strides {} row_stride {}", place.offset,
                         ids_text('a', place.axes), integers_text(place.strides), place.row_stride);
    }
    if (place.buffer.valid()) more += fmt::format(" b{}", place.buffer.index);
    line("at v{} {}{}", value.index, word_of(place.kind), more);
  }

  void print_matrix(const char* what, const MatmulMatrix& matrix) {
    line("{} v{} offset {} {} leading {}", what, matrix.value.index, matrix.offset,
         matrix.column_major ? "columns" : "rows", matrix.leading_dimension);
  }

  void print_call(const LibraryMatmul& call) {
    const MatmulLayout& l = call.layout;
    line("call n{} m {} n {} k {} accumulate {} sources {}", l.node.index, l.m, l.n, l.k,
         name(l.accumulate), ids_text('s', call.sources));
    ++indent_;
    for (const MatmulMatrix* matrix : {&l.a, &l.b, &l.d}) print_matrix("matrix", *matrix);
    if (l.c.value.valid()) print_matrix("plus", l.c);
    if (l.scale != 1) line("scale \"{}\"", l.scale);
    if (l.bias.valid()) line("bias v{} offset {}", l.bias.index, l.bias_offset);
    for (const MatmulBatch& batch : l.batch) {
      line("batch {} {} {} {} {}", batch.count, batch.stride_a, batch.stride_b, batch.stride_c,
           batch.stride_d);
    }
    --indent_;
  }

  const Plan& plan_;
  const UsedParts used_;
  std::string text_;
  int indent_ = 0;
  std::set<ReadId> printed_reads_;
};

}  // namespace

std::string print_plan(const Plan& plan) { return PlanPrinter(plan).run(); }

}  // namespace stitch
