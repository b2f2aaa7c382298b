// reduce_window and argwindow over the trailing axes.
#include "graph/op_evaluation.h"
#include "graph/reduction_scalar.h"

namespace stitch {
namespace {

// One plane of the windowed axes: where windows start, and which taps lie inside.
class Plane {
 public:
  Plane(const WindowAttributes& window, const std::vector<int64_t>& operand,
        const std::vector<int64_t>& result)
      : window_(window), axes_(window.kernel.size()) {
    extents_.assign(operand.end() - static_cast<std::ptrdiff_t>(axes_), operand.end());
    windows_.assign(result.end() - static_cast<std::ptrdiff_t>(axes_), result.end());
    for (const int64_t extent : extents_) size_ *= extent;
    for (const int64_t count : windows_) window_count_ *= count;
  }

  int64_t size() const { return size_; }                  // elements of the operand's plane
  int64_t window_count() const { return window_count_; }  // elements of the result's plane

  // Calls visit(offset in the operand's plane) for each tap of window `index` inside the operand.
  template <class Visit>
  void for_each_tap(int64_t index, Visit visit) const {
    walk(0, index, window_count_, 0, visit);
  }

 private:
  template <class Visit>
  void walk(size_t axis, int64_t index, int64_t below, int64_t offset, Visit& visit) const {
    if (axis == axes_) return visit(offset);
    below /= windows_[axis];
    const int64_t start = index / below * window_.strides[axis] - window_.low[axis];
    for (int64_t tap = 0; tap < window_.kernel[axis]; ++tap) {
      const int64_t position = start + tap * window_.dilations[axis];
      if (position < 0 || position >= extents_[axis]) continue;
      walk(axis + 1, index % below, below, offset * extents_[axis] + position, visit);
    }
  }

  const WindowAttributes& window_;
  size_t axes_;
  std::vector<int64_t> extents_, windows_;
  int64_t size_ = 1, window_count_ = 1;
};

template <class T>
void reduce_windows(const Plane& plane, ReduceKind kind, const T* in, T* out, int64_t count) {
  visit_combiner<T>(kind, [&](auto combine) {
    for (int64_t w = 0; w < count; ++w) {
      const T* base = in + w / plane.window_count() * plane.size();
      T total = reduction_identity<T>(kind);
      plane.for_each_tap(w % plane.window_count(),
                         [&](int64_t offset) { total = combine(total, base[offset]); });
      out[w] = total;
    }
  });
}

// The first maximum, NaN before numbers; 0 for a window that holds padding only.
template <class T>
void arg_windows(const Plane& plane, const T* in, int64_t* out, int64_t count) {
  for (int64_t w = 0; w < count; ++w) {
    const T* base = in + w / plane.window_count() * plane.size();
    int64_t best = -1;
    plane.for_each_tap(w % plane.window_count(), [&](int64_t offset) {
      const bool first = best < 0;
      if (first || (base[best] == base[best] &&
                    (base[offset] > base[best] || base[offset] != base[offset]))) {
        best = offset;
      }
    });
    out[w] = std::max<int64_t>(best, 0);
  }
}

}  // namespace

Tensor evaluate_window(const OpCall& call) {
  const auto& window = call.as<WindowAttributes>();
  const Tensor& operand = call.operand(0);
  Tensor result = call.make_result();
  const Plane plane(window, operand.extents(), call.result_extents);
  visit_type(operand.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    if (call.op == Op::k_argwindow) {
      arg_windows(plane, data<T>(operand), mutable_data<int64_t>(result), result.element_count());
    } else {
      reduce_windows(plane, window.kind, data<T>(operand), mutable_data<T>(result),
                     result.element_count());
    }
  });
  return result;
}

}  // namespace stitch
