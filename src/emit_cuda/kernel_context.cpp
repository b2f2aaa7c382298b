#include "emit_cuda/kernel_context.h"

#include <fmt/format.h>

#include <algorithm>

#include "emit_cuda/cuda_types.h"
#include "graph/error.h"

namespace stitch {
namespace {

constexpr int64_t kVectorBytes = 16;

// What an unnamed value is called after the op that makes it.
std::string noun(Op op) {
  switch (op) {
    case Op::k_add:
      return "total";
    case Op::k_sub:
      return "difference";
    case Op::k_mul:
      return "product";
    case Op::k_div:
      return "quotient";
    case Op::k_exp:
      return "power";
    case Op::k_sqrt:
      return "root";
    case Op::k_neg:
      return "negated";
    case Op::k_compare:
      return "holds";
    case Op::k_select:
      return "chosen";
    case Op::k_cast:
      return "converted";
    case Op::k_min:
      return "smaller";
    case Op::k_max:
      return "larger";
    case Op::k_matmul:
    case Op::k_conv:
    case Op::k_conv_transpose:
      return "sum";
    default:  // any other op gives its own name
      return std::string(name(op)) + "_value";
  }
}

std::string reduce_noun(const Attributes& attributes) {
  ReduceKind kind = ReduceKind::kSum;
  if (const auto* reduce = std::get_if<ReduceAttributes>(&attributes)) kind = reduce->kind;
  if (const auto* window = std::get_if<WindowAttributes>(&attributes)) kind = window->kind;
  switch (kind) {
    case ReduceKind::kSum:
      return "row_sum";
    case ReduceKind::kProd:
      return "row_product";
    case ReduceKind::kMin:
      return "row_min";
    case ReduceKind::kMax:
      return "row_max";
  }
  throw InternalError("a reduction has no kind");
}

}  // namespace

std::string KeptRegister::at(int64_t distance) const {
  if (steps == 0) return text;
  if (distance == 0) return text + "[i]";
  return fmt::format("{}[(i + {}) % {}]", text, (distance % steps + steps) % steps, steps_constant);
}

BufferOfValue buffers_by_value(const Plan& plan) {
  BufferOfValue buffers;
  for (size_t b = 0; b < plan.buffers.size(); ++b) {
    if (plan.buffers[b].value.valid()) buffers.emplace(plan.buffers[b].value, BufferId(b));
  }
  return buffers;
}

KernelContext::KernelContext(const EmittedPlan& emitted, const Kernel& kernel)
    : plan_(emitted.plan), kernel_(kernel), graph_(emitted.graph), buffers_(emitted.buffers) {
  names_.take(kernel.name);
  for (const Part& part : kernel.parts) {
    for (const Stage& stage : part.stages) {
      for (const Group& group : stage.groups) {
        for (const AccessNodeId node : group.nodes) {
          for (const AccessValueId value : graph_.node(node).results) computed_.insert(value);
        }
        for (const Root& root : group.roots) {
          if (graph_.value(root.value).kind == AccessValueKind::kNode &&
              root.kind != RootKind::kStore) {
            computed_.insert(root.value);
          }
        }
      }
    }
  }
  find_width();
  find_first_elements();
  reserve_names();
}

// A kernel that touches a slice gets the pointer to where the slice begins: kernels that do the
// same with the slices of different steps are the same kernel.
void KernelContext::find_first_elements() {
  const auto look = [&](BufferId id, const std::vector<ExprId>& index) {
    const Buffer& b = buffer(id);
    const int64_t vector = kVectorBytes / size_bytes(b.dtype);
    int64_t low = pool().range(pool().weighted_sum(index, b.strides)).low;
    low = std::max<int64_t>(low, 0) / vector * vector;  // pointers stay aligned
    const auto [known, is_new] = first_elements_.emplace(id, low);
    if (!is_new) known->second = std::min(known->second, low);
  };
  const auto look_at_read = [&](const Read& read) {
    for (const Piece& piece : read.pieces) {
      const auto found = buffers_.find(piece.source);
      if (found != buffers_.end() && !computes(piece.source)) look(found->second, piece.index);
    }
  };
  for (const AccessValueId value : computed_) {
    const AccessNodeId producer = graph_.value(value).producer;
    if (!producer.valid()) continue;
    const std::vector<Read> operands = graph_.node(producer).operands;  // a copy: the pool grows
    for (const Read& read : operands) look_at_read(read);
  }
  for (const Part& part : kernel_.parts) {
    for (const Stage& stage : part.stages) {
      for (const Group& group : stage.groups) {
        for (const Root& root : group.roots) {
          if (root.kind == RootKind::kStore) look(root.buffer, root.index);
        }
      }
    }
  }
}

ExprId KernelContext::offset(BufferId id, const std::vector<ExprId>& index) {
  const ExprId element = pool().weighted_sum(index, buffer(id).strides);
  const auto first = first_elements_.find(id);
  return first == first_elements_.end() ? element : pool().add(element, -first->second);
}

// Whether offsets into the value's buffer need 64 bits.
bool KernelContext::is_wide(BufferId id) const {
  constexpr int64_t kWideElements = int64_t{1} << 31;
  int64_t last = 1;
  const Buffer& b = buffer(id);
  for (size_t d = 0; d < b.extents.size(); ++d) last += (b.extents[d] - 1) * b.strides[d];
  return last >= kWideElements;
}

void KernelContext::find_width() {
  const auto look = [&](AccessValueId value) {
    const auto found = buffers_.find(value);
    if (found != buffers_.end() && is_wide(found->second)) wide_ = true;
  };
  for (const AccessValueId value : computed_) {
    look(value);
    const AccessNodeId producer = graph_.value(value).producer;
    if (!producer.valid()) continue;
    for (const Read& read : graph_.node(producer).operands) {
      for (const Piece& piece : read.pieces) look(piece.source);
    }
  }
  for (const Part& part : kernel_.parts) {
    for (const Stage& stage : part.stages) {
      for (const Group& group : stage.groups) {
        for (const Root& root : group.roots) {
          look(root.value);
          if (root.kind == RootKind::kStore && is_wide(root.buffer)) wide_ = true;
        }
      }
    }
  }
}

BufferId KernelContext::buffer_of(AccessValueId value) const {
  const auto found = buffers_.find(value);
  if (found != buffers_.end()) return found->second;
  throw InternalError(fmt::format("kernel {} reads value {} \"{}\", which no buffer holds",
                                  kernel_.name, value.index, graph_.value(value).name));
}

Memory KernelContext::read(BufferId buffer) { return argument(buffer, false); }
Memory KernelContext::write(BufferId buffer) { return argument(buffer, true); }

Memory KernelContext::argument(BufferId id, bool written) {
  const Buffer& b = buffer(id);
  const Memory known = {"", b.dtype, b.offset % kVectorBytes == 0};
  for (KernelArgument& argument : arguments_) {
    if (argument.buffer != id) continue;
    (written ? argument.written : argument.read) = true;
    return {argument.name, known.dtype, known.aligned};
  }
  const auto first = first_elements_.find(id);
  arguments_.push_back({id, first == first_elements_.end() ? 0 : first->second, argument_name(id),
                        !written, written});
  return {arguments_.back().name, known.dtype, known.aligned};
}

std::string KernelContext::argument_name(BufferId id) {
  const Buffer& b = buffer(id);
  std::string& name = argument_names_[id];
  if (!name.empty()) return name;
  std::string wish = identifier(b.name);
  if (wish.empty()) wish = b.kind == BufferKind::kScratch ? "partials" : "buffer";
  name = names_.take(wish);
  return name;
}

// Arguments keep the model's names; variables that hold their elements get longer ones.
void KernelContext::reserve_names() {
  std::set<BufferId> buffers;
  for (const AccessValueId value : computed_) {
    const AccessNodeId producer = graph_.value(value).producer;
    if (!producer.valid()) continue;
    for (const Read& read : graph_.node(producer).operands) {
      for (const Piece& piece : read.pieces) {
        const auto found = buffers_.find(piece.source);
        if (found == buffers_.end() || computes(piece.source)) continue;
        const Tensor* constant = graph_.constant(piece.source);
        if (constant == nullptr || constant->element_count() != 1) buffers.insert(found->second);
      }
    }
  }
  for (const Part& part : kernel_.parts) {
    for (const Stage& stage : part.stages) {
      for (const Group& group : stage.groups) {
        for (const Root& root : group.roots) {
          if (root.kind == RootKind::kStore) buffers.insert(root.buffer);
        }
      }
    }
  }
  for (const BufferId id : buffers) argument_name(id);
}

Memory KernelContext::shared(AccessValueId value, const Place& place) {
  // On chip nothing is rounded: 16-bit floats stay float.
  const DType dtype = compute_type(graph_.value(value).dtype);
  const auto [it, is_new] = shared_.emplace(std::pair(value, place.offset), Memory{});
  if (is_new) {
    const std::string name = names_.take(wish(value) + "_shared");
    it->second = {name, dtype, place.offset % kVectorBytes == 0};
    shared_declarations_.push_back(fmt::format("{0}* const {1} = stitch_smem<{0}>({2});",
                                               memory_type(dtype), name, place.offset));
  }
  return it->second;
}

std::string KernelContext::constant(const std::string& wish, int64_t value,
                                    const std::string& expression) {
  std::string name = wish;
  for (int n = 2;; ++n) {
    const auto found = std::find_if(constants_.begin(), constants_.end(),
                                    [&](const Constant& c) { return c.name == name; });
    if (found == constants_.end()) break;
    if (found->value == value) return name;
    name = wish + std::to_string(n);
  }
  constants_.push_back({name, expression.empty() ? std::to_string(value) : expression, value});
  return name;
}

const Place* KernelContext::place(AccessValueId value, PlaceKind kind) const {
  const auto found = kernel_.places.find(value);
  if (found == kernel_.places.end()) return nullptr;
  for (const Place& place : found->second) {
    if (place.kind == kind) return &place;
  }
  return nullptr;
}

std::string KernelContext::wish(AccessValueId id) const {
  const AccessValue& value = graph_.value(id);
  std::string wish = identifier(value.name);
  if (!wish.empty()) return wish;
  if (value.kind == AccessValueKind::kNode && value.producer.valid()) {
    const AccessNode& node = graph_.node(value.producer);
    if (node.kind == AccessKind::kReduce) return reduce_noun(node.attributes);
    return noun(node.op);
  }
  return "value";
}

std::string KernelContext::describe(const std::vector<AccessNodeId>& nodes) const {
  std::vector<std::pair<std::string, std::vector<std::string>>> parts;
  for (const AccessNodeId id : nodes) {
    const AccessNode& node = graph_.node(id);
    const std::string where =
        node.sources.empty() ? "" : graph_.graph->source(node.sources.front()).name;
    if (parts.empty() || parts.back().first != where) parts.push_back({where, {}});
    std::string op(name(node.op));
    if (node.kind == AccessKind::kReduce) op = reduce_noun(node.attributes).substr(4);
    if (node.op == Op::k_bitcast) op = "copy";
    auto& ops = parts.back().second;
    if (ops.empty() || ops.back() != op) ops.push_back(op);
  }
  std::string text;
  for (const auto& [where, ops] : parts) {
    if (!text.empty()) text += ", ";
    text += where.empty() ? "" : where + " ";
    for (size_t i = 0; i < ops.size(); ++i)
      text += (i > 0 ? ", " : where.empty() ? "" : "(") + ops[i];
    if (!where.empty()) text += ")";
  }
  return text;
}

}  // namespace stitch
