// Which rows a thread works on in one stage, as variables of the emitted code: the block's number,
// the row or rows, whether they exist.
#pragma once
#include <map>
#include <string>

#include "emit_cuda/code_writer.h"
#include "emit_cuda/element_builder.h"
#include "planner/plan/plan.h"

namespace stitch {

// The blocks of a part as its code sees them.
struct BlockNumbers {
  std::string x = "blockIdx.x";
  std::string y = "blockIdx.y";
};

class StageFrame {
 public:
  StageFrame(KernelContext& context, const Stage& stage, BlockNumbers numbers);

  const Stage& stage() const { return stage_; }
  const StageMapping& mapping() const { return stage_.mapping; }
  bool lanes_along_rows() const { return mapping().lanes_along_rows; }
  // Rows of a thread that are separate iterations, or lanes of one vector.
  int rows_in_flight() const { return lanes_along_rows() ? 1 : mapping().rows_per_thread; }
  int row_width() const { return lanes_along_rows() ? mapping().rows_per_thread : 1; }
  int64_t rows() const { return rows_; }
  // Whether some threads have no row: then `live` says so.
  bool has_surplus() const { return surplus_; }
  bool is_plain_loop() const;

  // Declares what holds for the whole stage; opens the loop over passes where there is one.
  void declare(CodeWriter& writer);
  std::string pass_loop() const;
  // Declares the row, inside of the loop over passes and of `r`.
  void declare_row(CodeWriter& writer) const;
  // Behind the loop over passes: what was declared in it is gone.
  void leave_passes() const { columns_.clear(); }

  // Binds block axes and rows to coordinates of a group.
  void bind(ElementBuilder& builder, ScopeId row_scope, ElementBuilder::Binding& binding) const;

  // Names of variables and constants.
  std::string column_thread() const { return column_thread_; }  // "lane"; "0" when there is one
  std::string team() const { return team_; }
  std::string rows_constant() const { return rows_constant_; }
  std::string row_threads_constant() const { return row_threads_constant_; }
  std::string threads_constant() const { return threads_constant_; }
  std::string in_flight_constant() const { return in_flight_constant_; }
  std::string width_constant() const { return width_constant_; }
  std::string column_name() const { return is_column() ? "row" : "column"; }
  std::string columns_wish() const { return is_column() ? "kRows" : "kCols"; }
  // The variable that holds `position`, which is the same in all groups of the stage that ask for
  // it; `is_new` when this group has to declare it.
  struct Variable {
    std::string name;
    bool is_new = false;
  };
  Variable column_variable(const std::string& position) const;
  bool is_column() const { return mapping().kind == MappingKind::kColumn; }
  std::string row_name() const;

 private:
  KernelContext& context_;
  const Stage& stage_;
  BlockNumbers numbers_;
  int64_t rows_ = 1;
  bool surplus_ = false;
  std::string column_thread_ = "0", team_ = "0";
  std::string outer_ = "";                              // the variable of the block's number in y
  mutable std::map<std::string, std::string> columns_;  // by position
  std::string rows_constant_, row_threads_constant_, threads_constant_, in_flight_constant_,
      width_constant_, grid_constant_, rows_per_block_constant_, passes_constant_;
};

}  // namespace stitch
