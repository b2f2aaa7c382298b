// The interface between a host image (kernels compiled for this machine) and the emulated device
// that runs it. Both sides compile this file; it needs the standard library only.
#pragma once
#include <cstddef>
#include <cstdint>

namespace stitch_simt {

// Raised whenever a type below changes; an image of another version is refused.
constexpr unsigned kImageAbiVersion = 3;

constexpr unsigned kWarpLanes = 32;
constexpr unsigned kAllLanes = 0xffffffffu;
constexpr unsigned kSlotBytes = 64;  // what one lane can give to its warp at one meeting

struct Extent {
  unsigned x, y, z;
};

// The CUDA thread that is running, as kernels see it.
struct ThreadView {
  Extent thread;
  Extent block;
  Extent block_size;
  Extent grid_size;
  unsigned lane;
  unsigned cluster_rank;
  unsigned char* arena;  // the block's shared memory
};

// Each CUDA thread runs on a stack of its own, which is its private memory: kStackBytes, aligned to
// as much, with the address of its ThreadView in the last bytes. So the view is found from any
// address on the stack, on whatever thread of the host.
constexpr std::uintptr_t kStackBytes = 64 << 10;
constexpr std::uintptr_t kStackMask = kStackBytes - 1;
constexpr std::uintptr_t kViewOffset = kStackBytes - sizeof(void*);

// Why the lanes of a warp meet; counted apart.
enum class Meeting : unsigned { kShuffle, kVote, kProduct, kMatrixLoad };

// What the device does for a kernel. `site` is the code address of the construct.
struct DeviceCalls {
  void (*access)(const void* address, unsigned bytes, bool write, const void* site);
  void (*atomic_access)(const void* address, unsigned bytes, const void* site);
  void (*block_barrier)(const void* site);
  unsigned char* (*exchange_slots)();  // kWarpLanes slots of kSlotBytes for the next meeting
  void (*warp_meet)(unsigned mask, Meeting kind, const void* site);
  void (*spin)(const void* site);
  unsigned (*load_acquire)(const unsigned* counter, const void* site);
  unsigned (*add)(unsigned* counter, unsigned amount, bool acquire, const void* site);
  void (*cluster_arrive)(const void* site);
  void (*cluster_wait)(const void* site);
  void* (*cluster_map)(const void* local, unsigned rank, const void* site);
  void (*copy_async)(void* shared, const void* global, unsigned bytes, bool inside,
                     const void* site);
  void (*commit_copies)();
  void (*wait_copies)(unsigned pending);
  void (*trap)(const char* what, const void* site);
};

// One kernel of an image.
struct KernelRecord {
  const char* name;
  void (*thunk)(void** arguments);  // runs the body for the current thread
  unsigned argument_count;
  const unsigned* argument_bytes;
  unsigned max_block_threads;  // of __launch_bounds__; 0 = none given
  unsigned min_blocks;
  unsigned cluster_x, cluster_y, cluster_z;  // of __cluster_dims__; 0 = none given
};

// What an image exports under the name stitch_host_image.
struct ImageEntry {
  unsigned abi_version;
  bool checked;        // accesses are reported through DeviceCalls::access
  bool uses_avx2_fma;  // instructions that x86-64 processors have since 2013
  const KernelRecord* const* kernels;
  const KernelRecord* const* kernels_end;
  void (*connect)(const DeviceCalls* calls);  // once, before anything else
};

}  // namespace stitch_simt
