// Emits one group of a stage: its loops, what its roots compute and keep, the reductions over the
// threads of a row, and the stores behind them.
#pragma once
#include "emit_cuda/code_writer.h"
#include "emit_cuda/scope_writer.h"
#include "emit_cuda/stage_frame.h"

namespace stitch {

struct GroupPosition {
  int number = 1;  // for the comment, counted over the kernel
  // Behind the rows of a stage: only what was summed over them (kReduceRows) is left to store.
  bool behind_rows = false;
  // Declarations that have to stand before the loop over passes.
  std::vector<std::string>* before_rows = nullptr;
};

class GroupEmitter {
 public:
  GroupEmitter(KernelContext& context, const StageFrame& frame, const Group& group,
               GroupPosition position);
  void emit(CodeWriter& writer);
  // Adds up the sums of the block's teams and stores them (behind_rows).
  void emit_row_sums(CodeWriter& writer);

 private:
  // A reduce root while it is emitted.
  struct Reduce {
    const Root* root = nullptr;
    const AccessNode* node = nullptr;
    ReduceKind kind = ReduceKind::kSum;
    DType state = DType::kF32;   // of the accumulator
    DType result = DType::kF32;  // of the value
    bool arg = false, last = false, product = false;
    std::string type;     // of the accumulator, as text
    std::string functor;  // over threads
    std::string start;    // the identity
    std::string name;     // of the result before conversion
    std::string chains;   // one accumulator per vector element; empty: accumulates into the result
  };
  // A reduce that sums of this group follow (Root::cascade), and its variables.
  struct Leader {
    Cascade cascade;
    std::string name;    // the running result
    std::string center;  // what the terms of this step read
    std::string before;  // shifted_exp: `name` before this step
    std::string own;     // shifted_exp: `name` of this thread alone
    std::string rest;    // squared_distance: what `center` has lost to rounding
    std::string moved;   // squared_distance: sum of this step's distances from `center`
    std::string count;   // squared_distance: elements so far
  };
  struct Steps {
    int64_t columns = 1;
    int64_t span = 1;
    int64_t count = 1;
    bool ragged = false;
    std::string columns_constant, vector_constant, span_constant, steps_constant;
    std::string column;  // the variable
    std::string start;   // its value in the first step
    bool declares = false;
  };

  void set_up();
  void bind_inner_rows();
  void bind_columns();
  void bind_guards();
  void add_roots();
  Reduce reduce_of(const Root& root);
  std::vector<ElementId> inputs_of(Reduce& reduce);
  static Sink accumulation(const Reduce& reduce, const std::string& to);
  void add_reduce(const Root& root);
  void add_follower(const Root& root);
  size_t leader_of(const Root& root);
  void add_moved_sink(const Leader& leader, const AccessNode& node);
  void add_row_sum(const Root& root);
  void add_row_sum_store(const Root& root);
  std::string here(const std::string& array) const;
  void add_place(const Root& root);
  void add_store(const Root& root);
  void add_store_sink(const Memory& to, ExprId offset, ElementId element);
  ElementId masked(ElementId element, const ElementBuilder::Guarded& exists, const Reduce& reduce);

  void declare(CodeWriter& writer);
  void write_rows(CodeWriter& writer, ScopeWriter& scopes);
  void write_inner_rows(CodeWriter& writer, ScopeWriter& scopes);
  void write_steps(CodeWriter& writer, ScopeWriter& scopes);
  void write_step_body(CodeWriter& writer, ScopeWriter& scopes, bool in_loop);
  void write_step(CodeWriter& writer, ScopeWriter& scopes);
  void start_leaders(CodeWriter& writer) const;
  void begin_step(CodeWriter& writer, const Leader& leader) const;
  void copy_running(CodeWriter& writer, const Leader& leader, const std::string& to) const;
  void carry(CodeWriter& writer, const Leader& leader) const;
  void note_own(CodeWriter& writer, const Reduce& reduce) const;
  void combine_follower(CodeWriter& writer, const Reduce& reduce) const;
  const Leader* leader_named(const std::string& name) const;
  std::string step_guard(ScopeWriter& scopes, bool in_loop);
  void start_reduces(CodeWriter& writer);
  void fold_chains(CodeWriter& writer);
  void reduce_over_threads(CodeWriter& writer);
  void add_up_teams(CodeWriter& writer) const;
  std::string over_threads(const Reduce& reduce) const;
  void convert(CodeWriter& writer, Reduce& reduce);
  void store_results(CodeWriter& writer, ScopeWriter& scopes);
  void store_result(CodeWriter& writer, ScopeWriter& scopes, const Reduce& reduce, const Memory& to,
                    ExprId offset);
  void share_results(CodeWriter& writer, ScopeWriter& scopes);
  std::string result_guard(ScopeWriter& scopes, std::string guard) const;
  std::vector<ExprId> own_parts(AccessValueId value);
  void keep_results();
  std::string per_row(const std::string& name) const;
  bool in_flight() const { return frame_.rows_in_flight() > 1; }
  bool row_values() const { return group_.mapping.columns.empty(); }
  int row_width() const { return frame_.row_width(); }

  KernelContext& context_;
  const StageFrame& frame_;
  const Group& group_;
  GroupPosition position_;
  ElementBuilder builder_;
  ElementBuilder::Binding binding_;
  ScopeId stage_scope_, row_scope_, inner_scope_, step_scope_, follow_scope_;
  PredicateId row_predicate_;
  std::vector<ElementId> step_conditions_;
  Steps steps_;
  int64_t inner_rows_ = 1;
  int teams_ = 1;  // that share the inner rows
  std::vector<Reduce> reduces_;
  std::vector<Leader> leaders_;
  std::vector<std::pair<Reduce, std::string>> row_sums_;  // with the text of this step's sums
  std::vector<const Root*> late_stores_;                  // of reduce results of this group
  std::vector<std::string> declarations_;
  std::vector<std::pair<AccessValueId, KeptRegister>> kept_;
  std::vector<AccessValueId> stored_;
};

}  // namespace stitch
