// Runs blocks on one thread of the host: switches between the fibers of their threads, and gives
// the constructs of CUDA their meaning. The functions of image_abi.h's DeviceCalls end here.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "emulator/device/async_copies.h"
#include "emulator/device/block.h"
#include "emulator/device/running_launch.h"

namespace stitch::emulator {

class Worker {
 public:
  Worker(RunningLaunch& running, StackPool& stacks);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Runs clusters of blocks until none is left or the launch is stopped.
  void run();
  const EventCounts& counts() const { return counts_; }

  // The worker of this host thread, inside run().
  static Worker& current();

  // -- meetings.cpp: the constructs at which threads wait for each other
  void block_barrier(const void* site);
  unsigned char* exchange_slots();
  void warp_meet(std::uint32_t mask, stitch_simt::Meeting kind, const void* site);
  void spin(const void* site);

  // -- ordering.cpp: the constructs that order blocks
  unsigned load_acquire(const unsigned* counter, const void* site);
  unsigned add(unsigned* counter, unsigned amount, bool acquire, const void* site);
  void cluster_arrive(const void* site);
  void cluster_wait(const void* site);
  void* cluster_map(const void* local, unsigned rank, const void* site);

  // -- accesses
  void access(const Access& access);
  void atomic_access(const void* address, unsigned bytes, const void* site);
  void copy_async(void* shared, const void* global, unsigned bytes, bool inside, const void* site);
  void commit_copies();
  void wait_copies(unsigned pending);

  // Leaves the thread's stack for good, without destructors: what lies on it must own nothing by
  // then, so the message is handed over.
  [[noreturn]] void abort_launch(ReportKind kind, std::string&& message, const void* site,
                                 const CodePlace& other = {});
  void report(ReportKind kind, std::string message, const void* site, const CodePlace& other = {});

 private:
  struct ClusterSlot {
    std::vector<std::unique_ptr<Block>> blocks;
    Cluster cluster;
    std::uint64_t index = 0;
  };

  void admit(std::uint64_t cluster);
  void prepare(Block& block, std::uint32_t id, unsigned rank);
  void resume(Block& block);
  // Whether something happened since the last pass; stops the launch when nothing ever will.
  bool waits_in_vain(std::uint64_t& idle_passes, std::uint64_t& progress_before);
  std::uint64_t take_cluster();
  bool has_more_clusters() const;
  Thread* pick(Block& block, unsigned preferred_warp);
  void yield();
  void switch_to(Thread* to);
  static void thread_main();
  void thread_exits();
  void release_barrier(Block& block);
  void share_acquired(Block& block);
  void share_acquired(Block& block, Warp& warp);
  [[noreturn]] void reject_mask(const Warp& warp, std::uint32_t mask, stitch_simt::Meeting kind,
                                const void* site);
  bool same_source_line(const void* a, const void* b);
  ClusterSlot& slot_of(const Block& block);
  CodePlace place(const void* site) const;
  std::uint64_t random();

  RunningLaunch& running_;
  const Launch& launch_;
  LaunchObserver* observer_;
  const unsigned threads_per_block_;
  std::vector<std::unique_ptr<ClusterSlot>> live_;
  std::vector<std::unique_ptr<ClusterSlot>> free_;
  unsigned slots_made_ = 0;
  StackPool& stacks_;
  std::vector<std::unique_ptr<unsigned char[]>> arenas_;  // per block slot
  Fiber scheduler_;
  Block* block_ = nullptr;
  Thread* thread_ = nullptr;  // null while the scheduler itself runs
  std::unordered_map<const unsigned*, ClockRef> counter_clocks_;
  AsyncCopies copies_;
  EventCounts counts_;
  std::uint64_t random_state_ = 0;
};

// The table that images call through.
const stitch_simt::DeviceCalls& device_calls();

}  // namespace stitch::emulator
