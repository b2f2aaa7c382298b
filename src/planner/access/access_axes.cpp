#include "planner/access/access_axes.h"

#include <algorithm>
#include <utility>

namespace stitch {
namespace {

// Whether cutting two sequences at each other's borders needs whole factors only.
bool have_common_factors(std::vector<int64_t> a, std::vector<int64_t> b) {
  while (!a.empty() && !b.empty()) {
    const int64_t x = a.back(), y = b.back();
    if (x == 0 || y == 0) return false;
    a.pop_back();
    b.pop_back();
    if (x < y) {
      if (y % x != 0) return false;
      b.push_back(y / x);
    } else if (y < x) {
      if (x % y != 0) return false;
      a.push_back(x / y);
    }
  }
  return a.empty() && b.empty();
}

}  // namespace

Axis AxisClasses::add(int64_t extent) {
  const Axis axis = static_cast<Axis>(axes_.size());
  axes_.push_back({extent, axis, {}, {}});
  return axis;
}

void AxisClasses::live_together(const AxisSequence& axes) {
  const AxisSequence all = leaves(axes);
  for (const Axis axis : all) {
    for (const Axis other : all) {
      if (other != axis) axes_[axis].beside.push_back(other);
    }
  }
}

void AxisClasses::unify(const AxisSequence& a, const AxisSequence& b) {
  AxisSequence left = leaves(a), right = leaves(b);
  if (left == right) return;
  const auto extents = [&](const AxisSequence& axes) {
    std::vector<int64_t> result;
    for (const Axis axis : axes) result.push_back(extent(axis));
    return result;
  };
  if (!have_common_factors(extents(left), extents(right))) return;
  while (!left.empty() && !right.empty()) {
    const Axis x = take_leaf(left), y = take_leaf(right);
    if (x == y) continue;
    if (extent(x) == extent(y)) {
      if (live_beside(x, y)) continue;
      axes_[x].link = y;
      auto& beside = axes_[y].beside;
      beside.insert(beside.end(), axes_[x].beside.begin(), axes_[x].beside.end());
      axes_[x].beside.clear();
    } else if (extent(x) < extent(y)) {
      split(y, extent(y) / extent(x));
      left.push_back(x);
      right.insert(right.end(), axes_[y].parts.begin(), axes_[y].parts.end());
    } else {
      split(x, extent(x) / extent(y));
      right.push_back(y);
      left.insert(left.end(), axes_[x].parts.begin(), axes_[x].parts.end());
    }
  }
}

// The last axis of a sequence; its parts when it was split meanwhile.
Axis AxisClasses::take_leaf(AxisSequence& axes) {
  while (true) {
    const Axis last = root(axes.back());
    axes.pop_back();
    const AxisSequence& parts = axes_[last].parts;
    if (parts.empty()) return last;
    axes.insert(axes.end(), parts.begin(), parts.end());
  }
}

AxisSequence AxisClasses::leaves(const AxisSequence& axes) {
  AxisSequence result;
  for (const Axis axis : axes) append_leaves(axis, result);
  return result;
}

Axis AxisClasses::root(Axis axis) {
  while (axes_[axis].link != axis) {
    axes_[axis].link = axes_[axes_[axis].link].link;
    axis = axes_[axis].link;
  }
  return axis;
}

void AxisClasses::append_leaves(Axis axis, AxisSequence& out) {
  axis = root(axis);
  if (axes_[axis].parts.empty()) {
    out.push_back(axis);
    return;
  }
  for (const Axis part : axes_[axis].parts) append_leaves(part, out);
}

void AxisClasses::split(Axis axis, int64_t outer) {
  const Axis high = add(outer);
  const Axis low = add(axes_[axis].extent / outer);
  axes_[high].beside = axes_[axis].beside;
  axes_[low].beside = axes_[axis].beside;
  axes_[high].beside.push_back(low);
  axes_[low].beside.push_back(high);
  axes_[axis].parts = {high, low};
  axes_[axis].beside.clear();
}

bool AxisClasses::live_beside(Axis a, Axis b) {
  if (axes_[a].beside.size() > axes_[b].beside.size()) std::swap(a, b);
  AxisSequence beside = leaves(axes_[a].beside);
  std::sort(beside.begin(), beside.end());
  beside.erase(std::unique(beside.begin(), beside.end()), beside.end());
  axes_[a].beside = std::move(beside);
  return std::binary_search(axes_[a].beside.begin(), axes_[a].beside.end(), b);
}

}  // namespace stitch
