// The constructs at which threads of one block wait for each other.
#include <algorithm>

#include "emulator/device/source_lines.h"
#include "emulator/device/worker.h"

namespace stitch::emulator {
namespace {

const char* meeting_name(stitch_simt::Meeting kind) {
  switch (kind) {
    case stitch_simt::Meeting::kShuffle:
      return "shuffle";
    case stitch_simt::Meeting::kVote:
      return "vote";
    case stitch_simt::Meeting::kProduct:
      return "matrix product";
    case stitch_simt::Meeting::kMatrixLoad:
      return "matrix load";
  }
  return "";
}

std::string hexadecimal(std::uint32_t mask) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "0x";
  for (int shift = 28; shift >= 0; shift -= 4) text += kDigits[mask >> shift & 15u];
  return text;
}

}  // namespace

// The host compiler may copy the code of one barrier; only the source line decides.
bool Worker::same_source_line(const void* a, const void* b) {
  return a == b || source_line(a).text == source_line(b).text;
}

void Worker::block_barrier(const void* site) {
  Block& block = *block_;
  if (block.arrived == 0) {
    block.site = site;
  } else if (!same_source_line(block.site, site)) {
    CodePlace other{block.site, block.id, 0, true};
    for (const Thread& thread : block.threads)
      if ((block.warps[thread.warp].at_barrier >> thread.view.lane & 1u) != 0)
        other.thread = thread.linear;
    report(ReportKind::kBarrierDivergence, "threads of a block wait at different barriers", site,
           other);
  }
  if (++block.arrived == block.alive) {
    if (block.alive != block.threads.size())
      report(ReportKind::kBarrierDivergence,
             "a block barrier is reached after some threads of the block have exited", site);
    release_barrier(block);
    return;
  }
  block.warps[thread_->warp].at_barrier |= 1u << thread_->view.lane;
  yield();
}

void Worker::release_barrier(Block& block) {
  ++counts_.block_barriers;
  running_.progress.fetch_add(1, std::memory_order_relaxed);
  block.arrived = 0;
  ++block.epoch;
  if (block.acquired) share_acquired(block);
  for (Warp& warp : block.warps) {
    warp.ready |= warp.at_barrier;
    warp.at_barrier = 0;
    warp.epoch = 0;
    if (observer_ != nullptr)
      observer_->warp_meets(block, static_cast<unsigned>(&warp - block.warps.data()));
  }
}

// What one thread has acquired is seen by all of its block after a barrier.
void Worker::share_acquired(Block& block) {
  for (Thread& thread : block.threads) {
    block.seen = merged(block.seen, thread.acquired);
    thread.acquired.reset();
  }
  for (Warp& warp : block.warps) warp.acquired = false;
  block.acquired = false;
}

// The same for the lanes of a warp that have met.
void Worker::share_acquired(Block& block, Warp& warp) {
  const auto first = static_cast<std::size_t>(&warp - block.warps.data()) * stitch_simt::kWarpLanes;
  const std::size_t last =
      std::min<std::size_t>(first + stitch_simt::kWarpLanes, block.threads.size());
  ClockRef all;
  for (std::size_t t = first; t < last; ++t) all = merged(all, block.threads[t].acquired);
  for (std::size_t t = first; t < last; ++t) block.threads[t].acquired = all;
}

unsigned char* Worker::exchange_slots() {
  Warp& warp = block_->warps[thread_->warp];
  return warp.slots[warp.side];
}

// Emitted code meets in whole warps only; a mask that names part of one is a defect as well.
void Worker::reject_mask(const Warp& warp, std::uint32_t mask, stitch_simt::Meeting kind,
                         const void* site) {
  const char* what = " names part of a warp";
  if ((mask >> thread_->view.lane & 1u) == 0) what = " leaves out the lane itself";
  if ((mask & ~warp.alive) != 0) what = " names lanes that have exited or do not exist";
  abort_launch(ReportKind::kWarpMask,
               "the mask " + hexadecimal(mask) + " of a " + meeting_name(kind) + what, site);
}

void Worker::warp_meet(std::uint32_t mask, stitch_simt::Meeting kind, const void* site) {
  Block& block = *block_;
  Warp& warp = block.warps[thread_->warp];
  const std::uint32_t bit = 1u << thread_->view.lane;
  if (mask != stitch_simt::kAllLanes || (mask & ~warp.alive) != 0)
    reject_mask(warp, mask, kind, site);
  if (warp.met == 0) {
    warp.mask = mask;
    warp.kind = kind;
    warp.site = site;
  } else if (warp.kind != kind || !same_source_line(warp.site, site)) {
    const CodePlace other{
        warp.site, block.id,
        thread_->warp * stitch_simt::kWarpLanes + static_cast<unsigned>(__builtin_ctz(warp.met)),
        true};
    abort_launch(ReportKind::kWarpMask,
                 std::string("lanes of a warp meet at different places: a ") + meeting_name(kind) +
                     " and a " + meeting_name(warp.kind),
                 site, other);
  }
  warp.met |= bit;
  if (warp.met != mask) {
    yield();
    return;
  }
  warp.met = 0;
  warp.side ^= 1;
  ++warp.epoch;
  running_.progress.fetch_add(1, std::memory_order_relaxed);
  if (warp.acquired) share_acquired(block, warp);
  switch (kind) {
    case stitch_simt::Meeting::kShuffle:
      ++counts_.shuffles;
      break;
    case stitch_simt::Meeting::kVote:
      ++counts_.votes;
      break;
    case stitch_simt::Meeting::kProduct:
      ++counts_.products;
      break;
    case stitch_simt::Meeting::kMatrixLoad:
      ++counts_.matrix_loads;
      break;
  }
  warp.ready |= mask & ~bit;
  if (observer_ != nullptr) observer_->warp_meets(block, thread_->warp);
}

void Worker::spin(const void* site) {
  block_->spinning.push_back(thread_->linear);
  if (block_->arrived == 0) block_->site = site;
  yield();
}

}  // namespace stitch::emulator
