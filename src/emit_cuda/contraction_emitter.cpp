#include "emit_cuda/contraction_emitter.h"

#include <fmt/format.h>

#include <algorithm>

#include "emit_cuda/cuda_types.h"
#include "emit_cuda/index_text.h"
#include "emit_cuda/scope_writer.h"
#include "emit_cuda/store_sink.h"
#include "graph/error.h"

namespace stitch {
namespace {

std::vector<int64_t> extents_of(const IndexPool& pool, const std::vector<AtomId>& atoms) {
  std::vector<int64_t> extents;
  for (const AtomId atom : atoms) extents.push_back(pool.atom(atom).extent);
  return extents;
}

int64_t points(const IndexPool& pool, const std::vector<AtomId>& atoms) {
  int64_t count = 1;
  for (const AtomId atom : atoms) count *= pool.atom(atom).extent;
  return count;
}

}  // namespace

ContractionEmitter::ContractionEmitter(KernelContext& context, const Stage& stage,
                                       BlockNumbers numbers, int* group)
    : context_(context),
      stage_(stage),
      mapping_(stage.contraction),
      numbers_(std::move(numbers)),
      group_(group) {
  for (const Group& g : stage.groups) {
    for (const Root& root : g.roots) {
      if (root.kind == RootKind::kContract) result_ = root.value;
    }
  }
  if (!result_.valid()) {
    throw InternalError(
        fmt::format("kernel {}: a contraction stage has no contraction", context.kernel().name));
  }
  node_ = context.graph().value(result_).producer;
  state_ = compute_type(context.graph().value(result_).dtype);
  rows_ = points(context.pool(), mapping_.m_axes);
  columns_ = points(context.pool(), mapping_.n_axes);
  depth_ = points(context.pool(), mapping_.k_axes);
}

void ContractionEmitter::emit(CodeWriter& writer) {
  declare(writer);
  Operand m = operand(mapping_.m_operand, true);
  Operand n = operand(1 - mapping_.m_operand, false);
  choose_access(m);
  choose_access(n);
  writer.blank();
  writer.comment(fmt::format("group {}: {}", (*group_)++, context_.describe({node_})));
  emit_loader(writer, m);
  emit_loader(writer, n);
  const std::string type = register_type(state_);
  sum_ = "sum";
  writer.line(fmt::format("{} {}[kThreadM][kThreadN] = {{}};", type, sum_));
  writer.line(
      fmt::format("stitch_contract<Tiling, StitchOperand<{}, {}>, StitchOperand<{}, {}>>({}, "
                  "stitch_smem<{}>({}), stitch_smem<{}>({}), {}, {}, {});",
                  m.vector, m.along_depth, n.vector, n.along_depth, sum_, type, mapping_.shared_m,
                  type, mapping_.shared_n, depth_constant_, m.loader, n.loader));
  for (const Group& group : stage_.groups) emit_epilogue(writer, group);
}

void ContractionEmitter::declare(CodeWriter& writer) {
  rows_constant_ = context_.constant("kRows", rows_);
  columns_constant_ = context_.constant("kCols", columns_);
  depth_constant_ = context_.constant("kDepth", depth_);
  context_.constant("kTileRows", mapping_.tile_m);
  context_.constant("kTileCols", mapping_.tile_n);
  context_.constant("kTileDepth", mapping_.tile_k);
  context_.constant("kThreadM", mapping_.thread_m);
  context_.constant("kThreadN", mapping_.thread_n);
  const int64_t tiles = (columns_ + mapping_.tile_n - 1) / mapping_.tile_n;
  const std::string column_tiles = context_.constant(
      "kColTiles", tiles, fmt::format("({} + kTileCols - 1) / kTileCols", columns_constant_));
  writer.line(fmt::format(
      "using Tiling = StitchTiling<kTileRows, kTileCols, kTileDepth, kThreadM, kThreadN, {}, {}>;",
      mapping_.pitch_m, mapping_.pitch_n));
  if (stage_.mapping.grid_y > 1) {
    outer_ = context_.names().take("batch");
    writer.line(fmt::format("const int {} = {};", outer_, numbers_.y));
  }
  writer.line(fmt::format("const int first_row = {} / {} * kTileRows;", numbers_.x, column_tiles));
  writer.line(
      fmt::format("const int first_column = {} % {} * kTileCols;", numbers_.x, column_tiles));
}

ContractionEmitter::Operand ContractionEmitter::operand(int number, bool is_m) const {
  Operand result;
  result.operand = number;
  result.axis = is_m ? "row" : "column";
  result.axes = is_m ? &mapping_.m_axes : &mapping_.n_axes;
  result.axis_constant = is_m ? rows_constant_ : columns_constant_;
  result.extent = is_m ? rows_ : columns_;
  result.tile = is_m ? mapping_.tile_m : mapping_.tile_n;
  result.loader = is_m ? "load_rows" : "load_columns";
  return result;
}

void ContractionEmitter::bind_block(ElementBuilder& builder,
                                    ElementBuilder::Binding& binding) const {
  const StageMapping& m = stage_.mapping;
  if (m.block_axes.empty()) return;
  const ExprId outer =
      builder.add_coordinate(m.grid_y, {outer_, 1, builder.outermost(), false, ElementId()});
  const std::vector<ExprId> parts =
      context_.pool().delinearise(outer, extents_of(context_.pool(), m.block_axes));
  for (size_t a = 0; a < parts.size(); ++a) binding[m.block_axes[a]] = parts[a];
}

ExprId ContractionEmitter::bind_axis(ElementBuilder& builder, const std::vector<AtomId>& atoms,
                                     int width, const std::string& name, ScopeId scope, bool lanes,
                                     ElementBuilder::Binding& binding) const {
  IndexPool& pool = context_.pool();
  const std::vector<int64_t> extents = extents_of(pool, atoms);
  const int w = lanes ? width : 1;
  ExprId at = builder.add_coordinate(points(pool, atoms) / w, {name, w, scope, false, ElementId()});
  if (w > 1) at = pool.add(pool.scale(at, w), builder.add_lane(w, "j", scope));
  const std::vector<ExprId> parts = pool.delinearise(at, extents);
  for (size_t a = 0; a < parts.size(); ++a) binding[atoms[a]] = parts[a];
  return at;
}

ElementId ContractionEmitter::build(ElementBuilder& builder, const Operand& operand, ScopeId scope,
                                    ElementBuilder::Binding& binding) {
  builder.set_levels({scope, scope, scope, scope});
  for (const Group& group : stage_.groups) builder.mark_uncontracted(group.nodes);
  bind_block(builder, binding);
  bind_axis(builder, *operand.axes, operand.vector, operand.axis, scope, !operand.along_depth,
            binding);
  bind_axis(builder, mapping_.k_axes, operand.vector, "k", scope, operand.along_depth, binding);
  const AccessNode node = context_.graph().node(node_);
  const ElementBuilder::Guarded exists =
      builder.guarded(node.guards, binding, ElementBuilder::always());
  const ElementId element = builder.read_at(node.operands[static_cast<size_t>(operand.operand)],
                                            binding, exists.predicate);
  ElementId converted = builder.converted(element, state_);
  if (exists.condition.valid()) {
    converted = builder.choice(exists.condition, converted, integer_literal(state_, 0));
  }
  return converted;
}

bool ContractionEmitter::fits(const Operand& operand) {
  const int64_t along = operand.along_depth ? depth_ : operand.extent;
  const int threads = mapping_.tile_m / mapping_.thread_m * (mapping_.tile_n / mapping_.thread_n);
  const int per_thread = operand.tile * mapping_.tile_k / threads;
  if (along % operand.vector != 0 || per_thread % operand.vector != 0) return false;
  ElementBuilder builder(context_);
  ElementBuilder::Binding binding;
  build(builder, operand, builder.outermost(), binding);
  bool some = false;
  for (const Element& element : builder.graph().elements) {
    if (element.kind != ElementKind::kLoad || !element.lanes) continue;
    if (!element.vector) return false;
    some = true;
  }
  return some;
}

// The widest vector along k or along the operand's own axis; else scalars, neighbouring threads
// along the axis in which the address moves by the smaller step.
void ContractionEmitter::choose_access(Operand& operand) {
  for (const int vector : {4, 2}) {
    for (const bool along_depth : {true, false}) {
      operand.vector = vector;
      operand.along_depth = along_depth;
      if (fits(operand)) return;
    }
  }
  operand.vector = 1;
  ElementBuilder builder(context_);
  ElementBuilder::Binding binding;
  operand.along_depth = true;
  build(builder, operand, builder.outermost(), binding);
  IndexPool& pool = context_.pool();
  const auto smallest_step = [&](const std::vector<AtomId>& atoms) {
    int64_t smallest = INT64_MAX;
    if (atoms.empty()) return smallest;
    const AtomId probe = pool.add_atom(pool.atom(atoms.back()).extent);
    const AccessNode node = context_.graph().node(node_);
    for (const Piece& piece : node.operands[static_cast<size_t>(operand.operand)].pieces) {
      const std::vector<int64_t>& strides = context_.graph().value(piece.source).strides;
      for (size_t d = 0; d < piece.index.size() && d < strides.size(); ++d) {
        const ExprId moved = pool.substitute(piece.index[d], {{atoms.back(), pool.of(probe)}});
        for (const Term& term : pool.expr(moved).terms) {
          if (term.kind == FactorKind::kAtom && term.atom == probe) {
            smallest = std::min(smallest, std::abs(term.coefficient * strides[d]));
          }
        }
      }
    }
    return smallest;
  };
  operand.along_depth = smallest_step(mapping_.k_axes) < smallest_step(*operand.axes);
}

void ContractionEmitter::emit_loader(CodeWriter& writer, const Operand& operand) {
  ElementBuilder builder(context_);
  const ScopeId scope = builder.graph().add_scope(builder.outermost());
  ElementBuilder::Binding binding;
  const ElementId element = build(builder, operand, scope, binding);
  const std::string type = register_type(state_);
  const bool lanes = operand.vector > 1;
  if (builder.graph().at(element).kind == ElementKind::kLoad &&
      builder.graph().at(element).vector) {
    builder.graph().at(element).target = "to";
    ++builder.graph().at(element).uses;
  } else {
    Sink sink;
    sink.scope = scope;
    sink.lanes = lanes;
    sink.inputs = {element};
    sink.write = [lanes](const std::vector<CudaText>& x) -> std::vector<std::string> {
      return {fmt::format("to[{}] = {};", lanes ? "j" : "0", x[0].text)};
    };
    builder.add_sink(std::move(sink));
  }
  ScopeWriter scopes(builder, writer);
  const std::string width = lanes ? std::to_string(operand.vector) : "1";
  scopes.set_vector_name(width);
  scopes.write(builder.outermost());
  const auto lambda = writer.block(fmt::format("const auto {} = [&]({} (&to)[{}], int {}, int k)",
                                               operand.loader, type, width, "tile_" + operand.axis),
                                   "};");
  const std::string first = operand.axis == "row" ? "first_row" : "first_column";
  writer.line(fmt::format("const int {0} = {1} + tile_{0};", operand.axis, first));
  std::string guard;
  if (operand.extent % operand.tile != 0) guard = operand.axis + " < " + operand.axis_constant;
  if (depth_ % mapping_.tile_k != 0) {
    guard += std::string(guard.empty() ? "" : " && ") + "k < " + depth_constant_;
  }
  if (guard.empty()) {
    scopes.write(scope);
    return;
  }
  writer.line(fmt::format("stitch_fill(to, {});", integer_literal(state_, 0)));
  writer.line("if (!(" + guard + ")) return;");
  scopes.write(scope);
}

void ContractionEmitter::emit_epilogue(CodeWriter& writer, const Group& group) {
  const bool whole = columns_ % mapping_.thread_n == 0 && mapping_.thread_n > 1;
  ElementBuilder builder(context_);
  builder.mark_uncontracted(group.nodes);
  const ScopeId row_scope = builder.graph().add_scope(builder.outermost());
  const ScopeId step_scope = builder.graph().add_scope(row_scope);
  builder.set_levels({builder.outermost(), row_scope, row_scope, step_scope});
  ElementBuilder::Binding binding;
  bind_block(builder, binding);
  bind_axis(builder, mapping_.m_axes, 1, "row", row_scope, false, binding);
  bind_axis(builder, mapping_.n_axes, mapping_.thread_n, "column", step_scope, whole, binding);
  builder.set_own(binding, group.mapping);
  context_.registers()[result_] = {whole ? sum_ + "[i]" : sum_ + "[i][e]", whole, Level::kStep};
  bool some = false;
  for (const Root& root : group.roots) {
    if (root.kind == RootKind::kContract) continue;
    if (root.kind != RootKind::kStore) {
      throw InternalError(fmt::format("kernel {}: the epilogue of a contraction only stores",
                                      context_.kernel().name));
    }
    some = true;
    const ElementId element = builder.value_at(root.value, binding, ElementBuilder::always());
    std::vector<ExprId> index;
    for (const ExprId e : root.index) {
      index.push_back(builder.substituted(e, binding, ElementBuilder::always()));
    }
    const ExprId offset = context_.offset(root.buffer, index);
    add_store(builder, {context_.write(root.buffer), offset, step_scope, "kThreadN"}, element);
  }
  if (!some) return;
  ScopeWriter scopes(builder, writer);
  scopes.set_vector_name("kThreadN");
  writer.blank();
  scopes.write(builder.outermost());
  writer.pragma("unroll");
  const auto rows = writer.block("for (int i = 0; i < kThreadM; ++i)");
  writer.line("const int row = first_row + threadIdx.x / Tiling::kColumns * kThreadM + i;");
  if (rows_ % mapping_.tile_m != 0)
    writer.line(fmt::format("if (row >= {}) break;", rows_constant_));
  scopes.write(row_scope);
  const bool ragged = columns_ % mapping_.tile_n != 0;
  if (whole) {
    writer.line("const int column = first_column + threadIdx.x % Tiling::kColumns * kThreadN;");
    if (!ragged) {
      scopes.write(step_scope);
      return;
    }
    const auto inside = writer.block(fmt::format("if (column < {})", columns_constant_));
    scopes.write(step_scope);
    return;
  }
  writer.pragma("unroll");
  const auto columns = writer.block("for (int e = 0; e < kThreadN; ++e)");
  writer.line("const int column = first_column + threadIdx.x % Tiling::kColumns * kThreadN + e;");
  if (ragged) writer.line(fmt::format("if (column >= {}) break;", columns_constant_));
  scopes.write(step_scope);
}

}  // namespace stitch
