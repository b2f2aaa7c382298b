// Emits the stages of a part one after another: their mappings, the groups, and what separates
// them.
#pragma once
#include "emit_cuda/code_writer.h"
#include "emit_cuda/kernel_context.h"
#include "emit_cuda/stage_frame.h"

namespace stitch {

class PartEmitter {
 public:
  PartEmitter(KernelContext& context, const Part& part, BlockNumbers numbers)
      : context_(context), part_(part), numbers_(std::move(numbers)) {}
  void emit(CodeWriter& writer);
  // Groups emitted before this part, for their numbers in comments.
  void set_first_group(int number) { group_ = number; }
  int next_group() const { return group_; }

 private:
  void emit_rows(CodeWriter& writer, const StageFrame& frame, bool may_return);
  void advance_after_ticket(CodeWriter& writer, const Stage& before, const Stage& stage);
  void emit_separation(CodeWriter& writer, const Stage& before, const Stage& stage);
  std::string counter(const Stage& before, const Stage& stage) const;

  KernelContext& context_;
  const Part& part_;
  BlockNumbers numbers_;
  int group_ = 1;
};

}  // namespace stitch
