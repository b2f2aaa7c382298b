// The plan: kernels with stages, groups, mappings and places, library calls, buffers. Complete: the
// emitter walks it and decides nothing. Prints, parses back and validates (plan_text.h,
// plan_validate.h).
//
//   Plan    = steps (kernels and library calls in launch order) + buffers
//   Kernel  = parts (packed, independent, each with blocks of its own) of stages
//   Stage   = a block mapping + groups; stages are separated by a ticket or a barrier
//   Group   = a thread mapping + roots; groups run one after another, some behind a block barrier
//   Root    = what a group computes and keeps: a reduce, a placed value, a store
//
// Every node that is not a root is *inline* (AStitch's Local): its value is emitted at the index
// where a root asks for it, by recursion through its reads. A read ends at a buffer, or at a value
// that an earlier root has placed.
#pragma once
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "planner/absorb/contraction_layout.h"
#include "planner/access/access_graph.h"

namespace stitch {

using BufferId = Id<struct BufferTag>;

enum class BufferKind : uint8_t {
  kInput,     // index = position among the model's inputs
  kOutput,    // index = position among the outputs
  kConstant,  // weights; offset in weights.bin
  kArena,     // between kernels; offset in the workspace
  kScratch,   // inside one kernel (partial results of blocks); offset in the workspace
};

// A tensor in device memory. Elements lie at sum(index[d] * strides[d]).
struct Buffer {
  std::string name;  // the last part of the ONNX value's name; unique in the plan
  BufferKind kind = BufferKind::kArena;
  int index = 0;
  int64_t offset = 0;  // bytes; of inputs and outputs not 0 only inside of another buffer
  int64_t bytes = 0;
  DType dtype = DType::kF32;
  std::vector<int64_t> extents;
  std::vector<int64_t> strides;  // elements
  AccessValueId value;           // whose elements it holds (reads name values, not buffers)
  BufferId inside;  // the buffer that it is a range of; its kind and index are the same
};

// ---- where values live ------------------------------------------------------------------------

enum class PlaceKind : uint8_t {
  kRegister,       // one per row (and per row in flight) in every thread of the row's team
  kRegisterArray,  // [steps][vector] per thread; readers have the same mapping and the same columns
  kShared,         // block's shared memory
  kCluster,   // shared memory of every block of the cluster; a block writes its elements to all
  kScratch,   // a buffer of kind kScratch, read by other blocks behind a ticket or barrier
  kFragment,  // the result of a contraction, in registers by the contraction's mapping
};
struct Place {
  PlaceKind kind = PlaceKind::kRegister;
  int64_t offset = 0;            // kShared, kCluster: bytes in the arena
  std::vector<AtomId> axes;      // of memory: the value's atoms that index it, outer first
  std::vector<int64_t> strides;  // of memory: elements per entry of `axes` (padding)
  int64_t row_stride = 0;        // of shared memory: elements per row of the block; its rows are
                                 // numbered r * row_threads + team. 0: one row, or all share it
  BufferId buffer;               // kScratch
};

// ---- mappings ---------------------------------------------------------------------------------

enum class MappingKind : uint8_t { kRow, kColumn, kLoop, kTile, kContraction };

// Which blocks and threads own which rows. A row is an assignment of `rows`; a block owns one
// assignment of `block_axes` (blockIdx.y) and, of the flattened rows, tiles of
// row_threads * rows_per_thread (blockIdx.x, and further tiles in a loop of `passes`):
//   tile(pass) = blockIdx.x + pass * grid_x
// lanes_along_rows false (row, tile): thread = team * threads_per_row + lane; the row of a team is
//   tile * row_threads * rows_per_thread + r * row_threads + team,  r < rows_per_thread.
// lanes_along_rows true (column, loop): neighbouring threads take neighbouring rows;
//   thread = column_thread * row_threads + row_thread; a thread's rows are consecutive (a vector):
//   (tile * row_threads + row_thread) * rows_per_thread + j,  j < rows_per_thread.
// Block size = row_threads * threads_per_row. (FusionStitching 4, AStitch 4.2, stitching.md 4)
struct StageMapping {
  MappingKind kind = MappingKind::kLoop;
  std::vector<AtomId> block_axes;  // outer first
  std::vector<AtomId> rows;        // outer first; may be empty (one row)
  bool lanes_along_rows = false;
  int threads_per_row = 1;
  int row_threads = 1;
  int rows_per_thread = 1;
  int64_t passes = 1;
  int64_t grid_x = 1;
  int64_t grid_y = 1;  // product of block_axes
};

// How the threads of a row share the columns of a group. The flattened column index of step i is
//   i * threads_per_row * vector + column_thread * vector + j,  j < vector
// (threads_per_row as `threads` here: of the stage, or of one inner row).
// inner_rows: kept atoms inside a row (the result of a reduce that is not one value per row): the
// row's threads form teams of `threads` that share the inner rows in turn.
struct GroupMapping {
  std::vector<AtomId> inner_rows;  // outer first; usually empty
  std::vector<AtomId> columns;     // outer first; empty: one column (values per row)
  int threads = 1;
  int vector = 1;        // divides the extent of the innermost column atom, or 1
  bool unrolled = true;  // steps unrolled whole; needed by register arrays
};

// ---- roots ------------------------------------------------------------------------------------

enum class RootKind : uint8_t {
  kReduce,  // over the group's columns (all of them are reduced), combined over the row's threads;
            // of a contraction node: the sum of products (matrix-vector, depthwise)
  kReduceRows,  // over the stage's rows and passes; the result has one value per column
  kPlace,       // an element-wise value kept at every point of the group
  kStore,       // to a buffer
  kContract,    // a contraction; its result is kFragment
};
// How a sum runs in the pass of a reduce that it depends on (structure/cascade.h).
enum class CascadeRule : uint8_t { kNone, kShiftedExp, kSquaredDistance };
struct Cascade {
  CascadeRule rule = CascadeRule::kNone;
  AccessValueId leader;  // the reduce that is followed, an earlier root of the group
  AccessValueId center;  // whose running value the terms read: the leader, or the mean of its sum
  friend bool operator==(const Cascade&, const Cascade&) = default;
};

struct Root {
  RootKind kind = RootKind::kStore;
  AccessValueId value;        // computed by a node of this kernel, or for kStore any value
  BufferId buffer;            // kStore
  std::vector<ExprId> index;  // kStore: per dim of the buffer, over the value's atoms
  // kReduce whose threads are not lanes of one warp: shared memory in which their partial results
  // meet (two reductions in a row have different slots, so that one barrier each is enough).
  int64_t slot_offset = -1;
  int64_t slot_bytes = 0;
  Cascade cascade = {};  // kReduce
};

struct Group {
  GroupMapping mapping;
  std::vector<Root> roots;
  bool block_barrier = false;       // __syncthreads before the group
  std::vector<Guard> guards;        // points outside are skipped, beside those of the stage
  std::vector<AccessNodeId> nodes;  // of this group, for comments and reports; inline ones included
};

// ---- stages and kernels -----------------------------------------------------------------------

enum class Separation : uint8_t {
  kNone,            // the first stage
  kTicket,          // of the blocks that differ in split_axes only, the last to arrive goes on
  kRowBarrier,      // the blocks that differ in split_axes only wait for each other
  kGridBarrier,     // all blocks wait
  kClusterBarrier,  // the blocks of a cluster wait for each other; they differ in split_axes only
};

// Tile of a contraction compiled by us: a block computes tile_m x tile_n results (flattened m and
// n axes) of one assignment of block_axes (batch, blockIdx.y), stepping tile_k through the reduced
// atoms. blockIdx.x = m tile * n tiles + n tile. The operand that has m atoms is staged at
// shared_m[k * pitch_m + m], the other at shared_n[k * pitch_n + n], both in the compute type.
struct ContractionMapping {
  std::vector<AtomId> m_axes, n_axes, k_axes;
  int m_operand = 0;  // which operand of the node has the m atoms: 0, or 1
  int tile_m = 64, tile_n = 64, tile_k = 16;
  int thread_m = 4, thread_n = 4;  // results per thread; block = tile_m/thread_m * tile_n/thread_n
  int64_t shared_m = 0, shared_n = 0;  // bytes in the arena
  int pitch_m = 68, pitch_n = 68;      // elements
};

struct Stage {
  Separation before = Separation::kNone;
  std::vector<AtomId> split_axes;  // of the previous stage's block_axes (ticket, row barrier)
  bool whole_grid = false;         // ticket: all blocks of the part, whatever they own
  int counter = -1;                // the first of its counters (one per assignment of the previous
                                   // stage's block_axes without split_axes; whole grid: one)
  int64_t flag_offset = -1;        // ticket: 4 bytes of shared memory for the answer
  StageMapping mapping;
  ContractionMapping contraction;  // kind kContraction only
  std::vector<Guard> guards;       // of ragged atom splits: points outside are skipped
  std::vector<Group> groups;
};

struct Part {
  std::vector<Stage> stages;
  int64_t blocks = 1;  // largest grid_x * grid_y of its stages
};

// Predicted cost of one kernel (stitching.md 7, latency evaluator); microseconds and bytes.
struct Estimate {
  double launch_us = 0, memory_us = 0, instruction_us = 0, barrier_us = 0, floor_us = 0;
  double total_us = 0;
  int registers = 0;  // assumed per thread
  double occupancy = 0;
};

// The three counts of emulator.md; never mixed up.
struct ByteCounts {
  int64_t compulsory = 0;  // each input and output once
  int64_t bytes = 0;       // + scratch written and read + operands loaded again by further groups
  int64_t requested = 0;   // 32 x sectors
};

struct Kernel {
  std::string name;
  std::vector<Part> parts;  // more than one: packed; part p owns the next `blocks` block numbers
  int block = 256;
  int min_blocks_per_sm = 0;  // second argument of __launch_bounds__; 0: none
  int64_t shared_bytes = 0;
  int cluster = 1;           // blocks of a cluster, which are numbered one after another
  int counters = 0;          // of tickets and barriers, each in a sector of its own
  bool cooperative = false;  // row and grid barriers: all blocks must be resident
  std::vector<Kernel> twin;  // the same work without barriers that wait
  std::map<AccessValueId, std::vector<Place>> places;
  std::vector<SourceId> sources;
  std::string why_not_larger;
  Estimate estimate;
  ByteCounts bytes;
};

// A matmul by cuBLASLt; operands and result are values that have buffers.
struct LibraryMatmul {
  MatmulLayout layout;
  std::vector<SourceId> sources;
};

using Step = std::variant<Kernel, LibraryMatmul>;

struct Plan {
  AccessGraph graph;         // with the clones that kernels own: every kernel has nodes of its own
  std::string device;        // "a100"
  std::string architecture;  // "sm_80"
  std::vector<Step> steps;
  std::vector<Buffer> buffers;
  int64_t arena_bytes = 0;         // workspace without counters
  int regions = 0;                 // depth regions after absorption
  std::vector<std::string> notes;  // what the planner decided; edges: explain.h
};

}  // namespace stitch
