#include "planner/check/plan_numbers.h"

#include <fmt/format.h>

#include <algorithm>

#include "planner/plan/step_buffers.h"
#include "planner/structure/kernel_structure.h"

namespace stitch {
namespace {

// Elements from the first to behind the last; 0 for a buffer without elements.
int64_t reach(const std::vector<int64_t>& extents, const std::vector<int64_t>& strides) {
  int64_t last = 0;
  for (size_t d = 0; d < extents.size(); ++d) {
    if (extents[d] == 0) return 0;
    last += (extents[d] - 1) * strides[d];
  }
  return last + 1;
}

class NumberCheck {
 public:
  NumberCheck(const Plan& plan, std::vector<std::string>& problems)
      : plan_(plan), problems_(problems) {}

  void run() {
    const size_t before = problems_.size();
    for (const Buffer& buffer : plan_.buffers) check_buffer(buffer);
    for (const Step& step : plan_.steps) {
      if (const Kernel* const kernel = std::get_if<Kernel>(&step)) check_kernel(*kernel);
    }
    // What follows computes with them.
    if (problems_.size() > before || !stores_are_known_) return;
    for (const Step& step : plan_.steps) {
      if (const auto* call = std::get_if<LibraryMatmul>(&step)) check_call(call->layout);
    }
    check_order();
    check_lives();
  }

 private:
  template <class... Arguments>
  void report(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    problems_.push_back(place_ + fmt::format(format, std::forward<Arguments>(arguments)...));
  }

  void require(bool holds, std::string_view what) {
    if (!holds) report("{}", what);
  }

  void check_buffer(const Buffer& buffer) {
    place_ = fmt::format("buffer {}: ", buffer.name);
    require((buffer.offset >= 0 || buffer.inside.valid()) && buffer.bytes >= 0,
            "a negative offset or size");
    require(buffer.extents.size() == buffer.strides.size(), "strides of another rank");
    if (buffer.extents.size() != buffer.strides.size()) return;
    for (size_t d = 0; d < buffer.extents.size(); ++d) {
      require(buffer.extents[d] >= 0 && buffer.strides[d] >= 0, "a negative extent or stride");
    }
    const int64_t needed = reach(buffer.extents, buffer.strides) * size_bytes(buffer.dtype);
    if (needed > buffer.bytes) report("{} bytes for elements that need {}", buffer.bytes, needed);
    switch (buffer.kind) {
      case BufferKind::kInput:
        check_index(buffer, plan_.graph.inputs.size());
        break;
      case BufferKind::kOutput:
        check_index(buffer, plan_.graph.outputs.size());
        break;
      case BufferKind::kConstant:
      case BufferKind::kArena:
      case BufferKind::kScratch:
        break;
    }
  }

  void check_index(const Buffer& buffer, size_t count) {
    if (buffer.index < 0 || static_cast<size_t>(buffer.index) >= count) {
      report("number {} of {}", buffer.index, count);
      return;
    }
    const auto index = static_cast<size_t>(buffer.index);
    const AccessValue& value =
        plan_.graph.value(buffer.kind == BufferKind::kInput ? plan_.graph.inputs[index]
                                                            : plan_.graph.outputs[index].value);
    int64_t bytes = size_bytes(value.dtype);
    for (const int64_t extent : value.extents) bytes *= extent;
    if (buffer.inside.valid()) return;  // it lies in one that is checked
    if (buffer.offset + buffer.bytes > bytes) report("it ends behind the {} bytes there", bytes);
  }

  void check_kernel(const Kernel& kernel) {
    place_ = fmt::format("kernel {}: ", kernel.name);
    require(!kernel.name.empty() && is_identifier(kernel.name), "the name is no identifier");
    require(kernel.block > 0 && kernel.min_blocks_per_sm >= 0 && kernel.cluster > 0,
            "an empty block");
    require(kernel.shared_bytes >= 0 && kernel.counters >= 0, "a negative size");
    require(!kernel.parts.empty(), "no part");
    for (const Part& part : kernel.parts) {
      require(part.blocks > 0 && !part.stages.empty(), "a part without blocks or stages");
      for (const Stage& stage : part.stages) check_stage(kernel, stage);
    }
    for (const auto& [value, places] : kernel.places) {
      for (const Place& place : places) check_place(kernel, place);
    }
    for (const Kernel& twin : kernel.twin) check_kernel(twin);
  }

  static bool is_identifier(const std::string& name) {
    return std::all_of(name.begin(), name.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    });
  }

  void check_stage(const Kernel& kernel, const Stage& stage) {
    const StageMapping& m = stage.mapping;
    require(m.threads_per_row > 0 && m.row_threads > 0 && m.rows_per_thread > 0 && m.passes > 0 &&
                m.grid_x > 0 && m.grid_y > 0,
            "a mapping with a number below 1");
    const bool in_rows = m.kind == MappingKind::kRow || m.kind == MappingKind::kColumn ||
                         m.kind == MappingKind::kLoop;
    const int64_t rows = point_count(plan_.graph.pool, m.rows);
    if (in_rows && m.grid_x * m.passes * m.row_threads * m.rows_per_thread < rows) {
      report("its blocks leave some of {} rows out", rows);
    }
    const bool counts =
        stage.before != Separation::kNone && stage.before != Separation::kClusterBarrier;
    require(!counts || (stage.counter >= 0 && stage.counter < kernel.counters),
            "a separation without a counter");
    require(stage.flag_offset < 0 || stage.flag_offset + 4 <= kernel.shared_bytes,
            "a flag behind the shared memory");
    if (m.kind == MappingKind::kContraction) check_tile(stage.contraction);
    for (const Group& group : stage.groups) check_group(kernel, group);
  }

  void check_tile(const ContractionMapping& tile) {
    require(tile.tile_m > 0 && tile.tile_n > 0 && tile.tile_k > 0 && tile.thread_m > 0 &&
                tile.thread_n > 0 && tile.shared_m >= 0 && tile.shared_n >= 0,
            "a tile with a number below 1");
    require(tile.m_operand == 0 || tile.m_operand == 1, "a tile without its operand");
    require(tile.pitch_m >= tile.tile_m && tile.pitch_n >= tile.tile_n,
            "a tile wider than its pitch");
  }

  void check_group(const Kernel& kernel, const Group& group) {
    const GroupMapping& m = group.mapping;
    require(m.threads > 0 && m.vector > 0, "a group with a number below 1");
    if (m.vector > 1 && !m.columns.empty()) {
      const int64_t innermost = plan_.graph.pool.atom(m.columns.back()).extent;
      if (innermost % m.vector != 0) {
        report("a vector of {} does not divide {} columns", m.vector, innermost);
      }
    }
    for (const Root& root : group.roots) {
      require(root.slot_offset < 0 || root.slot_offset + root.slot_bytes <= kernel.shared_bytes,
              "a slot behind the shared memory");
      const AccessNodeId producer = plan_.graph.value(root.value).producer;
      const bool has_node = producer.valid() && !plan_.graph.node(producer).results.empty();
      if (root.kind == RootKind::kStore) {
        check_store(root);
      } else if (!has_node) {
        report("v{} is computed by no node of the plan", root.value.index);
      }
    }
  }

  void check_store(const Root& root) {
    if (!root.buffer.valid()) {  // kernel_check.h reports it
      stores_are_known_ = false;
      return;
    }
    const Buffer& buffer = plan_.buffers[root.buffer.index];
    if (root.index.size() != buffer.extents.size()) {
      report("{} has {} dims and is stored at {} indices", buffer.name, buffer.extents.size(),
             root.index.size());
    }
    require(buffer.kind != BufferKind::kInput && buffer.kind != BufferKind::kConstant,
            "a store to what is only read");
    if (plan_.graph.value(root.value).dtype != buffer.dtype) {
      report("{} holds another type than v{}", buffer.name, root.value.index);
    }
  }

  void check_place(const Kernel& kernel, const Place& place) {
    require(place.axes.size() == place.strides.size(), "a place with strides of another rank");
    switch (place.kind) {
      case PlaceKind::kShared:
      case PlaceKind::kCluster:
        require(place.offset >= 0 && place.offset < std::max<int64_t>(kernel.shared_bytes, 1),
                "a place behind the shared memory");
        break;
      case PlaceKind::kScratch:
        require(
            place.buffer.valid() && plan_.buffers[place.buffer.index].kind == BufferKind::kScratch,
            "a place without its scratch buffer");
        break;
      case PlaceKind::kRegister:
      case PlaceKind::kRegisterArray:
      case PlaceKind::kFragment:
        break;
    }
  }

  void check_call(const MatmulLayout& l) {
    place_ = fmt::format("the call of n{}: ", l.node.index);
    if (l.m < 0 || l.n < 0 || l.k < 0) return report("a negative size");
    check_matrix("a", l.a, {l.m, l.k}, l.batch, &MatmulBatch::stride_a);
    check_matrix("b", l.b, {l.k, l.n}, l.batch, &MatmulBatch::stride_b);
    check_matrix("d", l.d, {l.m, l.n}, l.batch, &MatmulBatch::stride_d);
    if (l.c.value.valid()) {
      check_matrix("c", l.c, {l.m, l.n}, l.batch, &MatmulBatch::stride_c);
      require(l.c.column_major == l.d.column_major, "what is added is not stored as the result is");
    }
    if (!l.bias.valid()) return;
    const int64_t elements = elements_of(l.bias);
    require(l.bias_offset >= 0 && l.bias_offset + l.n <= elements, "the bias ends behind its row");
  }

  struct MatrixSize {
    int64_t rows, columns;
  };
  void check_matrix(const char* which, const MatmulMatrix& matrix, MatrixSize size,
                    const std::vector<MatmulBatch>& batch, int64_t MatmulBatch::*stride) {
    if (size.rows == 0 || size.columns == 0) return;
    const int64_t inner = matrix.column_major ? size.rows : size.columns;
    const int64_t outer = matrix.column_major ? size.columns : size.rows;
    int64_t last = matrix.offset + (outer - 1) * matrix.leading_dimension + inner - 1;
    for (const MatmulBatch& level : batch) {
      if (level.count < 1 || level.*stride < 0) return report("a batch below 1");
      last += (level.count - 1) * level.*stride;
    }
    const int64_t elements = elements_of(matrix.value);
    if (matrix.offset < 0 || matrix.leading_dimension < 1 || last >= elements) {
      report("matrix {} ends behind the {} elements of v{}", which, elements, matrix.value.index);
    }
  }

  // Of the buffer that holds the value; 0 where none does.
  int64_t elements_of(AccessValueId value) const {
    for (const Buffer& buffer : plan_.buffers) {
      if (buffer.value == value) return buffer.bytes / size_bytes(buffer.dtype);
    }
    return 0;
  }

  // Whatever is read has been written, and every output is.
  void check_order() {
    BufferLookup lookup(plan_);
    std::vector<bool> written(plan_.buffers.size(), false);
    lives_.resize(plan_.buffers.size());
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      const Kernel* const kernel = std::get_if<Kernel>(&plan_.steps[s]);
      place_ = kernel != nullptr ? fmt::format("kernel {}: ", kernel->name) : "a library call: ";
      const StepBuffers used = lookup.of(plan_.steps[s]);
      // Kernels of a twin read what the ones before them have written.
      for (const BufferId id : used.writes) written[id.index] = true;
      for (const BufferId id : used.reads) {
        const BufferKind kind = plan_.buffers[id.index].kind;
        const bool by_steps = kind == BufferKind::kArena || kind == BufferKind::kOutput;
        if (by_steps && !written[id.index] && plan_.buffers[id.index].bytes > 0) {
          report("it reads {} before a step has written it", plan_.buffers[id.index].name);
        }
        extend_life(id, s);
      }
      for (const BufferId id : used.writes) extend_life(id, s);
    }
    place_.clear();
    for (size_t b = 0; b < plan_.buffers.size(); ++b) {
      const Buffer& buffer = plan_.buffers[b];
      if (buffer.kind == BufferKind::kOutput && !written[b] && buffer.bytes > 0) {
        report("no step writes the output {}", buffer.name);
      }
    }
  }

  struct Life {
    bool used = false;
    size_t first = 0, last = 0;  // steps
  };

  void extend_life(BufferId id, size_t step) {
    while (plan_.buffers[id.index].inside.valid()) id = plan_.buffers[id.index].inside;
    Life& life = lives_[id.index];
    if (!life.used) life = {true, step, step};
    life.last = step;
  }

  // Two buffers that share bytes of the workspace are never in use at once.
  void check_lives() {
    std::vector<size_t> order;
    for (size_t b = 0; b < plan_.buffers.size(); ++b) {
      const BufferKind kind = plan_.buffers[b].kind;
      const bool in_workspace = kind == BufferKind::kArena || kind == BufferKind::kScratch;
      if (in_workspace && lives_[b].used && plan_.buffers[b].bytes > 0) order.push_back(b);
    }
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return plan_.buffers[a].offset < plan_.buffers[b].offset;
    });
    for (size_t i = 0; i < order.size(); ++i) {
      const Buffer& first = plan_.buffers[order[i]];
      for (size_t j = i + 1; j < order.size(); ++j) {
        const Buffer& second = plan_.buffers[order[j]];
        if (second.offset >= first.offset + first.bytes) break;
        const Life& a = lives_[order[i]];
        const Life& b = lives_[order[j]];
        if (a.first <= b.last && b.first <= a.last) {
          report("buffers {} and {} share bytes while both are in use", first.name, second.name);
        }
      }
    }
  }

  const Plan& plan_;
  std::vector<std::string>& problems_;
  std::string place_;
  bool stores_are_known_ = true;
  std::vector<Life> lives_;  // by buffer
};

}  // namespace

void check_numbers(const Plan& plan, std::vector<std::string>& problems) {
  NumberCheck(plan, problems).run();
}

}  // namespace stitch
