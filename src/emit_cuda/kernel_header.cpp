#include "emit_cuda/kernel_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "emit_cuda/code_writer.h"
#include "graph/error.h"
#include "planner/report/kernel_facts.h"

namespace stitch {
namespace {

constexpr size_t kLabel = 9;  // width of the left column

// "label    text", wrapped at 100 columns under the text.
void entry(std::string& out, const std::string& label, std::string text, size_t indent = kLabel) {
  text = comment_text(text);
  const size_t room = CodeWriter::kColumns - 3 - indent;
  std::string head = label + std::string(label.size() < indent ? indent - label.size() : 1, ' ');
  while (true) {
    size_t cut = text.size();
    if (text.size() > room) {
      cut = text.rfind(' ', room);
      const size_t comma = text.rfind(',', room - 1);
      if (cut == std::string::npos && comma != std::string::npos) cut = comma + 1;
      if (cut == std::string::npos || cut == 0) cut = std::min(text.size(), room);
    }
    out += "// " + head + text.substr(0, cut) + "\n";
    if (cut == text.size()) return;
    text.erase(0, text[cut] == ' ' ? cut + 1 : cut);
    head = std::string(indent, ' ');
  }
}

std::string amount(double bytes) {
  if (bytes >= 1e6) return fmt::format("{:.{}f} MB", bytes / 1e6, bytes < 1e7 ? 2 : 1);
  if (bytes >= 1e3) return fmt::format("{:.{}f} KB", bytes / 1e3, bytes < 1e4 ? 1 : 0);
  return fmt::format("{:.0f} bytes", bytes);
}

int64_t points(const IndexPool& pool, const std::vector<AtomId>& atoms) {
  int64_t count = 1;
  for (const AtomId atom : atoms) count *= pool.atom(atom).extent;
  return count;
}

std::string count(int64_t n, const std::string& noun) {
  return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s");
}

std::string mapping_text(KernelContext& context, const Stage& stage) {
  const IndexPool& pool = context.pool();
  const StageMapping& m = stage.mapping;
  if (m.kind == MappingKind::kContraction) {
    const ContractionMapping& c = stage.contraction;
    return fmt::format(
        "ContractionMapping {} x {} x {}: block tile {} x {} x {}, {} threads of {} x {}",
        points(pool, c.m_axes), points(pool, c.n_axes), points(pool, c.k_axes), c.tile_m, c.tile_n,
        c.tile_k, c.tile_m / c.thread_m * (c.tile_n / c.thread_n), c.thread_m, c.thread_n);
  }
  int64_t columns = 1;
  int vector = m.lanes_along_rows ? m.rows_per_thread : 1;
  for (const Group& group : stage.groups) {
    columns = std::max(columns, points(pool, group.mapping.columns));
    vector = std::max(vector, group.mapping.vector);
  }
  const int64_t rows = points(pool, m.rows);
  const std::string blocks = m.grid_y == 1 ? ""
                             : context.kernel().cluster > 1
                                 ? fmt::format(", clusters of {} blocks", m.grid_y)
                             : m.grid_x == 1 ? fmt::format(", {} blocks side by side", m.grid_y)
                                             : fmt::format(", {} in blockIdx.y", m.grid_y);
  const std::string passes = m.passes > 1 ? fmt::format(", {} passes per block", m.passes) : "";
  const std::string vectors = vector > 1 ? fmt::format(", vectors of {}", vector) : "";
  switch (m.kind) {
    case MappingKind::kLoop:
      return fmt::format("LoopMapping {}: {} per block{}{}{}", count(rows, "element"),
                         count(m.row_threads, "thread"), vectors, passes, blocks);
    case MappingKind::kColumn:
      return fmt::format(
          "ColumnMapping {} x {}: {} per column, {} per block{}{}{}", count(columns, "row"),
          count(rows, "column"), count(m.threads_per_row, "thread"),
          count(m.row_threads * m.rows_per_thread, "column"), vectors, passes, blocks);
    case MappingKind::kTile:
    case MappingKind::kRow: {
      const std::string in_flight =
          m.rows_per_thread > 1 ? fmt::format(", {} rows per thread", m.rows_per_thread) : "";
      return fmt::format("{} {} x {}: {} per row{}, {} per block{}{}{}",
                         m.kind == MappingKind::kRow ? "RowMapping" : "TileMapping",
                         count(rows, "row"), count(columns, "column"),
                         count(m.threads_per_row, "thread"), in_flight,
                         count(static_cast<int64_t>(m.row_threads) * m.rows_per_thread, "row"),
                         vectors, passes, blocks);
    }
    case MappingKind::kContraction:
      break;
  }
  throw InternalError("a stage has no mapping");
}

// "max -> row_max; exp, sum -> row_sum"
std::string group_text(KernelContext& context, const Group& group) {
  std::vector<std::string> ops;
  for (const AccessNodeId id : group.nodes) {
    const AccessNode& node = context.graph().node(id);
    std::string op(name(node.op));
    if (node.op == Op::k_bitcast) op = "copy";
    if (const auto* reduce = std::get_if<ReduceAttributes>(&node.attributes)) {
      constexpr const char* kKinds[] = {"sum", "product", "min", "max"};
      op = kKinds[static_cast<size_t>(reduce->kind)];
    }
    if (ops.empty() || ops.back() != op) ops.push_back(op);
  }
  constexpr size_t kMostOps = 12;
  std::string text;
  for (size_t i = 0; i < ops.size() && i < kMostOps; ++i) text += (i > 0 ? ", " : "") + ops[i];
  if (ops.size() > kMostOps) text += fmt::format(" and {} more", ops.size() - kMostOps);
  std::string results;
  for (const Root& root : group.roots) {
    std::string result = context.wish(root.value);
    if (root.kind == RootKind::kStore) {
      const Buffer& buffer = context.buffer(root.buffer);
      result = identifier(buffer.name);
      if (result.empty()) result = "buffer";
      if (buffer.kind == BufferKind::kOutput) result += " (output)";
    }
    results += (results.empty() ? "" : ", ") + result;
  }
  return text + (text.empty() ? "-> " : " -> ") + results;
}

std::string places_text(const KernelContext& context) {
  std::set<std::string> registers, arrays, shared, cluster, scratch;
  for (const auto& [value, places] : context.kernel().places) {
    const std::string what = context.wish(value);
    for (const Place& place : places) {
      switch (place.kind) {
        case PlaceKind::kRegister:
        case PlaceKind::kFragment:
          registers.insert(what);
          break;
        case PlaceKind::kRegisterArray:
          arrays.insert(what);
          break;
        case PlaceKind::kShared:
          shared.insert(what);
          break;
        case PlaceKind::kCluster:
          cluster.insert(what);
          break;
        case PlaceKind::kScratch:
          scratch.insert(what);
          break;
      }
    }
  }
  std::string text;
  const auto add = [&](const std::set<std::string>& names, const std::string& where) {
    if (names.empty()) return;
    if (!text.empty()) text += ";  ";
    size_t n = 0;
    for (const std::string& what : names) text += (n++ > 0 ? ", " : "") + what;
    text += ": " + where;
  };
  add(arrays, "register arrays");
  add(registers, "registers");
  add(shared, "shared memory");
  add(cluster, "shared memory of every block of the cluster");
  add(scratch, "scratch");
  return text.empty() ? "nothing is kept" : text;
}

// Which arguments point into their tensors.
std::string starts_text(const KernelContext& context) {
  std::string text;
  for (const KernelArgument& argument : context.arguments()) {
    if (argument.first == 0) continue;
    text +=
        fmt::format("{}{} at element {}", text.empty() ? "" : ", ", argument.name, argument.first);
  }
  return text;
}

}  // namespace

std::string factored_names(std::vector<std::string> names) {
  std::vector<std::string> unique;
  for (std::string& name : names) {
    if (std::find(unique.begin(), unique.end(), name) == unique.end()) unique.push_back(name);
  }
  if (unique.empty()) return "none";
  if (unique.size() == 1) return unique.front();
  size_t common = unique.front().rfind('/');
  common = common == std::string::npos ? 0 : common + 1;
  for (const std::string& name : unique) {
    while (common > 0 && name.compare(0, common, unique.front(), 0, common) != 0) {
      const size_t slash = unique.front().rfind('/', common - 2);
      common = common < 2 || slash == std::string::npos ? 0 : slash + 1;
    }
  }
  if (common <= 1) {
    std::string text;
    for (const std::string& name : unique) text += (text.empty() ? "" : ", ") + name;
    return text;
  }
  std::string text = unique.front().substr(0, common) + "{";
  for (size_t i = 0; i < unique.size(); ++i) {
    text += (i > 0 ? ", " : "") + unique[i].substr(common);
  }
  return text + "}";
}

std::string kernel_header(KernelContext& context) {
  const Kernel& kernel = context.kernel();
  std::string out;
  std::string title = kernel.name;
  if (kernel.cooperative) {
    const size_t width = 60;
    title +=
        std::string(title.size() < width ? width - title.size() : 2, ' ') + "cooperative launch";
  }
  entry(out, "kernel", title);
  entry(out, "nodes", factored_names(node_names(context.graph(), kernel)));
  int group_number = 1;
  for (size_t p = 0; p < kernel.parts.size(); ++p) {
    const Part& part = kernel.parts[p];
    if (kernel.parts.size() > 1) {
      entry(out, fmt::format("part {}", p + 1),
            fmt::format("{} of its own", count(part.blocks, "block")));
    }
    for (size_t s = 0; s < part.stages.size(); ++s) {
      const Stage& stage = part.stages[s];
      switch (stage.before) {
        case Separation::kNone:
          break;
        case Separation::kTicket:
          entry(out, "ticket", "the block that arrives last goes on");
          break;
        case Separation::kRowBarrier:
          entry(out, "barrier", "between the blocks of the same rows");
          break;
        case Separation::kGridBarrier:
          entry(out, "barrier", "all blocks");
          break;
        case Separation::kClusterBarrier:
          entry(out, "barrier", "between the blocks of a cluster");
          break;
      }
      entry(out, fmt::format("stage {}", s + 1), mapping_text(context, stage));
      for (const Group& group : stage.groups) {
        entry(out, fmt::format("  group {}", group_number++), group_text(context, group), 11);
      }
    }
  }
  entry(out, "values", places_text(context));
  if (const std::string starts = starts_text(context); !starts.empty())
    entry(out, "starts", starts);
  const ByteCounts& bytes = kernel.bytes;
  std::string moved = amount(static_cast<double>(bytes.bytes));
  moved += bytes.bytes == bytes.compulsory
               ? ": compulsory"
               : ", of which " + amount(static_cast<double>(bytes.compulsory)) + " compulsory";
  entry(out, "bytes", moved);
  const Estimate& e = kernel.estimate;
  if (e.total_us > 0) {
    const double most =
        std::max({e.memory_us, e.instruction_us, e.launch_us + e.floor_us, e.barrier_us});
    const std::string by = most == e.memory_us        ? "memory"
                           : most == e.instruction_us ? "instructions"
                           : most == e.barrier_us     ? "barriers"
                                                      : "launch and latency";
    entry(out, "limit",
          fmt::format("{}, {:.1f} us on {} (uncalibrated)", by, e.total_us, context.plan().device));
  }
  return out;
}

}  // namespace stitch
