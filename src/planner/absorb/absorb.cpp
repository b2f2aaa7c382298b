#include "planner/absorb/absorb.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "planner/absorb/absorb_bias.h"
#include "planner/absorb/absorb_copies.h"
#include "planner/absorb/absorb_residual.h"
#include "planner/absorb/absorb_scale.h"
#include "planner/absorb/epilogue_gain.h"
#include "planner/access/regions.h"

namespace stitch {
namespace {

// Shares of the peak that products reach: the library's, and those of own kernels, which do without
// tensor cores. Guesses, uncalibrated.
constexpr double kLibraryShare = 0.7;
constexpr double kOwnShare = 0.4;
// Results of a block of an own kernel (kernel/contraction_kernel.cpp): it sums them whole, while the
// library may split long sums over blocks.
constexpr int64_t kOwnTile = 64 * 64;

struct Price {
  double own_us = 0, library_us = 0;
};

int64_t points(const IndexPool& pool, const std::vector<AtomId>& atoms) {
  int64_t product = 1;
  for (const AtomId atom : atoms) product *= pool.atom(atom).extent;
  return product;
}

Price price_of(const AccessGraph& graph, const AccessNode& node, const DeviceModel& device) {
  const double operations = 2.0 * static_cast<double>(points(graph.pool, node.axes)) *
                            static_cast<double>(points(graph.pool, node.reduced));
  const bool half = is_half(graph.value(node.results[0]).dtype);
  const double library = half ? device.matmul_f16_tflops : device.matmul_f32_tflops;
  Price price;
  price.own_us = device.launch_us + operations / (kOwnShare * device.matmul_f32_tflops * 1e6);
  price.library_us = device.launch_us + operations / (kLibraryShare * library * 1e6);
  return price;
}

// Only the library adds to a product and scales it: such a product must keep its library form.
constexpr int kNeverRank = 1000;

// Lower is better: a call, several calls, no library form at all.
int layout_rank(const AccessGraph& graph, AccessNodeId node) {
  if (graph.node(node).op != Op::k_matmul) return 0;
  const auto found = matmul_layout(graph, node);
  const auto* layout = std::get_if<MatmulLayout>(&found);
  if (layout == nullptr) return needs_library(graph.node(node)) ? kNeverRank : 4;
  return layout->calls() > 1 ? 1 : 0;
}

// Strides of a value whose dims lie in memory in the order `order`, outer first.
std::vector<int64_t> strides_in_order(const std::vector<int64_t>& extents,
                                      const std::vector<size_t>& order) {
  std::vector<int64_t> strides(extents.size(), 1);
  int64_t step = 1;
  for (size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = step;
    step *= extents[order[i]];
  }
  return strides;
}

class StorageChooser {
 public:
  explicit StorageChooser(AccessGraph& graph) : graph_(graph), readers_(readers_of(graph)) {
    is_output_.assign(graph.values.size(), false);
    for (const AccessOutput& output : graph.outputs) is_output_[output.value.index] = true;
  }

  void choose(AccessValueId id) {
    AccessValue& value = graph_.values[id.index];
    if (value.kind != AccessValueKind::kNode || is_output_[id.index]) return;
    std::vector<AccessNodeId> touched = readers_[id.index];
    const auto is_contraction = [&](AccessNodeId node) {
      return graph_.node(node).kind == AccessKind::kContraction;
    };
    if (touched.empty() || !std::all_of(touched.begin(), touched.end(), is_contraction)) return;
    const bool computed_by_contraction = is_contraction(value.producer);
    if (computed_by_contraction) touched.push_back(value.producer);

    const size_t dims = value.extents.size();
    if (dims < 2 || dims > kMostDims) return;
    // The innermost dim stays if it can; what a loop over elements writes is contiguous then.
    int best = rank(touched);
    try_orders(value, touched, dims - 1, best);
    if (computed_by_contraction) try_orders(value, touched, dims, best);
  }

 private:
  static constexpr size_t kMostDims = 5;

  // Permutes the outer `moving` dims while that makes the layouts of `touched` better than `best`.
  void try_orders(AccessValue& value, const std::vector<AccessNodeId>& touched, size_t moving,
                  int& best) const {
    std::vector<size_t> order(value.extents.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::vector<int64_t> best_strides = value.strides;
    const auto end = order.begin() + static_cast<std::ptrdiff_t>(moving);
    while (best > 0 && std::next_permutation(order.begin(), end)) {
      value.strides = strides_in_order(value.extents, order);
      if (const int found = rank(touched); found < best) {
        best = found;
        best_strides = value.strides;
      }
    }
    value.strides = best_strides;
  }

  int rank(const std::vector<AccessNodeId>& nodes) const {
    int sum = 0;
    for (const AccessNodeId node : nodes) sum += layout_rank(graph_, node);
    return sum;
  }

  AccessGraph& graph_;
  std::vector<std::vector<AccessNodeId>> readers_;
  std::vector<bool> is_output_;
};

// Operands whose copies make a library call that beats an own kernel.
std::vector<OperandCopy> worthwhile_copies(const AccessGraph& graph, const DeviceModel& device) {
  std::vector<OperandCopy> copies;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const AccessNode& node = graph.nodes[n];
    if (node.kind != AccessKind::kContraction) continue;
    const auto found = matmul_layout(graph, AccessNodeId(n));
    const auto* none = std::get_if<NoMatmulLayout>(&found);
    if (none == nullptr || none->operand < 0 || needs_library(node)) continue;
    const size_t operand = static_cast<size_t>(none->operand);
    const std::vector<AtomId> atoms = operand_atoms(graph, node, operand);
    const AccessValueId source = node.operands[operand].pieces[0].source;
    const double bytes = static_cast<double>(points(graph.pool, atoms)) *
                         static_cast<double>(size_bytes(graph.value(source).dtype));
    const double copy_us = device.launch_us + 2 * bytes / (device.dram_gbps * 1e3);
    const Price price = price_of(graph, node, device);
    if (price.library_us + copy_us < price.own_us) copies.push_back({AccessNodeId(n), operand});
  }
  return copies;
}

// `saved_bytes`: what an epilogue saves.
ContractionChoice choose(const AccessGraph& graph, AccessNodeId id, const DeviceModel& device,
                         const LibraryDecision& decided, int64_t saved_bytes) {
  ContractionChoice choice;
  choice.node = id;
  const auto found = matmul_layout(graph, id);
  if (const auto* none = std::get_if<NoMatmulLayout>(&found)) {
    choice.reason = none->reason;
    return choice;
  }
  choice.layout = std::get<MatmulLayout>(found);
  const std::optional<bool> known = decided ? decided(graph.node(id)) : std::nullopt;
  if (known && (*known || !needs_library(graph.node(id)))) {
    choice.library = *known;
    choice.reason = "as in the plan that is rebuilt";
    return choice;
  }
  if (choice.layout.m == 1 || choice.layout.n == 1) {
    choice.reason = "a product with a vector is a reduction, which its neighbours can share";
    return choice;
  }
  const Price price = price_of(graph, graph.node(id), device);
  const int64_t calls = choice.layout.calls();
  const double library_us = price.library_us + static_cast<double>(calls - 1) * device.launch_us;
  if (calls > 1 && library_us >= price.own_us && !needs_library(graph.node(id))) {
    choice.reason = fmt::format("its batch has no single stride and would take {} calls", calls);
    return choice;
  }
  const double saved_us = device.launch_us + static_cast<double>(saved_bytes) / 1e3 /
                                                 (device.reachable_share * device.dram_gbps);
  const int64_t blocks = (choice.layout.m * choice.layout.n - 1) / kOwnTile + 1;
  const bool fills_device = blocks >= device.sm_count;
  if (saved_bytes > 0 && fills_device && price.own_us < library_us + saved_us &&
      !needs_library(graph.node(id))) {
    choice.reason = "its epilogue saves more than the library is faster";
    return choice;
  }
  choice.library = true;
  choice.reason = calls > 1 ? fmt::format("strided, in {} calls", calls) : "strided, in one call";
  return choice;
}

}  // namespace

double library_us(const AccessGraph& graph, const MatmulLayout& layout, const DeviceModel& device) {
  const auto bytes = [&](AccessValueId value, int64_t rows, int64_t columns) {
    return static_cast<double>(rows * columns * size_bytes(graph.value(value).dtype));
  };
  double moved = bytes(layout.a.value, layout.m, layout.k) +
                 bytes(layout.b.value, layout.k, layout.n) +
                 bytes(layout.d.value, layout.m, layout.n);
  for (const MatmulBatch& batch : layout.batch) moved *= static_cast<double>(batch.count);
  const double memory_us = moved / 1e3 / (device.reachable_share * device.dram_gbps);
  const double compute_us =
      price_of(graph, graph.node(layout.node), device).library_us - device.launch_us;
  return static_cast<double>(layout.calls()) * device.launch_us + std::max(compute_us, memory_us);
}

std::vector<ContractionChoice> absorb_layouts(AccessGraph& graph, const DeviceModel& device,
                                              const LibraryDecision& decided, bool own_epilogues) {
  write_copies_directly(graph);
  std::vector<std::vector<AccessNodeId>> readers;
  const auto look_again = [&] {
    if (own_epilogues) readers = readers_of(graph);
  };
  const auto chosen = [&](AccessNodeId node) {
    const int64_t saved_bytes = own_epilogues ? epilogue_gain(graph, readers, node) : 0;
    return choose(graph, node, device, decided, saved_bytes);
  };
  const auto is_library = [&](AccessNodeId node) { return chosen(node).library; };
  look_again();
  fold_operand_scales(graph, is_library);
  look_again();
  fold_bias_adds(graph, is_library);
  StorageChooser storage(graph);
  for (size_t v = 0; v < graph.values.size(); ++v) storage.choose(AccessValueId(v));
  look_again();
  fold_residual_adds(graph, is_library);
  // A copy of one operand may show that the other needs one too.
  for (int round = 0; round < 2; ++round) {
    insert_operand_copies(graph, worthwhile_copies(graph, device));
  }
  set_depths(graph);
  look_again();
  std::vector<ContractionChoice> choices;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (graph.nodes[n].kind == AccessKind::kContraction) choices.push_back(chosen(AccessNodeId(n)));
  }
  return choices;
}

}  // namespace stitch
