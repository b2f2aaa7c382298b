/* C interface of the emulated driver beyond CUDA's: what it checks, in which order threads run, and
 * what it found and counted. Exported by libstitch_emulated_driver.so; find the functions with
 * dlsym, whoever opened the library. All functions may be called from any thread between launches.
 *
 * Typical use by a tool:
 *   stitch_emulator_select_device("sm_90");            before cuInit
 *   stitch_emulator_configure(&settings);              checks on
 *   ... run the unmodified launcher ...
 *   for (i = 0; i < stitch_emulator_report_count(); ++i) stitch_emulator_report(i, &report);
 */
#ifndef STITCH_EMULATOR_CONTROL_H_
#define STITCH_EMULATOR_CONTROL_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define STITCH_EMULATOR_API __attribute__((visibility("default")))

/* Raised whenever a struct or function below changes its meaning. A program can tell the emulated
 * driver from a real one by looking this symbol up. */
#define STITCH_EMULATOR_ABI_VERSION 1
STITCH_EMULATOR_API uint32_t stitch_emulator_abi_version(void);

/* Makes the driver present itself as the default device of an architecture ("sm_70", "sm_75",
 * "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"). Before cuInit; returns 0, or 1 when
 * there is no such device or the driver is initialised already as another. Without a call: the
 * environment variable STITCH_EMULATED_DEVICE, else sm_80. */
STITCH_EMULATOR_API int stitch_emulator_select_device(const char* architecture);

typedef enum stitch_emulator_order {
  STITCH_EMULATOR_ASCENDING = 0, /* lanes, warps and blocks from the lowest index up */
  STITCH_EMULATOR_DESCENDING = 1,
  STITCH_EMULATOR_RANDOM = 2 /* by seed */
} stitch_emulator_order;

typedef struct stitch_emulator_settings {
  size_t struct_size;    /* sizeof(stitch_emulator_settings) */
  int32_t check;         /* report races and the like; kernels must have a checked image */
  int32_t count;         /* count memory traffic; kernels must have a checked image. Without check
                            accesses are held to their bounds, and nothing else is looked for */
  int32_t order;         /* stitch_emulator_order */
  uint64_t seed;         /* of STITCH_EMULATOR_RANDOM */
  uint32_t host_threads; /* of launches without checks; 0 = one per processor */
} stitch_emulator_settings;

/* Applies to launches that follow. Memory allocated before checks are switched on counts as
 * defined. Returns 0, or 1 when a value is out of range. */
STITCH_EMULATOR_API int stitch_emulator_configure(const stitch_emulator_settings* settings);
STITCH_EMULATOR_API void stitch_emulator_get_settings(stitch_emulator_settings* settings);

/* Names a part of an allocation, such as one value in a workspace. Once an allocation has ranges,
 * kernels must stay inside them. Ranges may overlap (values that share memory). Returns 0, or 1
 * when it is not inside one allocation. */
typedef enum stitch_emulator_role {
  STITCH_EMULATOR_ROLE_UNKNOWN = 0,
  STITCH_EMULATOR_ROLE_INPUT = 1,
  STITCH_EMULATOR_ROLE_OUTPUT = 2,
  STITCH_EMULATOR_ROLE_SCRATCH = 3,
  STITCH_EMULATOR_ROLE_WEIGHTS = 4,
  STITCH_EMULATOR_ROLE_COUNTERS = 5
} stitch_emulator_role;
STITCH_EMULATOR_API int stitch_emulator_register_range(const void* begin, size_t bytes,
                                                       const char* name, int32_t role);
/* Drops all ranges of the allocation that holds the address. */
STITCH_EMULATOR_API int stitch_emulator_forget_ranges(const void* address);

/* Makes a range undefined, as a workspace is before each inference: reading it before it is written
 * is then reported. Returns 0, or 1 when it is not inside one allocation. */
STITCH_EMULATOR_API int stitch_emulator_discard(const void* begin, size_t bytes);
/* Bytes of a range that nothing has defined: outputs that were never written. Only with checks on.
 */
STITCH_EMULATOR_API size_t stitch_emulator_undefined_bytes(const void* begin, size_t bytes);
/* The same as a report per range registered as output that holds undefined bytes. */
STITCH_EMULATOR_API void stitch_emulator_check_outputs(void);
/* Reports every allocation that is still there, and every overwritten guard: at a program's end. */
STITCH_EMULATOR_API void stitch_emulator_check_leaks(void);

typedef struct stitch_emulator_report_info {
  size_t struct_size;
  const char* kind;   /* "race", "out of bounds", "undefined read", ... */
  const char* kernel; /* "" when it is not about a kernel */
  const char* text;   /* one line: kind, kernel, message, line, block, thread, the other party */
  const char* line;   /* "softmax.cu:31", "" when unknown */
  const char* other_line;
  int64_t block; /* linear index, -1 when unknown */
  int64_t thread;
  int64_t other_block;
  int64_t other_thread;
} stitch_emulator_report_info;

/* Strings stay valid until stitch_emulator_clear_reports. */
STITCH_EMULATOR_API size_t stitch_emulator_report_count(void);
STITCH_EMULATOR_API int stitch_emulator_report(size_t index, stitch_emulator_report_info* info);
STITCH_EMULATOR_API void stitch_emulator_clear_reports(void);

/* What the launches of one kernel did since the last reset, summed. Traffic fields are 0 unless
 * settings.count was on. A request is one warp executing one access instruction. */
typedef struct stitch_emulator_kernel_counters {
  size_t struct_size;
  const char* kernel; /* valid until the reset */
  uint64_t launches;
  uint64_t blocks;
  uint64_t threads;
  double host_seconds;
  uint64_t block_barriers; /* per block, summed */
  uint64_t cluster_barriers;
  uint64_t releases; /* additions to counters that order blocks: tickets and grid barriers */
  uint64_t shuffles; /* per warp, summed */
  uint64_t votes;
  uint64_t products;     /* warp-wide matrix products */
  uint64_t matrix_loads; /* warp-wide loads of fragments */
  uint64_t atomics;
  uint64_t async_copies;
  uint64_t load_requests, load_sectors, load_bytes; /* global memory; 32-byte sectors; bytes used */
  uint64_t store_requests, store_sectors, store_bytes;
  uint64_t vector_requests; /* global requests of 16 bytes per lane */
  uint64_t shared_requests, shared_wavefronts, shared_ideal_wavefronts;
  uint64_t remote_requests;      /* to the shared memory of other blocks */
  uint64_t distinct_load_bytes;  /* of each launch: bytes read that it did not write before */
  uint64_t distinct_store_bytes; /* of each launch: bytes written at least once */
  uint64_t scratch_bytes;        /* read plus written, in ranges registered as scratch */
  uint64_t read_back_bytes;      /* of each launch: bytes read after it wrote them */
} stitch_emulator_kernel_counters;

/* Kernels in the order of their first launch. */
STITCH_EMULATOR_API size_t stitch_emulator_kernel_count(void);
STITCH_EMULATOR_API int stitch_emulator_kernel(size_t index,
                                               stitch_emulator_kernel_counters* counters);

/* The same of every launch by itself, in order: kernels of equal text are one function, and may be
 * launched with other grids. Kept while settings.count is on. */
STITCH_EMULATOR_API size_t stitch_emulator_launch_count(void);
STITCH_EMULATOR_API int stitch_emulator_launch(size_t index,
                                               stitch_emulator_kernel_counters* counters);

/* Calls that are not kernels, since the last reset. */
typedef struct stitch_emulator_call_counters {
  size_t struct_size;
  uint64_t kernel_launches;
  uint64_t matmuls;
  uint64_t memsets;
  uint64_t copies_to_device, copies_to_host, copies_on_device;
  uint64_t allocations, frees;
  uint64_t bytes_in_use; /* now */
} stitch_emulator_call_counters;
STITCH_EMULATOR_API void stitch_emulator_calls(stitch_emulator_call_counters* counters);

STITCH_EMULATOR_API void stitch_emulator_reset_counters(void);

#ifdef __cplusplus
}
#endif

#endif /* STITCH_EMULATOR_CONTROL_H_ */
