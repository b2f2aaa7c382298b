// Axes before they become atoms: loop indices under union-find that can be split into an ordered
// product of smaller ones (stitching.md 6a).
#pragma once
#include <cstdint>
#include <vector>

namespace stitch {

using Axis = uint32_t;
using AxisSequence = std::vector<Axis>;  // outer first; the product of the extents is the dim's

class AxisClasses {
 public:
  Axis add(int64_t extent);
  int64_t extent(Axis axis) const { return axes_[axis].extent; }
  // These axes index one value or one loop nest: none of them may become equal to another.
  void live_together(const AxisSequence& axes);
  // Makes two sequences with equal products one index, splitting where needed: [12,64] and [768].
  // What does not factor ([6,4] and [8,3]) or lives together stays apart.
  void unify(const AxisSequence& a, const AxisSequence& b);
  // The unsplit axes behind a sequence.
  AxisSequence leaves(const AxisSequence& axes);

 private:
  struct Class {
    int64_t extent = 1;
    Axis link = 0;             // itself for a root
    AxisSequence parts;        // of a split root
    std::vector<Axis> beside;  // axes that it lives together with
  };
  Axis root(Axis axis);
  Axis take_leaf(AxisSequence& axes);
  void append_leaves(Axis axis, AxisSequence& out);
  void split(Axis axis, int64_t outer);
  bool live_beside(Axis a, Axis b);
  std::vector<Class> axes_;
};

}  // namespace stitch
