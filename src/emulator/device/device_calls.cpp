// The functions that images call: each hands over to the worker of its host thread.
#include "emulator/device/worker.h"

namespace stitch::emulator {
namespace {

const unsigned char* bytes_of(const void* address) {
  return static_cast<const unsigned char*>(address);
}

void access(const void* address, unsigned bytes, bool write, const void* site) {
  Worker::current().access({bytes_of(address), bytes, write, false, true, site});
}
void atomic_access(const void* address, unsigned bytes, const void* site) {
  Worker::current().atomic_access(address, bytes, site);
}
void block_barrier(const void* site) { Worker::current().block_barrier(site); }
unsigned char* exchange_slots() { return Worker::current().exchange_slots(); }
void warp_meet(unsigned mask, stitch_simt::Meeting kind, const void* site) {
  Worker::current().warp_meet(mask, kind, site);
}
void spin(const void* site) { Worker::current().spin(site); }
unsigned load_acquire(const unsigned* counter, const void* site) {
  return Worker::current().load_acquire(counter, site);
}
unsigned add(unsigned* counter, unsigned amount, bool acquire, const void* site) {
  return Worker::current().add(counter, amount, acquire, site);
}
void cluster_arrive(const void* site) { Worker::current().cluster_arrive(site); }
void cluster_wait(const void* site) { Worker::current().cluster_wait(site); }
void* cluster_map(const void* local, unsigned rank, const void* site) {
  return Worker::current().cluster_map(local, rank, site);
}
void copy_async(void* shared, const void* global, unsigned bytes, bool inside, const void* site) {
  Worker::current().copy_async(shared, global, bytes, inside, site);
}
void commit_copies() { Worker::current().commit_copies(); }
void wait_copies(unsigned pending) { Worker::current().wait_copies(pending); }
void trap(const char* what, const void* site) {
  Worker::current().abort_launch(ReportKind::kTrap, what, site);
}

}  // namespace

const stitch_simt::DeviceCalls& device_calls() {
  static constexpr stitch_simt::DeviceCalls kCalls = {
      access,      atomic_access, block_barrier, exchange_slots, warp_meet,
      spin,        load_acquire,  add,           cluster_arrive, cluster_wait,
      cluster_map, copy_async,    commit_copies, wait_copies,    trap};
  return kCalls;
}

}  // namespace stitch::emulator
