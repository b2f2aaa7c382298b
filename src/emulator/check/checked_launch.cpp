#include "emulator/check/checked_launch.h"

#include <dlfcn.h>

#include <algorithm>

namespace stitch::emulator {
namespace {

constexpr std::size_t kMaxCellBytes = std::size_t{2} << 30;  // between launches
constexpr std::size_t kConstantsPage = 4096;

const unsigned char* page_of(const unsigned char* address) {
  return address - reinterpret_cast<std::uintptr_t>(address) % kConstantsPage;
}

}  // namespace

struct CheckedLaunch::Context {
  const Block& block;
  const Thread& thread;
  const Access& access;
  Stamp now;
};

CheckedLaunch::CheckedLaunch(DeviceMemory& memory, ReportLog& log, const WatchOptions& options)
    : memory_(memory), log_(log), checks_(options.check) {
  if (options.count) counter_ = std::make_unique<TrafficCounter>();
}

TrafficCounts CheckedLaunch::traffic() const {
  return counter_ ? counter_->counts() : TrafficCounts();
}

void CheckedLaunch::launch_begins(const Launch& launch) {
  launch_ = &launch;
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(launch.kernel->thunk), &info) != 0)
    image_begin_ = static_cast<const unsigned char*>(info.dli_fbase);
  reachable_ = ReachableMemory(memory_, launch);
  std::size_t cell_bytes = 0;
  for (const auto& [begin, allocation] : memory_.allocations())
    cell_bytes += allocation->shadow.cell_bytes();
  for (const auto& [begin, allocation] : memory_.allocations()) {
    allocation->shadow.forget_accesses();
    if (cell_bytes > kMaxCellBytes) allocation->shadow.free_cells();
  }
  if (counter_) counter_->begin(launch, reachable_.scratch());
}

void CheckedLaunch::launch_ends() {
  if (counter_) counter_->end();
}

void CheckedLaunch::block_begins(const Block& block) {
  while (arenas_.size() <= block.slot)
    arenas_.push_back({nullptr, ShadowRegion(launch_->shared_bytes)});
  Arena& arena = arenas_[block.slot];
  arena.begin = block.arena;
  arena.shadow.forget_accesses();
  arena.shadow.undefine_all();
}

void CheckedLaunch::release(const Block& block, const Thread& thread, bool whole_block) {
  if (whole_block)
    history_.add(block.id, {Release::kNoThread, block.epoch, 0});
  else
    history_.add(block.id, {thread.linear, block.epoch, block.warps[thread.warp].epoch});
}

void CheckedLaunch::warp_meets(const Block& block, unsigned warp) {
  if (counter_) counter_->flush(block.id, warp);
}

void CheckedLaunch::warp_exits(const Block& block, unsigned warp) {
  if (counter_) counter_->finish(block.id, warp);
}

bool CheckedLaunch::access(const Block& block, const Thread& thread, const Access& access) {
  const auto address = reinterpret_cast<std::uintptr_t>(access.address);
  if (address - reinterpret_cast<std::uintptr_t>(thread.stack) < kStackBytes) return true;
  Stamp now;
  now.block = block.id;
  now.site =
      static_cast<std::uint32_t>(static_cast<const unsigned char*>(access.site) - image_begin_) &
      0x3fffffffu;
  now.atomic = access.atomic;
  now.thread = thread.linear & 0x3ffu;
  now.barriers = std::min<std::uint64_t>(block.epoch, Stamp::kMaxBarriers) & Stamp::kMaxBarriers;
  now.meetings = std::min<std::uint64_t>(block.warps[thread.warp].epoch, Stamp::kMaxMeetings) &
                 Stamp::kMaxMeetings;
  now.releases = std::min<std::uint64_t>(block.releases, Stamp::kMaxReleases) & Stamp::kMaxReleases;
  const Context context{block, thread, access, now};

  if (access.bytes > 1 && address % access.bytes != 0)
    report(context, ReportKind::kMisaligned,
           "access of " + std::to_string(access.bytes) + " bytes at an address that is " +
               std::to_string(address % access.bytes) + " beyond a multiple of its size");
  if (Arena* const arena = arena_of(block, access.address)) return access_shared(context, *arena);
  return access_global(context);
}

CheckedLaunch::Arena* CheckedLaunch::arena_of(const Block& block, const unsigned char* address) {
  // A little beyond the end is still meant for this arena.
  constexpr std::ptrdiff_t kBeyond = 128;
  const auto near = [&](const Arena& arena) {
    const std::ptrdiff_t offset = address - arena.begin;
    return offset >= 0 && offset < static_cast<std::ptrdiff_t>(launch_->shared_bytes) + kBeyond;
  };
  if (near(arenas_[block.slot])) return &arenas_[block.slot];
  if (launch_->cluster > 1)
    for (Arena& arena : arenas_)
      if (arena.begin != nullptr && near(arena)) return &arena;
  return nullptr;
}

bool CheckedLaunch::access_shared(const Context& context, Arena& arena) {
  const auto offset = static_cast<std::size_t>(context.access.address - arena.begin);
  if (offset + context.access.bytes > launch_->shared_bytes) {
    report(context, ReportKind::kOutOfBounds,
           std::string(context.access.write ? "write to" : "read of") + " shared memory+" +
               std::to_string(offset) + " (of " + std::to_string(launch_->shared_bytes) +
               " bytes)");
    return false;
  }
  check_cells(context, arena.shadow, offset);
  if (counter_ && context.access.counted)
    counter_->count_shared(context.block.id, context.thread, context.access,
                           &arena != &arenas_[context.block.slot]);
  return true;
}

bool CheckedLaunch::access_global(const Context& context) {
  const Access& access = context.access;
  const ReachableRange* const range = reachable_.find(access.address, access.bytes);
  if (range == nullptr) {
    if (!access.write && is_image_constant(access.address)) return true;
    report(context, ReportKind::kOutOfBounds,
           std::string(access.write ? "write of " : "read of ") + std::to_string(access.bytes) +
               " bytes at " + reachable_.describe(memory_, access.address));
    return false;
  }
  Allocation& allocation = *range->allocation;
  check_cells(context, allocation.shadow,
              static_cast<std::size_t>(access.address - allocation.begin));
  if (counter_ && !access.atomic) counter_->count_global(context.block.id, context.thread, access);
  return true;
}

void CheckedLaunch::check_cells(const Context& context, ShadowRegion& region, std::size_t offset) {
  if (!checks_) return;
  const Access& access = context.access;
  const bool reads = !access.write || access.atomic;
  if (reads && !region.is_defined(offset, access.bytes))
    report(context, ReportKind::kUndefinedRead, "read of memory that nothing has written");
  region.visit_cells(offset, access.bytes, [&](ShadowCell& cell) { check_cell(context, cell); });
  if (access.write) region.define(offset, access.bytes);
}

void CheckedLaunch::check_cell(const Context& context, ShadowCell& cell) {
  const Stamp& now = context.now;
  const bool write = context.access.write;
  if (cell.write.valid() && !(now.atomic != 0 && cell.write.atomic != 0) &&
      !ordered(context, cell.write))
    report(context, ReportKind::kRace,
           write ? "write to memory that another thread writes at the same time"
                 : "read of memory that another thread writes at the same time",
           &cell.write);
  if (!write) {
    Stamp read = now;
    const Stamp& before = cell.read;
    if (before.valid() && before.block == now.block && before.barriers == now.barriers)
      read.shared = before.shared != 0 || before.thread != now.thread ? 1 : 0;
    if (before.valid() && before.block != now.block && !cell.other_read.valid())
      cell.other_read = before;
    cell.read = read;
    return;
  }
  for (const Stamp* read : {&cell.read, &cell.other_read})
    if (read->valid() && !(now.atomic != 0 && read->atomic != 0) &&
        !ordered_after_readers(context, *read))
      report(context, ReportKind::kRace, "write to memory that another thread still reads", read);
  cell.write = now;
  cell.read = Stamp();
  cell.other_read = Stamp();
}

// Releases of another block that the thread knows of: its own and its block's acquisitions.
static std::uint32_t seen_by(const Block& block, const Thread& thread, std::uint32_t other) {
  return std::max(releases_seen(block.seen, other), releases_seen(thread.acquired, other));
}

inline bool CheckedLaunch::ordered(const Context& context, const Stamp& then) const {
  const Stamp& now = context.now;
  if (then.block != now.block)
    return history_.covers(then.block, seen_by(context.block, context.thread, then.block), then);
  if (then.thread == now.thread || then.barriers < now.barriers) return true;
  return then.thread / stitch_simt::kWarpLanes == now.thread / stitch_simt::kWarpLanes &&
         then.meetings < now.meetings;
}

bool CheckedLaunch::ordered_after_readers(const Context& context, const Stamp& then) const {
  if (then.block != context.now.block)
    return history_.covers_all_readers(then.block,
                                       seen_by(context.block, context.thread, then.block), then);
  if (then.shared != 0) return then.barriers < context.now.barriers;
  return ordered(context, then);
}

bool CheckedLaunch::is_image_constant(const unsigned char* address) {
  if (page_of(address) == constants_page_) return true;
  Dl_info info{};
  if (dladdr(address, &info) == 0 || info.dli_fbase != image_begin_) return false;
  constants_page_ = page_of(address);
  return true;
}

void CheckedLaunch::report(const Context& context, ReportKind kind, const std::string& message,
                           const Stamp* other) {
  Report report;
  report.kind = kind;
  report.kernel = launch_->kernel->name;
  report.message = message;
  report.place = {context.access.site, context.block.id, context.thread.linear, true};
  if (other != nullptr)
    report.other = {image_begin_ + other->site, other->block,
                    static_cast<std::uint32_t>(other->thread), true};
  log_.add(std::move(report), [&] {
    const Allocation* const allocation = memory_.find_whole(context.access.address, 1);
    return allocation != nullptr
               ? allocation->describe(context.access.address)
               : std::string("shared memory+") +
                     std::to_string(context.access.address - arenas_[context.block.slot].begin);
  });
}

}  // namespace stitch::emulator
