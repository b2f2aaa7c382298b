// Emits the stages of a part one after another: their mappings, the groups, and what separates
// them.
#pragma once
#include "emit_cuda/code_writer.h"
#include "emit_cuda/kernel_context.h"
#include "emit_cuda/stage_frame.h"

namespace stitch {

// The block's number as its place in a stage's grid.
BlockNumbers numbers_in_grid(const std::string& flat, const StageMapping& mapping);

class PartEmitter {
 public:
  // `flat` counts the blocks of the part; where every stage has the same grid, `numbers` do not
  // depend on it.
  PartEmitter(KernelContext& context, const Part& part, BlockNumbers numbers, std::string flat)
      : context_(context), part_(part), numbers_(std::move(numbers)), flat_(std::move(flat)) {}
  void emit(CodeWriter& writer);
  // Groups emitted before this part, for their numbers in comments.
  void set_first_group(int number) { group_ = number; }
  int next_group() const { return group_; }

 private:
  void emit_stages(CodeWriter& writer, size_t s, size_t end, const StageFrame* before);
  void emit_next(CodeWriter& writer, size_t s, size_t end, const StageFrame* frame);
  void emit_passes(CodeWriter& writer, const StageFrame& frame, bool last);
  void emit_rows(CodeWriter& writer, const StageFrame& frame, bool may_return);
  void emit_row_sums(CodeWriter& writer, const StageFrame& frame);
  void advance_after_ticket(CodeWriter& writer, const Stage& before, const Stage& stage);
  void emit_separation(CodeWriter& writer, const Stage& before, const Stage& stage);
  std::string counter(const Stage& before, const Stage& stage) const;

  KernelContext& context_;
  const Part& part_;
  BlockNumbers numbers_;
  std::string flat_;
  std::vector<std::string>* before_rows_ = nullptr;
  int group_ = 1;
};

}  // namespace stitch
