#include "emit_cuda/stage_frame.h"

#include <fmt/format.h>

#include "graph/error.h"

namespace stitch {
namespace {

int64_t product(const IndexPool& pool, const std::vector<AtomId>& atoms) {
  int64_t count = 1;
  for (const AtomId atom : atoms) count *= pool.atom(atom).extent;
  return count;
}

std::vector<int64_t> extents_of(const IndexPool& pool, const std::vector<AtomId>& atoms) {
  std::vector<int64_t> extents;
  for (const AtomId atom : atoms) extents.push_back(pool.atom(atom).extent);
  return extents;
}

}  // namespace

StageFrame::StageFrame(KernelContext& context, const Stage& stage, BlockNumbers numbers)
    : context_(context), stage_(stage), numbers_(std::move(numbers)) {
  const StageMapping& m = mapping();
  rows_ = product(context.pool(), m.rows);
  const int64_t covered =
      m.grid_x * m.passes * m.row_threads * static_cast<int64_t>(m.rows_per_thread);
  surplus_ = covered > rows_;
  if (covered < rows_) {
    throw InternalError(fmt::format("kernel {}: a stage covers {} rows of {}",
                                    context.kernel().name, covered, rows_));
  }
  if (lanes_along_rows() && rows_ % m.rows_per_thread != 0) {
    throw InternalError(fmt::format("kernel {}: {} rows are no multiple of the vector of {}",
                                    context.kernel().name, rows_, m.rows_per_thread));
  }
  const bool loop = m.kind == MappingKind::kLoop && m.threads_per_row == 1;
  rows_constant_ = context.constant(loop ? "kElements" : is_column() ? "kCols" : "kRows", rows_);
  if (m.threads_per_row > 1) {
    threads_constant_ =
        context.constant(is_column() ? "kThreadsPerColumn" : "kThreadsPerRow", m.threads_per_row);
  } else {
    threads_constant_ = "1";
  }
  width_constant_ = row_width() > 1 ? context.constant("kVector", row_width()) : "1";
  const std::string block =
      context.constant("kBlock", static_cast<int64_t>(m.threads_per_row) * m.row_threads);
  const bool whole_block = m.threads_per_row == 1;
  row_threads_constant_ = whole_block
                              ? block
                              : context.constant(is_column() ? "kColumnThreads" : "kRowThreads",
                                                 m.row_threads, block + " / " + threads_constant_);
  in_flight_constant_ =
      rows_in_flight() > 1 ? context.constant("kRowsPerThread", rows_in_flight()) : "1";
  std::string per_block = row_threads_constant_;
  if (m.rows_per_thread > 1) {
    per_block += " * " + (lanes_along_rows() ? width_constant_ : in_flight_constant_);
  }
  const std::string wish = loop          ? "kElementsPerBlock"
                           : is_column() ? "kColsPerBlock"
                                         : "kRowsPerBlock";
  rows_per_block_constant_ =
      context.constant(wish, static_cast<int64_t>(m.row_threads) * m.rows_per_thread, per_block);
  grid_constant_ = context.constant("kGrid", m.grid_x);
  if (m.passes > 1) passes_constant_ = context.constant("kPasses", m.passes);
}

bool StageFrame::is_plain_loop() const {
  return lanes_along_rows() && mapping().threads_per_row == 1;
}

std::string StageFrame::row_name() const {
  if (mapping().kind == MappingKind::kLoop && mapping().threads_per_row == 1) return "element";
  return is_column() ? "column" : "row";
}

void StageFrame::declare(CodeWriter& writer) {
  const StageMapping& m = mapping();
  if (m.grid_y > 1) {
    outer_ = "outer";
    if (m.block_axes.size() == 1) {
      const std::string hint = identifier(context_.pool().atom(m.block_axes[0]).name);
      if (!hint.empty() && context_.names().is_free(hint)) outer_ = hint;
    }
    outer_ = context_.names().take(outer_);
    writer.line(fmt::format("const int {} = {};", outer_, numbers_.y));
  }
  if (m.threads_per_row > 1) {
    column_thread_ = lanes_along_rows() ? "team" : "lane";
    if (lanes_along_rows()) {
      writer.line(fmt::format("const int team = threadIdx.x / {};", row_threads_constant_));
    } else if (m.row_threads == 1) {
      writer.line("const int lane = threadIdx.x;");
    } else {
      writer.line(fmt::format("const int lane = threadIdx.x % {};", threads_constant_));
      writer.line(fmt::format("const int team = threadIdx.x / {};", threads_constant_));
      team_ = "team";
    }
  } else if (!lanes_along_rows()) {
    writer.line("const int team = threadIdx.x;");
    team_ = "team";
  }
}

StageFrame::Variable StageFrame::column_variable(const std::string& position) const {
  const auto found = columns_.find(position);
  if (found != columns_.end()) return {found->second, false};
  const std::string name =
      columns_.empty() ? column_name() : column_name() + std::to_string(columns_.size() + 1);
  columns_.emplace(position, name);
  return {name, true};
}

std::string StageFrame::pass_loop() const {
  if (mapping().passes == 1) return "";
  return fmt::format("for (int pass = 0; pass < {0}; ++pass)", passes_constant_);
}

void StageFrame::declare_row(CodeWriter& writer) const {
  const StageMapping& m = mapping();
  if (rows_ == 1 && !surplus_) return;
  const std::string type = context_.index_type();
  std::string tile = numbers_.x;
  if (m.passes > 1) {
    tile = m.grid_x == 1 ? "pass" : fmt::format("({} + pass * {})", numbers_.x, grid_constant_);
  }
  const bool one_block = m.grid_x == 1 && m.passes == 1;
  std::string position;
  if (lanes_along_rows()) {
    const std::string thread = m.threads_per_row > 1 ? "threadIdx.x % " + row_threads_constant_
                                                     : std::string("threadIdx.x");
    position =
        one_block ? thread : fmt::format("{} * {} + {}", tile, row_threads_constant_, thread);
    if (row_width() > 1) {
      position = fmt::format("({}) * {}", position, width_constant_);
    }
  } else {
    const bool one_row = m.row_threads == 1 && m.rows_per_thread == 1;
    position = one_block ? ""
               : one_row ? tile
                         : fmt::format("{} * {}", tile, rows_per_block_constant_);
    if (rows_in_flight() > 1) {
      position += fmt::format("{}r * {}", position.empty() ? "" : " + ", row_threads_constant_);
    }
    if (team_ != "0") position += (position.empty() ? "" : " + ") + team_;
    if (position.empty()) position = "0";
  }
  const std::string name = row_name();
  if (type != "int") {
    position = "static_cast<long long>(" + tile + ")" + position.substr(tile.size());
    if (lanes_along_rows() && row_width() > 1) {
      position = fmt::format(
          "(static_cast<long long>({}) * {} + threadIdx.x{}) * {}", tile, row_threads_constant_,
          m.threads_per_row > 1 ? " % " + row_threads_constant_ : "", width_constant_);
    }
  }
  if (!surplus_) {
    writer.line(fmt::format("const {} {} = {};", type, name, position));
    return;
  }
  if (is_plain_loop()) {
    writer.line(fmt::format("const {} {} = {};", type, name, position));
    return;
  }
  writer.line(fmt::format("const {} {}_in_grid = {};", type, name, position));
  writer.line(fmt::format("const bool live = {}_in_grid < {};", name, rows_constant_));
  if (rows_ > 1) {
    // The last row is one of this block's own: it may be read where others' rows may not be.
    const std::string last = lanes_along_rows() && row_width() > 1 ? width_constant_ : "1";
    writer.line(fmt::format("const {0} {1} = live ? {1}_in_grid : {2} - {3};", type, name,
                            rows_constant_, last));
  }
}

void StageFrame::bind(ElementBuilder& builder, ScopeId row_scope,
                      ElementBuilder::Binding& binding) const {
  IndexPool& pool = context_.pool();
  const StageMapping& m = mapping();
  if (!m.block_axes.empty()) {
    const ExprId outer =
        builder.add_coordinate(m.grid_y, {outer_, 1, builder.outermost(), false, ElementId()});
    const std::vector<ExprId> parts = pool.delinearise(outer, extents_of(pool, m.block_axes));
    for (size_t a = 0; a < m.block_axes.size(); ++a) binding[m.block_axes[a]] = parts[a];
  }
  if (m.rows.empty()) return;
  const int width = row_width();
  ExprId row =
      builder.add_coordinate(rows_ / width, {row_name(), width, row_scope, false, ElementId()});
  if (width > 1) {
    row = pool.add(pool.scale(row, width), builder.add_lane(width, "j", row_scope));
  }
  const std::vector<ExprId> parts = pool.delinearise(row, extents_of(pool, m.rows));
  for (size_t a = 0; a < m.rows.size(); ++a) binding[m.rows[a]] = parts[a];
  if (!lanes_along_rows() && m.row_threads * m.rows_per_thread > 1) {
    // r * row_threads + team: where the row's part of shared memory begins.
    ExprId number =
        builder.add_coordinate(m.row_threads, {team_, 1, builder.outermost(), false, ElementId()});
    if (rows_in_flight() > 1) {
      const ExprId r =
          builder.add_coordinate(m.rows_per_thread, {"r", 1, row_scope, false, ElementId()});
      number = pool.add(pool.scale(r, m.row_threads), number);
    }
    builder.set_row_in_block(number);
  }
}

}  // namespace stitch
