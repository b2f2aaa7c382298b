// Finds what the groups over one set of columns compute or load more than once, and so may keep.
#pragma once
#include <map>
#include <unordered_map>
#include <vector>

#include "planner/stage/stage_groups.h"

namespace stitch {

class KeptRows {
 public:
  KeptRows(KernelNodes& nodes, const std::vector<StageGroup>& groups,
           const std::vector<AtomId>& columns, ValueTracer::IsPlaced is_placed);

  // The values nearest to the later group's roots; a value below a kept one is not kept for it.
  std::vector<KeptValue> find();

 private:
  struct Load {
    AccessNodeId reader;
    size_t operand = 0;
    size_t first_group = 0;
  };
  bool is_full(const std::vector<AtomId>& atoms) const;
  void note_first(size_t group);
  void need_load(const TracedRead& read);
  bool need_value(AccessValueId value);
  const Load* find_load(const Read& read) const;
  bool is_worth_keeping(AccessValueId value);

  KernelNodes& nodes_;
  const std::vector<StageGroup>& groups_;
  const std::vector<AtomId>& columns_;
  ValueTracer tracer_;  // up to what is placed
  ValueTracer needs_;   // up to what is placed or kept
  size_t group_ = 0;    // at hand
  std::unordered_map<AccessNodeId, size_t> first_group_;
  std::vector<Load> loads_;
  std::vector<KeptValue> kept_;
};

}  // namespace stitch
