#include "emulator/driver/kernel_launch.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>

#include "emulator/check/checked_launch.h"
#include "emulator/device/running_launch.h"
#include "emulator/driver/entry_point.h"

namespace stitch::emulator {
namespace {

constexpr unsigned kMaxGridX = 0x7fffffffu;
constexpr unsigned kMaxGridYz = 65535u;
constexpr unsigned kMaxBlockZ = 64u;
constexpr int kReservedSharedPerBlock = 1024;  // by the system, from sm_80 on
constexpr int kWarp = 32;

std::uint64_t volume(const Extent& extent) { return std::uint64_t{extent.x} * extent.y * extent.z; }

// The values of a launch's arguments, which CUDA copies before it returns.
class ArgumentCopy {
 public:
  ArgumentCopy(const KernelRecord& record, void** arguments) {
    std::size_t bytes = 0;
    for (unsigned i = 0; i < record.argument_count; ++i) bytes += aligned(record.argument_bytes[i]);
    values_.resize(bytes / sizeof(std::max_align_t));
    auto* place = reinterpret_cast<unsigned char*>(values_.data());
    for (unsigned i = 0; i < record.argument_count; ++i) {
      std::memcpy(place, arguments[i], record.argument_bytes[i]);
      pointers_.push_back(place);
      place += aligned(record.argument_bytes[i]);
    }
  }
  ArgumentCopy(const ArgumentCopy&) = delete;
  ArgumentCopy& operator=(const ArgumentCopy&) = delete;
  void** pointers() { return pointers_.data(); }

 private:
  static std::size_t aligned(std::size_t bytes) {
    constexpr std::size_t kUnit = sizeof(std::max_align_t);
    return (bytes + kUnit - 1) / kUnit * kUnit;
  }
  std::vector<std::max_align_t> values_;
  std::vector<void*> pointers_;
};

unsigned host_threads(const Settings& settings) {
  if (settings.host_threads != 0) return settings.host_threads;
  return std::max(1u, std::thread::hardware_concurrency());
}

CUresult run_now(DeviceState& state, Function& function, const LaunchShape& shape,
                 ArgumentCopy& arguments) {
  const ImageVariant variant =
      state.settings.observes() ? ImageVariant::kChecked : ImageVariant::kPlain;
  const LoadedObject* object = function.module->variant(variant);
  if (object == nullptr) {
    state.reports.push_back({ReportKind::kUsage,
                             function.name,
                             variant == ImageVariant::kChecked
                                 ? "the host image has no checked variant: the kernel was not run"
                                 : "the host image has no plain variant: the kernel was not run",
                             {},
                             {},
                             {},
                             {}});
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  Launch launch;
  launch.kernel = object->find(function.name);
  launch.grid = shape.grid;
  launch.block = shape.block;
  launch.shared_bytes = shape.shared_bytes;
  launch.cluster = static_cast<unsigned>(volume(shape.cluster));
  launch.cooperative = shape.cooperative;
  launch.arguments = arguments.pointers();
  const auto threads = static_cast<int>(volume(shape.block));
  launch.resident_blocks = static_cast<std::uint64_t>(state.model->multiprocessors) *
                           static_cast<std::uint64_t>(resident_blocks(*state.model, function,
                                                                      threads, shape.shared_bytes));

  const Schedule schedule{state.settings.order, state.settings.seed, host_threads(state.settings)};
  ++state.calls.kernel_launches;
  KernelCounts counts;
  counts.name = function.name;
  const std::uint64_t launched = volume(shape.grid);
  ++counts.launches;
  counts.blocks += launched;
  counts.threads += launched * volume(shape.block);
  const auto begin = std::chrono::steady_clock::now();
  bool completed = false;
  if (state.settings.observes()) {
    CheckedLaunch checker(*state.memory, state.log,
                          {.check = state.settings.check, .count = state.settings.count});
    completed = run_launch(launch, schedule, &checker, state.resources, state.log, counts.events);
    counts.traffic += checker.traffic();
  } else {
    completed = run_launch(launch, schedule, nullptr, state.resources, state.log, counts.events);
  }
  counts.host_seconds +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  state.counts_of(function.name) += counts;
  if (state.settings.count) state.launches.push_back(std::move(counts));
  state.keep_reports();
  return completed ? CUDA_SUCCESS : CUDA_ERROR_LAUNCH_FAILED;
}

}  // namespace

int resident_blocks(const DeviceModel& model, const Function& function, int block_threads,
                    std::size_t shared_bytes) {
  if (block_threads <= 0 || block_threads > kMaxThreadsPerBlock) return 0;
  const int whole_warps = (block_threads + kWarp - 1) / kWarp * kWarp;
  int blocks =
      std::min(model.blocks_per_multiprocessor, model.threads_per_multiprocessor / whole_warps);
  const std::size_t reserved = model.major >= 8 ? kReservedSharedPerBlock : 0;
  if (shared_bytes > static_cast<std::size_t>(model.shared_opt_in_per_block)) return 0;
  if (shared_bytes + reserved > 0)
    blocks = std::min(blocks,
                      static_cast<int>(static_cast<std::size_t>(model.shared_per_multiprocessor) /
                                       (shared_bytes + reserved)));
  // Registers are not known on the host: the compiler keeps to what the launch bounds promise.
  const KernelRecord& record = *function.record;
  if (record.max_block_threads != 0 && record.min_blocks != 0)
    blocks = std::min(blocks,
                      static_cast<int>(record.max_block_threads * record.min_blocks) / whole_warps);
  return blocks;
}

CUresult check_launch(const DeviceState& state, const Function& function,
                      const LaunchShape& shape) {
  const DeviceModel& model = *state.model;
  const KernelRecord& record = *function.record;
  const Extent &grid = shape.grid, &block = shape.block;
  if (volume(grid) == 0 || volume(block) == 0) return CUDA_ERROR_INVALID_VALUE;
  if (grid.x > kMaxGridX || grid.y > kMaxGridYz || grid.z > kMaxGridYz)
    return CUDA_ERROR_INVALID_VALUE;
  const auto limit = static_cast<unsigned>(kMaxThreadsPerBlock);
  if (block.x > limit || block.y > limit || block.z > kMaxBlockZ || volume(block) > limit)
    return CUDA_ERROR_INVALID_VALUE;
  if (record.max_block_threads != 0 && volume(block) > record.max_block_threads)
    return CUDA_ERROR_INVALID_VALUE;
  if (shape.shared_bytes > static_cast<unsigned>(function.max_dynamic_shared))
    return CUDA_ERROR_INVALID_VALUE;
  const std::uint64_t cluster = volume(shape.cluster);
  if (cluster > 1) {
    if (model.major < 9) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    const unsigned most = function.non_portable_cluster != 0 ? 16u : unsigned{kMaxClusterBlocks};
    if (cluster > most) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    if (shape.cluster.y != 1 || shape.cluster.z != 1) return CUDA_ERROR_NOT_SUPPORTED;
    if (grid.x % shape.cluster.x != 0) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  }
  if (record.cluster_x != 0 &&
      (record.cluster_x != shape.cluster.x || record.cluster_y != shape.cluster.y ||
       record.cluster_z != shape.cluster.z))
    return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  if (shape.cooperative) {
    const int per_multiprocessor =
        resident_blocks(model, function, static_cast<int>(volume(block)), shape.shared_bytes);
    if (volume(grid) > static_cast<std::uint64_t>(per_multiprocessor) *
                           static_cast<std::uint64_t>(model.multiprocessors))
      return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
  }
  return CUDA_SUCCESS;
}

CUresult launch_kernel(DeviceState& state, Function& function, const LaunchShape& shape,
                       CUstream stream, void** arguments) {
  const CUresult verdict = check_launch(state, function, shape);
  if (verdict != CUDA_SUCCESS) return verdict;
  if (function.record->argument_count != 0 && arguments == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto copy = std::make_shared<ArgumentCopy>(*function.record, arguments);
  return submit(state, stream, CU_GRAPH_NODE_TYPE_KERNEL, [&state, &function, shape, copy] {
    return run_now(state, function, shape, *copy);
  });
}

}  // namespace stitch::emulator
