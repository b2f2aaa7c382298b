#include "emulator/device/worker.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

namespace stitch::emulator {
namespace {

// One word in a library that is opened once: the fast model, without a call, has room for it.
__thread Worker* current_worker __attribute__((tls_model("initial-exec"))) = nullptr;

constexpr std::size_t kArenaAlignment = 128;
constexpr std::size_t kArenaRedZone = 128;      // past the end, so that a plain image does no harm
constexpr unsigned char kUndefinedByte = 0xff;  // NaN in every floating-point type
constexpr std::uint64_t kIdlePasses = 4;
constexpr std::chrono::seconds kOtherWorkersPatience{10};
constexpr std::uint32_t kLanes = stitch_simt::kWarpLanes;

Extent extent_of(std::uint64_t linear, const Extent& in) {
  return {static_cast<unsigned>(linear % in.x), static_cast<unsigned>(linear / in.x % in.y),
          static_cast<unsigned>(linear / in.x / in.y)};
}

}  // namespace

Worker::Worker(RunningLaunch& running, StackPool& stacks)
    : running_(running),
      launch_(running.launch),
      observer_(running.observer),
      threads_per_block_(launch_.block.x * launch_.block.y * launch_.block.z),
      stacks_(stacks),
      random_state_(running.schedule.seed * 0x9e3779b97f4a7c15ull + 0x2545f4914f6cdd1dull) {}

Worker::~Worker() = default;

Worker& Worker::current() { return *current_worker; }

// xorshift64*, Vigna 2016.
std::uint64_t Worker::random() {
  random_state_ ^= random_state_ >> 12;
  random_state_ ^= random_state_ << 25;
  random_state_ ^= random_state_ >> 27;
  return random_state_ * 0x2545f4914f6cdd1dull;
}

// -- which blocks run --------------------------------------------------------------------------

bool Worker::has_more_clusters() const {
  return running_.next_cluster.load(std::memory_order_relaxed) * launch_.cluster < running_.blocks;
}

std::uint64_t Worker::take_cluster() {
  const std::uint64_t clusters = running_.blocks / launch_.cluster;
  const std::uint64_t position = running_.next_cluster.fetch_add(1);
  if (position >= clusters) return clusters;
  switch (running_.schedule.order) {
    case Order::kAscending:
      return position;
    case Order::kDescending:
      return clusters - 1 - position;
    case Order::kRandom:
      return running_.shuffled_clusters[position];
  }
  return clusters;
}

void Worker::run() {
  current_worker = this;
  const std::uint64_t clusters = running_.blocks / launch_.cluster;
  std::uint64_t idle_passes = 0, progress_before = 0;
  bool admit_more = true;
  while (!running_.aborted) {
    if (admit_more || launch_.cooperative) {
      do {
        const std::uint64_t cluster = take_cluster();
        if (cluster >= clusters) break;
        admit(cluster);
      } while (launch_.cooperative);
    }
    if (live_.empty()) break;
    for (std::size_t i = 0; i < live_.size() && !running_.aborted;) {
      ClusterSlot& slot = *live_[i];
      bool ended = true;
      for (const auto& block : slot.blocks) {
        if (running_.aborted) break;
        if (block->alive != 0) resume(*block);
        ended = ended && block->alive == 0;
      }
      if (ended && !running_.aborted) {
        free_.push_back(std::move(live_[i]));
        live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        ++i;
      }
    }
    admit_more = live_.empty();
    if (!live_.empty() && !running_.aborted && waits_in_vain(idle_passes, progress_before))
      admit_more = true;
  }
  block_ = nullptr;
  thread_ = nullptr;
  current_worker = nullptr;
}

bool Worker::waits_in_vain(std::uint64_t& idle_passes, std::uint64_t& progress_before) {
  const std::uint64_t progress = running_.progress.load(std::memory_order_relaxed);
  idle_passes = progress == progress_before ? idle_passes + 1 : 0;
  progress_before = progress;
  if (idle_passes < kIdlePasses) return false;
  // Everything that is here waits for blocks that have not begun: begin one more if it fits.
  const std::uint64_t live_blocks = live_.size() * launch_.cluster;
  if (has_more_clusters() && live_blocks + launch_.cluster <= launch_.resident_blocks) {
    idle_passes = 0;
    return true;
  }
  if (running_.schedule.host_threads > 1) {  // blocks of other workers may still get on
    const auto deadline = std::chrono::steady_clock::now() + kOtherWorkersPatience;
    while (std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
      if (running_.progress.load(std::memory_order_relaxed) != progress) return false;
    }
  }
  const Block* waiting = nullptr;
  for (const auto& slot : live_)
    for (const auto& block : slot->blocks)
      if (waiting == nullptr && block->alive != 0) waiting = block.get();
  Report report;
  report.kind = ReportKind::kDeadlock;
  report.kernel = launch_.kernel->name;
  report.message = has_more_clusters()
                       ? "blocks wait for blocks that cannot start, because no more are resident"
                       : "a grid or cluster barrier never completes";
  if (waiting != nullptr)
    report.place = {waiting->site, waiting->id,
                    waiting->spinning.empty() ? 0 : waiting->spinning.front(), true};
  running_.reports.add(std::move(report));
  running_.aborted = true;
  return false;
}

void Worker::admit(std::uint64_t cluster) {
  std::unique_ptr<ClusterSlot> slot;
  if (free_.empty()) {
    slot = std::make_unique<ClusterSlot>();
    for (unsigned i = 0; i < launch_.cluster; ++i) {
      slot->blocks.push_back(std::make_unique<Block>());
      slot->blocks.back()->slot = slots_made_++;
      const std::size_t bytes = launch_.shared_bytes + kArenaRedZone + kArenaAlignment;
      arenas_.push_back(std::make_unique_for_overwrite<unsigned char[]>(bytes));
    }
  } else {
    slot = std::move(free_.back());
    free_.pop_back();
  }
  slot->index = cluster;
  slot->cluster = Cluster();
  for (unsigned rank = 0; rank < launch_.cluster; ++rank)
    prepare(*slot->blocks[rank], static_cast<std::uint32_t>(cluster * launch_.cluster + rank),
            rank);
  live_.push_back(std::move(slot));
}

void Worker::prepare(Block& block, std::uint32_t id, unsigned rank) {
  const unsigned count = threads_per_block_;
  unsigned char* const raw = arenas_[block.slot].get();
  block.id = id;
  block.alive = count;
  block.arrived = block.epoch = block.releases = 0;
  block.site = nullptr;
  block.acquired = false;
  block.spinning.clear();
  block.seen.reset();
  block.arena = raw + (kArenaAlignment - reinterpret_cast<std::uintptr_t>(raw) % kArenaAlignment);
  std::memset(block.arena, kUndefinedByte, launch_.shared_bytes);
  block.threads.resize(count);
  block.warps.resize((count + kLanes - 1) / kLanes);
  for (Warp& warp : block.warps) {
    warp.alive = warp.ready = warp.at_barrier = warp.met = warp.mask = warp.epoch = 0;
    warp.side = 0;
    warp.acquired = false;
  }
  const Extent index = extent_of(id, launch_.grid);
  for (unsigned t = 0; t < count; ++t) {
    Thread& thread = block.threads[t];
    const std::size_t stack_number = std::size_t{block.slot} * count + t;
    unsigned char* const stack = stacks_.stack(stack_number);
    thread.linear = t;
    thread.warp = t / kLanes;
    thread.acquired.reset();
    thread.view = {extent_of(t, launch_.block),
                   index,
                   launch_.block,
                   launch_.grid,
                   t % kLanes,
                   rank,
                   block.arena};
    thread.stack = stack;
    prepare_fiber(thread.fiber, stack, &thread.view, stack_number, thread_main);
    Warp& warp = block.warps[thread.warp];
    warp.alive |= 1u << t % kLanes;
    warp.ready = warp.alive;
  }
  if (observer_ != nullptr) observer_->block_begins(block);
}

// -- which thread runs -------------------------------------------------------------------------

void Worker::resume(Block& block) {
  block_ = &block;
  for (const std::uint32_t t : block.spinning) block.warps[t / kLanes].ready |= 1u << t % kLanes;
  block.spinning.clear();
  Thread* const first = pick(block, 0);
  if (first != nullptr) {
    thread_ = first;
    switch_fiber(scheduler_, first->fiber);
  }
  if (block.alive == 0 || !block.spinning.empty() || running_.aborted) return;
  std::string what = "threads wait for each other at different places:";
  std::uint32_t at_barrier = block.arrived, in_meeting = 0;
  for (const Warp& warp : block.warps)
    in_meeting += static_cast<std::uint32_t>(__builtin_popcount(warp.met));
  what += " " + std::to_string(at_barrier) + " at a block barrier, " + std::to_string(in_meeting) +
          " in a shuffle or vote, of " + std::to_string(block.alive);
  Report report{ReportKind::kDeadlock, launch_.kernel->name, what, {}, {}, {}, {}};
  for (const Thread& thread : block.threads) {
    const Warp& warp = block.warps[thread.warp];
    const std::uint32_t bit = 1u << thread.view.lane;
    if ((warp.at_barrier & bit) != 0 && !report.place.known)
      report.place = {block.site, block.id, thread.linear, true};
    if ((warp.met & bit) != 0 && !report.other.known)
      report.other = {warp.site, block.id, thread.linear, true};
  }
  if (!report.place.known) report.place = report.other, report.other = {};
  running_.reports.add(std::move(report));
  running_.aborted = true;
}

Thread* Worker::pick(Block& block, unsigned preferred_warp) {
  const auto count = static_cast<unsigned>(block.warps.size());
  const Order order = running_.schedule.order;
  const unsigned start =
      order == Order::kRandom ? static_cast<unsigned>(random() >> 33) % count : preferred_warp;
  for (unsigned k = 0; k < count; ++k) {
    unsigned index = start + k;
    if (order == Order::kDescending) index = start + count - k;
    if (index >= count) index -= count;
    Warp& warp = block.warps[index];
    if (warp.ready == 0) continue;
    auto lane = static_cast<unsigned>(__builtin_ctz(warp.ready));
    if (order == Order::kDescending)
      lane = kLanes - 1 - static_cast<unsigned>(__builtin_clz(warp.ready));
    if (order == Order::kRandom) {  // the first ready lane at or after a random one, cyclically
      const auto shift = static_cast<unsigned>(random() >> 59);
      const std::uint32_t later = warp.ready >> shift << shift;
      if (later != 0) lane = static_cast<unsigned>(__builtin_ctz(later));
    }
    warp.ready &= ~(1u << lane);
    return &block.threads[index * kLanes + lane];
  }
  return nullptr;
}

// Leaves the current thread; it runs again when someone makes it ready.
void Worker::yield() {
  Thread* const to = pick(*block_, thread_->warp);
  if (to != thread_) switch_to(to);
}

void Worker::switch_to(Thread* to) {
  Fiber& from = thread_->fiber;
  thread_ = to;
  switch_fiber(from, to != nullptr ? to->fiber : scheduler_);
}

void Worker::thread_main() {
  Worker& worker = current();
  worker.launch_.kernel->thunk(worker.launch_.arguments);
  worker.thread_exits();
  std::abort();  // nobody resumes a thread that has exited
}

void Worker::thread_exits() {
  Block& block = *block_;
  Warp& warp = block.warps[thread_->warp];
  const std::uint32_t bit = 1u << thread_->view.lane;
  running_.progress.fetch_add(1, std::memory_order_relaxed);
  if (copies_.any() && copies_.forget(std::uint64_t{block.id} << 32 | thread_->linear))
    report(ReportKind::kAsyncCopy, "a thread exits with copies that it has not waited for",
           nullptr);
  warp.alive &= ~bit;
  if (warp.alive == 0 && observer_ != nullptr) observer_->warp_exits(block, thread_->warp);
  --block.alive;
  if (block.alive != 0 && block.arrived == block.alive) {
    report(ReportKind::kBarrierDivergence,
           "a thread exits while the others of its block wait at a barrier", block.site);
    release_barrier(block);
  }
  if (warp.met != 0 && (warp.mask & bit) != 0)
    abort_launch(ReportKind::kWarpMask, "a lane exits while its warp waits for it", warp.site);
  yield();
}

// -- reports -----------------------------------------------------------------------------------

CodePlace Worker::place(const void* site) const {
  return {site, block_->id, thread_ != nullptr ? thread_->linear : 0, true};
}

void Worker::report(ReportKind kind, std::string message, const void* site,
                    const CodePlace& other) {
  running_.reports.add(
      {kind, launch_.kernel->name, std::move(message), place(site), other, {}, {}});
}

void Worker::abort_launch(ReportKind kind, std::string&& message, const void* site,
                          const CodePlace& other) {
  report(kind, std::move(message), site, other);
  running_.aborted = true;
  switch_to(nullptr);
  std::abort();
}

// -- accesses ----------------------------------------------------------------------------------

void Worker::access(const Access& access) {
  if (observer_ == nullptr || thread_ == nullptr) return;
  if (copies_.in_flight(access.address, access.bytes))
    abort_launch(ReportKind::kAsyncCopy,
                 std::string(access.write ? "write to" : "read of") +
                     " shared memory into which a copy is in flight",
                 access.site);
  if (!observer_->access(*block_, *thread_, access)) {
    running_.aborted = true;
    switch_to(nullptr);
    std::abort();
  }
}

void Worker::atomic_access(const void* address, unsigned bytes, const void* site) {
  ++counts_.atomics;
  access({static_cast<const unsigned char*>(address), bytes, true, true, true, site});
}

void Worker::copy_async(void* shared, const void* global, unsigned bytes, bool inside,
                        const void* site) {
  ++counts_.async_copies;
  if (observer_ == nullptr) {  // landing at once is one of the orders that CUDA allows
    if (inside)
      std::memcpy(shared, global, bytes);
    else
      std::memset(shared, 0, bytes);
    return;
  }
  AsyncCopy copy{static_cast<unsigned char*>(shared), bytes, site, {}};
  if (inside) {
    access({static_cast<const unsigned char*>(global), bytes, false, false, true, site});
    std::memcpy(copy.data.data(), global, bytes);
  }
  access({copy.to, bytes, true, false, true, static_cast<const char*>(site) + 1});
  std::memset(shared, kUndefinedByte, bytes);
  copies_.begin(std::uint64_t{block_->id} << 32 | thread_->linear, copy);
}

void Worker::commit_copies() {
  if (observer_ != nullptr) copies_.commit(std::uint64_t{block_->id} << 32 | thread_->linear);
}

void Worker::wait_copies(unsigned pending) {
  if (observer_ == nullptr) return;
  const std::uint64_t key = std::uint64_t{block_->id} << 32 | thread_->linear;
  for (const AsyncCopy& copy : copies_.finish(key, pending)) {
    access({copy.to, copy.bytes, true, false, false, copy.site});
    std::memcpy(copy.to, copy.data.data(), copy.bytes);
  }
}

}  // namespace stitch::emulator
