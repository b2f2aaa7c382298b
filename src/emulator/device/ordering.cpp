// The constructs that order blocks: counters, and barriers of clusters.
#include "emulator/device/worker.h"

namespace stitch::emulator {
namespace {

const unsigned char* bytes_of(const void* address) {
  return static_cast<const unsigned char*>(address);
}

}  // namespace

unsigned Worker::add(unsigned* counter, unsigned amount, bool acquire, const void* site) {
  ++counts_.releases;
  running_.progress.fetch_add(1, std::memory_order_relaxed);
  if (observer_ == nullptr) return __atomic_fetch_add(counter, amount, __ATOMIC_ACQ_REL);
  access({bytes_of(counter), sizeof *counter, true, true, true, site});
  Block& block = *block_;
  ClockRef& clock = counter_clocks_[counter];
  ClockRef view = merged(block.seen, thread_->acquired);
  if (acquire && clock) {
    view = merged(view, clock);
    thread_->acquired = view;
    block.acquired = block.warps[thread_->warp].acquired = true;
  }
  ++block.releases;
  observer_->release(block, *thread_, false);
  clock = merged(clock, with_release(view, block.id, block.releases));
  const unsigned before = *counter;
  *counter = before + amount;
  return before;
}

unsigned Worker::load_acquire(const unsigned* counter, const void* site) {
  if (observer_ == nullptr) return __atomic_load_n(counter, __ATOMIC_ACQUIRE);
  access({bytes_of(counter), sizeof *counter, false, true, true, site});
  const auto found = counter_clocks_.find(counter);
  if (found != counter_clocks_.end()) {
    thread_->acquired = merged(thread_->acquired, found->second);
    block_->acquired = block_->warps[thread_->warp].acquired = true;
  }
  return *counter;
}

Worker::ClusterSlot& Worker::slot_of(const Block& block) {
  for (const auto& slot : live_)
    if (slot->index == block.id / launch_.cluster) return *slot;
  std::abort();  // a running block is always in a live cluster
}

void Worker::cluster_arrive(const void* site) {
  if (launch_.cluster == 1)
    abort_launch(ReportKind::kUsage, "a cluster barrier in a launch without clusters", site);
  ClusterSlot& slot = slot_of(*block_);
  Cluster& cluster = slot.cluster;
  thread_->cluster_generation = cluster.generation;
  if (++cluster.arrived < launch_.cluster * threads_per_block_) return;
  cluster.arrived = 0;
  ++cluster.generation;
  counts_.cluster_barriers += launch_.cluster;
  running_.progress.fetch_add(1, std::memory_order_relaxed);
  if (observer_ == nullptr) return;
  ClockRef all;
  for (const auto& block : slot.blocks) {
    share_acquired(*block);
    ++block->epoch;
    for (Warp& warp : block->warps) warp.epoch = 0;
    ++block->releases;
    observer_->release(*block, *thread_, true);
    all = merged(all, with_release(block->seen, block->id, block->releases));
  }
  for (const auto& block : slot.blocks) block->seen = all;
}

void Worker::cluster_wait(const void* site) {
  const Cluster& cluster = slot_of(*block_).cluster;
  while (cluster.generation == thread_->cluster_generation) spin(site);
}

void* Worker::cluster_map(const void* local, unsigned rank, const void* site) {
  if (rank >= launch_.cluster)
    abort_launch(ReportKind::kOutOfBounds,
                 "rank " + std::to_string(rank) + " in a cluster of " +
                     std::to_string(launch_.cluster) + " blocks",
                 site);
  Block& target = *slot_of(*block_).blocks[rank];
  if (target.alive == 0)
    report(ReportKind::kClusterExit, "access to the shared memory of a block that has exited", site,
           {nullptr, target.id, 0, true});
  return target.arena + (bytes_of(local) - block_->arena);
}

}  // namespace stitch::emulator
