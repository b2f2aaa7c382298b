// Copying of elements from a strided view into contiguous memory: every movement op is one.
#pragma once
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

namespace stitch {

// Element (i0, i1, ...) of the view is at base + sum of i * stride; strides may be 0 or negative.
struct StridedView {
  std::vector<int64_t> extents;
  std::vector<int64_t> strides;
  int64_t base = 0;
};

inline std::vector<int64_t> row_major_strides(const std::vector<int64_t>& extents) {
  std::vector<int64_t> strides(extents.size(), 1);
  for (size_t i = extents.size(); i-- > 1;) strides[i - 1] = strides[i] * extents[i];
  return strides;
}

// The elements of a row-major tensor, in the order in which a tensor with `strides` has them in
// memory. None where those strides leave gaps, or give two elements one place.
inline std::optional<StridedView> in_storage_order(const std::vector<int64_t>& extents,
                                                   const std::vector<int64_t>& strides) {
  std::vector<size_t> order(extents.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return strides[a] > strides[b]; });
  int64_t step = 1;
  for (auto d = order.rbegin(); d != order.rend(); ++d) {
    if (extents[*d] == 1) continue;
    if (strides[*d] != step) return std::nullopt;
    step *= extents[*d];
  }
  const std::vector<int64_t> from = row_major_strides(extents);
  StridedView view;
  for (const size_t d : order) {
    view.extents.push_back(extents[d]);
    view.strides.push_back(from[d]);
  }
  return view;
}

// Drops axes of extent 1 and joins neighbours that step evenly; keeps at least one axis.
inline StridedView joined(const StridedView& view) {
  StridedView result{{}, {}, view.base};
  for (size_t i = 0; i < view.extents.size(); ++i) {
    if (view.extents[i] == 1) continue;
    if (!result.extents.empty() && result.strides.back() == view.strides[i] * view.extents[i]) {
      result.extents.back() *= view.extents[i];
      result.strides.back() = view.strides[i];
    } else {
      result.extents.push_back(view.extents[i]);
      result.strides.push_back(view.strides[i]);
    }
  }
  if (result.extents.empty()) {
    result.extents = {1};
    result.strides = {1};
  }
  return result;
}

// Calls visit(offset) for the start of each innermost row, in row-major order.
template <class Visit>
void for_each_row(const StridedView& view, Visit visit) {
  const size_t outer = view.extents.size() - 1;
  for (const int64_t extent : view.extents) {
    if (extent == 0) return;
  }
  std::vector<int64_t> index(outer, 0);
  int64_t offset = view.base;
  while (true) {
    visit(offset);
    size_t axis = outer;
    while (axis-- > 0) {
      offset += view.strides[axis];
      if (++index[axis] < view.extents[axis]) break;
      offset -= view.strides[axis] * view.extents[axis];
      index[axis] = 0;
    }
    if (axis == static_cast<size_t>(-1)) return;
  }
}

// Writes the elements of the view of `in` one after another to `out`.
template <class T>
void gather_strided(const StridedView& from, const T* in, T* out) {
  const StridedView view = joined(from);
  const int64_t row = view.extents.back();
  const int64_t stride = view.strides.back();
  for_each_row(view, [&](int64_t offset) {
    const T* source = in + offset;
    if (stride == 1) {
      std::copy(source, source + row, out);
    } else if (stride == 0) {
      std::fill(out, out + row, *source);
    } else {
      for (int64_t i = 0; i < row; ++i) out[i] = source[i * stride];
    }
    out += row;
  });
}

// Reads elements one after another from `in` and writes them to the view of `out`.
template <class T>
void scatter_strided(const StridedView& to, const T* in, T* out) {
  const StridedView view = joined(to);
  const int64_t row = view.extents.back();
  const int64_t stride = view.strides.back();
  for_each_row(view, [&](int64_t offset) {
    for (int64_t i = 0; i < row; ++i) out[offset + i * stride] = in[i];
    in += row;
  });
}

}  // namespace stitch
