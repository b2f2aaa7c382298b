#include "emit_cuda/emit_kernel.h"

#include <fmt/format.h>

#include <algorithm>

#include "emit_cuda/code_writer.h"
#include "emit_cuda/cuda_types.h"
#include "emit_cuda/device_files.h"
#include "emit_cuda/kernel_context.h"
#include "emit_cuda/kernel_header.h"
#include "emit_cuda/stage_emitter.h"
#include "emit_cuda/unused_variables.h"
#include "graph/error.h"
#include "planner/report/kernel_facts.h"

namespace stitch {
namespace {

constexpr int64_t kLargestGridY = 65535;
constexpr int64_t kCounterWords = 8;  // one sector per counter

struct Launch {
  int64_t grid_x = 1, grid_y = 1;
  bool flat = true;  // blockIdx.x counts all blocks
};

// blockIdx.y carries the block axes where every stage sees the same grid.
Launch launch_of(const Kernel& kernel) {
  Launch launch;
  if (kernel.cluster > 1) return {kernel.parts.front().blocks, 1, true};
  if (kernel.parts.size() == 1) {
    const Part& part = kernel.parts.front();
    const StageMapping& first = part.stages.front().mapping;
    bool same = first.grid_y <= kLargestGridY;
    for (const Stage& stage : part.stages) {
      if (stage.before == Separation::kTicket) break;  // what follows runs in one of those blocks
      same = same && stage.mapping.grid_x == first.grid_x && stage.mapping.grid_y == first.grid_y;
    }
    if (same && first.grid_x * first.grid_y == part.blocks) {
      return {first.grid_x, first.grid_y, false};
    }
  }
  launch.grid_x = 0;
  for (const Part& part : kernel.parts) launch.grid_x += part.blocks;
  return launch;
}

class KernelEmitter {
 public:
  KernelEmitter(const EmittedPlan& emitted, const Kernel& kernel)
      : kernel_(kernel), context_(emitted, kernel) {}

  KernelSource emit() {
    if (kernel_.parts.empty()) {
      throw InternalError(fmt::format("kernel {} has no parts", kernel_.name));
    }
    const Launch launch = launch_of(kernel_);
    const std::string body = kernel_.parts.size() == 1 ? single_part(launch) : packed_parts();
    KernelSource source;
    source.name = kernel_.name;
    for (const KernelArgument& argument : ordered_arguments()) {
      source.parameters.push_back(
          {argument.buffer, argument.name, argument.written, argument.first});
    }
    if (kernel_.counters > 0) source.parameters.push_back({BufferId(), "counters", true, 0});
    source.text = kernel_header(context_);
    for (const std::string& file : device_files_of(body)) {
      source.text += "#include \"" + file + "\"\n";
    }
    source.device_files = with_included(device_files_of(body));
    source.text += "\n";
    for (const KernelContext::Constant& c : used_constants(body)) {
      source.text += fmt::format("constexpr int {} = {};\n", c.name, c.expression);
    }
    source.text += body;
    source.grid_x = launch.grid_x;
    source.grid_y = launch.grid_y;
    source.block = kernel_.block;
    source.min_blocks_per_sm = kernel_.min_blocks_per_sm;
    source.shared_bytes = kernel_.shared_bytes;
    source.cluster = kernel_.cluster;
    source.cooperative = kernel_.cooperative;
    source.counter_words = kernel_.counters * kCounterWords;
    source.nodes = node_names(context_.graph(), kernel_);
    return source;
  }

 private:
  // Shapes first, then what follows from them; constants that nothing refers to are left out.
  std::vector<KernelContext::Constant> used_constants(const std::string& body) const {
    std::vector<KernelContext::Constant> constants = context_.constants();
    const auto is_used = [&](const KernelContext::Constant& c) {
      return mentions(body, c.name) ||
             std::any_of(constants.begin(), constants.end(),
                         [&](const auto& other) { return mentions(other.expression, c.name); });
    };
    for (size_t before = 0; before != constants.size();) {
      before = constants.size();
      for (size_t i = constants.size(); i-- > 0;) {
        if (!is_used(constants[i])) {
          constants.erase(constants.begin() + static_cast<std::ptrdiff_t>(i));
        }
      }
    }
    std::stable_partition(constants.begin(), constants.end(), [](const auto& c) {
      constexpr const char* kShapes[] = {"kRows", "kCols", "kElements", "kDepth", "kInnerRows"};
      const std::string stem = c.name.substr(0, c.name.find_last_not_of("0123456789") + 1);
      return std::find(std::begin(kShapes), std::end(kShapes), stem) != std::end(kShapes);
    });
    return constants;
  }

  std::string bounds() const {
    const std::string block = "kBlock";
    const std::string cluster = kernel_.cluster > 1 ? "__cluster_dims__(kCluster, 1, 1) " : "";
    return cluster + (kernel_.min_blocks_per_sm > 0 ? fmt::format("__launch_bounds__({}, {})",
                                                                  block, kernel_.min_blocks_per_sm)
                                                    : fmt::format("__launch_bounds__({})", block));
  }

  std::string single_part(const Launch& launch) {
    context_.constant("kBlock", kernel_.block);
    BlockNumbers numbers;
    if (kernel_.cluster > 1) {
      numbers = numbers_in_cluster();
    } else if (launch.flat) {
      numbers = numbers_in_grid("blockIdx.x", kernel_.parts.front().stages.front().mapping);
    }
    CodeWriter writer(1);
    PartEmitter part(context_, kernel_.parts.front(), numbers, "blockIdx.x");
    part.emit(writer);
    const std::string body = without_unused_variables(writer.text());
    return "\nextern \"C\" __global__ void " + bounds() + "\n" + signature(kernel_.name, true) +
           body + "}\n";
  }

  // The blocks of a cluster are neighbours: the parts of the same rows.
  BlockNumbers numbers_in_cluster() {
    const std::string blocks = context_.constant("kCluster", kernel_.cluster);
    if (kernel_.parts.front().stages.front().mapping.grid_x == 1) return {"0", "blockIdx.x"};
    return {"blockIdx.x / " + blocks, "blockIdx.x % " + blocks};
  }

  // Parts are functions of their own; a block runs the one that its number belongs to.
  std::string packed_parts() {
    context_.constant("kBlock", kernel_.block);
    std::vector<std::string> bodies;
    int group = 1;
    for (const Part& part : kernel_.parts) {
      CodeWriter writer(1);
      PartEmitter emitter(context_, part, numbers_in_grid("block", part.stages.front().mapping),
                          "block");
      emitter.set_first_group(group);
      emitter.emit(writer);
      group = emitter.next_group();
      bodies.push_back(without_unused_variables(writer.text()));
    }
    std::string text;
    for (size_t p = 0; p < bodies.size(); ++p) {
      text += "\nSTITCH_DEVICE void " +
              signature(fmt::format("{}_part{}", kernel_.name, p + 1), false) + bodies[p] + "}\n";
    }
    text += "\nextern \"C\" __global__ void " + bounds() + "\n" + signature(kernel_.name, true);
    std::string arguments;
    for (const KernelArgument& argument : ordered_arguments()) arguments += argument.name + ", ";
    if (kernel_.counters > 0) arguments += "counters, ";
    int64_t first = 0;
    for (size_t p = 0; p < kernel_.parts.size(); ++p) {
      const bool last = p + 1 == kernel_.parts.size();
      const std::string number = first == 0
                                     ? "static_cast<int>(blockIdx.x)"
                                     : fmt::format("static_cast<int>(blockIdx.x) - {}", first);
      const std::string call =
          fmt::format("{}_part{}({}{});", kernel_.name, p + 1, arguments, number);
      const int64_t end = first + kernel_.parts[p].blocks;
      const std::string guard = p == 0 ? fmt::format("if (blockIdx.x < {})", end)
                                : last ? "else"
                                       : fmt::format("else if (blockIdx.x < {})", end);
      text += "  " + guard + "\n    " + call + "\n";
      first = end;
    }
    return text + "}\n";
  }

  std::vector<KernelArgument> ordered_arguments() const {
    std::vector<KernelArgument> arguments = context_.arguments();
    const auto rank = [&](const KernelArgument& argument) {
      if (context_.buffer(argument.buffer).kind == BufferKind::kScratch) return 2;
      return argument.written ? 1 : 0;
    };
    std::stable_sort(
        arguments.begin(), arguments.end(),
        [&](const KernelArgument& a, const KernelArgument& b) { return rank(a) < rank(b); });
    return arguments;
  }

  // Two arguments in the same bytes of the workspace are no restricted pointers.
  bool overlaps(const KernelArgument& argument) const {
    const Buffer& a = context_.buffer(argument.buffer);
    for (const KernelArgument& other : context_.arguments()) {
      if (other.buffer == argument.buffer || (!other.written && !argument.written)) continue;
      const Buffer& b = context_.buffer(other.buffer);
      const bool same_memory = (a.kind == BufferKind::kArena || a.kind == BufferKind::kScratch) &&
                               (b.kind == BufferKind::kArena || b.kind == BufferKind::kScratch);
      if (same_memory && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes) {
        return true;
      }
    }
    return false;
  }

  // "name(const float* __restrict__ x, ...) {" over as many lines as it needs.
  std::string signature(const std::string& name, bool kernel) {
    std::vector<std::string> parameters;
    for (const KernelArgument& argument : ordered_arguments()) {
      const Buffer& buffer = context_.buffer(argument.buffer);
      const bool scratch = buffer.kind == BufferKind::kScratch;
      const bool both = argument.read && argument.written;
      const bool restricted = !scratch && !both && !overlaps(argument);
      parameters.push_back(
          fmt::format("{}{}*{} {}", argument.written || !restricted ? "" : "const ",
                      memory_type(buffer.dtype), restricted ? " __restrict__" : "", argument.name));
    }
    if (kernel_.counters > 0) parameters.push_back("unsigned* counters");
    if (!kernel) parameters.push_back("int block");
    const size_t lead = kernel ? 0 : std::string("STITCH_DEVICE void ").size();
    std::string text, line = name + "(";
    const std::string indent(std::min<size_t>(line.size() + lead, 40), ' ');
    size_t offset = lead;
    for (size_t i = 0; i < parameters.size(); ++i) {
      const std::string piece = parameters[i] + (i + 1 < parameters.size() ? ", " : ") {");
      if (offset + line.size() + piece.size() > CodeWriter::kColumns + 1) {
        while (line.ends_with(' ')) line.pop_back();
        text += line + "\n";
        line = indent;
        offset = 0;
      }
      line += piece;
    }
    if (parameters.empty()) line += ") {";
    text += line + "\n";
    if (kernel && kernel_.parts.size() > 1) return text;
    for (const std::string& declaration : context_.shared_declarations()) {
      text += "  " + declaration + "\n";
    }
    return text;
  }

  const Kernel& kernel_;
  KernelContext context_;
};

void emit_with_twins(const EmittedPlan& emitted, const Kernel& kernel,
                     std::vector<KernelSource>& sources) {
  sources.push_back(KernelEmitter(emitted, kernel).emit());
  for (const Kernel& twin : kernel.twin) emit_with_twins(emitted, twin, sources);
}

}  // namespace

std::vector<KernelSource> emit_kernels(const Plan& plan) {
  AccessGraph graph = plan.graph;  // index expressions of the emitted loops are added to its pool
  const BufferOfValue buffers = buffers_by_value(plan);
  std::vector<KernelSource> sources;
  for (const Step& step : plan.steps) {
    if (const auto* kernel = std::get_if<Kernel>(&step)) {
      emit_with_twins({plan, graph, buffers}, *kernel, sources);
    }
  }
  return sources;
}

KernelSource emit_kernel(const Plan& plan, const Kernel& kernel) {
  AccessGraph graph = plan.graph;
  const BufferOfValue buffers = buffers_by_value(plan);
  return KernelEmitter({plan, graph, buffers}, kernel).emit();
}

}  // namespace stitch
