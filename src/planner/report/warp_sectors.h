// Sectors that the warps of a group ask for, by going through the addresses of warps one by one; of
// an access that very many warps make, of a sample of them.
#pragma once
#include <cstdint>
#include <vector>

#include "planner/report/global_accesses.h"

namespace stitch {

class WarpSectors {
 public:
  // `values` is scratch memory, by atom.
  WarpSectors(const IndexPool& pool, const Stage& stage, const Group& group,
              const GroupAccesses& accesses, std::vector<int64_t>& values);

  // 32-byte sectors of all requests of all warps. A request is one warp that executes one access
  // instruction; one of 16 bytes per lane at most.
  double sectors(const GlobalAccess& access);

 private:
  static constexpr int kWarp = 32;
  // One warp at one point of its loops.
  struct Instance {
    int64_t block = 0, outer = 0, pass = 0, row = 0, round = 0, step = 0, lane = 0, warp = 0;
  };
  struct Extents {
    int64_t warps = 1, lanes = 1, steps = 1, rounds = 1, rows = 1, passes = 1;
    std::vector<int64_t> loops;
    int64_t product = 1;  // of these, and of blocks
  };

  Extents extents_of(const GlobalAccess& access) const;
  Instance take_apart(const GlobalAccess& access, const Extents& extents, int64_t number);
  int64_t sectors_of(const GlobalAccess& access, const Instance& instance);
  // Sets the coordinates of a thread; false when it does not take part.
  bool enter(const GlobalAccess& access, const Instance& instance, int thread);
  bool enter_row(const GlobalAccess& access, const Instance& instance, int thread);
  bool enter_column(const GlobalAccess& access, const Instance& instance);
  void find_gathered();
  bool holds(const Guard& guard) const;
  bool holds(const GlobalAccess& access) const;
  int64_t value_of(ExprId expr) const;
  void set(AtomId atom, int64_t value) {
    if (atom.valid()) values_[atom.index] = value;
  }

  const IndexPool& pool_;
  const StageMapping& mapping_;
  const GroupMapping& group_;
  const GroupAccesses& accesses_;
  std::vector<int64_t>& values_;
  int block_ = 0;        // threads
  int64_t rows_ = 1;     // in vectors
  int64_t columns_ = 1;  // in vectors
  int64_t inner_rows_ = 1;
  int64_t teams_ = 1;  // that share the inner rows
  // Of the thread that was entered last.
  int64_t column_thread_ = 0;
  bool live_ = true;
};

}  // namespace stitch
