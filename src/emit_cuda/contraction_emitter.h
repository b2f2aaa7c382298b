// Emits the stage of a contraction: operand tiles through shared memory, register outer products,
// and the epilogue at the results that a thread holds.
#pragma once
#include "emit_cuda/code_writer.h"
#include "emit_cuda/element_builder.h"
#include "emit_cuda/stage_frame.h"

namespace stitch {

class ContractionEmitter {
 public:
  ContractionEmitter(KernelContext& context, const Stage& stage, BlockNumbers numbers, int* group);
  void emit(CodeWriter& writer);

 private:
  // How one operand is read: the axis of the tile that it has besides k, and the vector that fits.
  struct Operand {
    int operand = 0;
    std::string axis, axis_constant, loader, vector_constant;
    const std::vector<AtomId>* axes = nullptr;
    int64_t extent = 1;
    int tile = 64;
    int vector = 1;
    bool along_depth = true;
  };

  void declare(CodeWriter& writer);
  Operand operand(int number, bool is_m) const;
  void choose_access(Operand& operand);
  // Elements of the operand at (axis, k) with lanes along one of the two; none when some load of
  // the lanes would not be one vector.
  bool fits(const Operand& operand);
  ElementId build(ElementBuilder& builder, const Operand& operand, ScopeId scope,
                  ElementBuilder::Binding& binding);
  void emit_loader(CodeWriter& writer, const Operand& operand);
  void emit_epilogue(CodeWriter& writer, const Group& group);
  void bind_block(ElementBuilder& builder, ElementBuilder::Binding& binding) const;
  ExprId bind_axis(ElementBuilder& builder, const std::vector<AtomId>& atoms, int width,
                   const std::string& name, ScopeId scope, bool lanes,
                   ElementBuilder::Binding& binding) const;

  KernelContext& context_;
  const Stage& stage_;
  const ContractionMapping& mapping_;
  BlockNumbers numbers_;
  int* group_;
  AccessValueId result_;
  AccessNodeId node_;
  DType state_ = DType::kF32;
  int64_t rows_ = 1, columns_ = 1, depth_ = 1;
  std::string outer_, sum_;
  std::string rows_constant_, columns_constant_, depth_constant_;
};

}  // namespace stitch
