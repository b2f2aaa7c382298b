// What is known while one kernel is emitted: its plan, its arguments as they are met, its names,
// and the values that earlier roots keep.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "emit_cuda/element_graph.h"
#include "emit_cuda/names.h"
#include "planner/plan/plan.h"

namespace stitch {

// The loops of a group, outer first; kFollow: the second half of a step, behind what it has added
// to the reduces that others follow.
enum class Level : uint8_t { kStage, kRow, kInnerRow, kStep, kFollow };

// A value that a root of this kernel has left in registers: `text` without the lane's index.
struct KeptRegister {
  std::string text;
  bool lanes = false;  // one element per lane of the vector: text[j]
  Level level = Level::kRow;
  int64_t steps = 0;  // not 0: one more index behind the text, the step of the columns
  std::string steps_constant = {};
  // At a distance of so many steps from the one at hand. It wraps: where there is no such step, the
  // element is not the one that is chosen, but it is there.
  std::string at(int64_t distance) const;
};

struct KernelArgument {
  BufferId buffer;
  int64_t first = 0;  // the element of the buffer that the pointer is at
  std::string name;
  bool read = false;
  bool written = false;
};

// Which buffer holds which value; made once for all kernels of a plan.
using BufferOfValue = std::map<AccessValueId, BufferId>;
BufferOfValue buffers_by_value(const Plan& plan);

// What is emitted from: a plan, its graph (index expressions are added to it) and its buffers.
struct EmittedPlan {
  const Plan& plan;
  AccessGraph& graph;
  const BufferOfValue& buffers;
};

class KernelContext {
 public:
  KernelContext(const EmittedPlan& emitted, const Kernel& kernel);

  const Plan& plan() const { return plan_; }
  const Kernel& kernel() const { return kernel_; }
  AccessGraph& graph() { return graph_; }
  IndexPool& pool() { return graph_.pool; }
  Names& names() { return names_; }

  // True when a node of this kernel computes the value.
  bool computes(AccessValueId value) const { return computed_.contains(value); }
  // The buffer that holds a value, or InternalError.
  BufferId buffer_of(AccessValueId value) const;
  const Buffer& buffer(BufferId id) const { return plan_.buffers[id.index]; }
  // Where an element lies behind the kernel argument for its buffer.
  ExprId offset(BufferId buffer, const std::vector<ExprId>& index);
  // The kernel argument for a buffer.
  Memory read(BufferId buffer);
  Memory write(BufferId buffer);
  const std::vector<KernelArgument>& arguments() const { return arguments_; }

  // The pointer to the place of a value in shared memory.
  Memory shared(AccessValueId value, const Place& place);
  // Pointers into shared memory, in the order in which they were asked for.
  const std::vector<std::string>& shared_declarations() const { return shared_declarations_; }

  const Place* place(AccessValueId value, PlaceKind kind) const;
  std::map<AccessValueId, KeptRegister>& registers() { return registers_; }
  // Values whose shared or scratch place has been written.
  std::set<AccessValueId>& stored() { return stored_; }

  // Whether the text so far has waited for the other blocks of the cluster to begin.
  bool& cluster_has_begun() { return cluster_has_begun_; }

  // A constexpr of the kernel; the same name and value give the same constant, another value
  // another name (kRows, kRows2).
  std::string constant(const std::string& wish, int64_t value, const std::string& expression = "");
  struct Constant {
    std::string name, expression;
    int64_t value = 0;
  };
  const std::vector<Constant>& constants() const { return constants_; }

  // A readable identifier for a value: from the model, or from what it is.
  std::string wish(AccessValueId value) const;
  // "int", or "long long" where a tensor of the kernel has 2^31 elements or more.
  std::string index_type() const { return wide_ ? "long long" : "int"; }
  // Comments speak of ONNX nodes: "/attention/Softmax (max, sub)".
  std::string describe(const std::vector<AccessNodeId>& nodes) const;

 private:
  Memory argument(BufferId buffer, bool written);
  bool is_wide(BufferId buffer) const;
  void find_width();
  void find_first_elements();
  void reserve_names();
  std::string argument_name(BufferId buffer);

  const Plan& plan_;
  const Kernel& kernel_;
  AccessGraph& graph_;
  Names names_;
  std::set<AccessValueId> computed_;
  const BufferOfValue& buffers_;
  std::map<BufferId, int64_t> first_elements_;  // of those that the kernel touches
  std::vector<KernelArgument> arguments_;
  std::map<BufferId, std::string> argument_names_;
  std::map<std::pair<AccessValueId, int64_t>, Memory> shared_;
  std::vector<std::string> shared_declarations_;
  std::map<AccessValueId, KeptRegister> registers_;
  std::set<AccessValueId> stored_;
  std::vector<Constant> constants_;
  bool wide_ = false;
  bool cluster_has_begun_ = false;
};

}  // namespace stitch
