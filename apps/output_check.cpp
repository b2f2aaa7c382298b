#include "output_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "graph/error.h"

namespace stitch {

namespace {

double largest_magnitude(const Tensor& tensor, int64_t begin, int64_t end) {
  double largest = 0;
  for (int64_t i = begin; i < end; ++i) {
    const double magnitude = std::abs(tensor.real(i));
    if (std::isfinite(magnitude)) largest = std::max(largest, magnitude);
  }
  return largest;
}

// The fp64 value as the output's dtype can hold it: what overflows f16 is infinity there.
double rounded_special(double reference, DType dtype) {
  const double largest = dtype == DType::kF16   ? 65520.0
                         : dtype == DType::kF64 ? HUGE_VAL
                                                : 3.4028235677973366e38;
  if (std::abs(reference) >= largest) return std::copysign(HUGE_VAL, reference);
  return reference;
}

bool same_integers(const Tensor& a, const Tensor& b, int64_t* first) {
  for (int64_t i = 0; i < a.element_count(); ++i) {
    if (a.integer(i) == b.integer(i)) continue;
    *first = i;
    return false;
  }
  return true;
}

struct Bounds {
  double row = 0;
  double recorded = 0;
};

// Both bounds of a dtype; 0 for those that are compared exactly.
Bounds bounds_of(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return {1e-3, 4e-3};
    case DType::kBF16:
      return {8e-3, 3e-2};
    case DType::kF32:
      return {1e-5, 1e-4};
    case DType::kF64:
      return {1e-12, 1e-7};
    case DType::kBool:
    case DType::kI8:
    case DType::kI16:
    case DType::kI32:
    case DType::kI64:
    case DType::kU8:
    case DType::kU16:
    case DType::kU32:
    case DType::kU64:
      return {};
  }
  throw InternalError("unknown dtype");
}

}  // namespace

OutputError output_error(const Tensor& actual, const Tensor& reference) {
  if (actual.element_count() != reference.element_count())
    throw InternalError("an output has another size than its reference");
  OutputError error;
  const int64_t count = reference.element_count();
  const int64_t row =
      reference.extents().empty() ? 1 : std::max<int64_t>(1, reference.extents().back());
  const double tensor_magnitude = largest_magnitude(reference, 0, count);
  for (int64_t begin = 0; begin < count; begin += row) {
    const int64_t end = std::min(begin + row, count);
    double magnitude = largest_magnitude(reference, begin, end);
    if (magnitude == 0) magnitude = tensor_magnitude;
    double row_error = 0;
    for (int64_t i = begin; i < end; ++i) {
      const double a = actual.real(i);
      const double r = rounded_special(reference.real(i), actual.dtype());
      if (!std::isfinite(a) || !std::isfinite(r)) {
        const bool same = std::isnan(a) ? std::isnan(r) : a == r;
        if (!same && !error.special_differs) {
          error.special_differs = true;
          error.first_special = i;
        }
        continue;
      }
      row_error = std::max(row_error, std::abs(a - r));
    }
    error.max_abs = std::max(error.max_abs, row_error);
    if (row_error > 0)
      error.max_rel_row =
          std::max(error.max_rel_row, magnitude > 0 ? row_error / magnitude : HUGE_VAL);
  }
  if (error.max_abs > 0)
    error.max_rel_tensor = tensor_magnitude > 0 ? error.max_abs / tensor_magnitude : HUGE_VAL;
  return error;
}

double row_bound(DType dtype) { return bounds_of(dtype).row; }

double recorded_bound(DType dtype) { return bounds_of(dtype).recorded; }

DType narrowest_rounding(const Graph& graph, ValueId output) {
  DType narrowest = graph.type(output).dtype;
  if (!is_float(narrowest)) return narrowest;
  std::vector<bool> reached(graph.value_count(), false);
  std::vector<ValueId> pending = {output};
  while (!pending.empty()) {
    const ValueId id = pending.back();
    pending.pop_back();
    if (reached[id.index]) continue;
    reached[id.index] = true;
    const Value& value = graph.value(id);
    if (!value.producer.valid() || graph.constant(id) != nullptr) continue;
    if (is_float(value.type.dtype) && row_bound(value.type.dtype) > row_bound(narrowest))
      narrowest = value.type.dtype;
    for (const ValueId operand : graph.node(value.producer).operands) pending.push_back(operand);
  }
  return narrowest;
}

namespace {

// What the output's error is compared with: the less exact of the witnesses that count.
struct Yardstick {
  const Tensor* output = nullptr;
  OutputError error;
};

Yardstick choose_yardstick(const OutputReferences& references, const OutputVerdict& verdict) {
  const bool rounds_to_16_bits = row_bound(references.rounding) > row_bound(DType::kF32);
  if (!verdict.recorded) return {references.native, verdict.native};
  if (rounds_to_16_bits && !verdict.native.special_differs &&
      verdict.native.max_rel_row > verdict.recorded->max_rel_row)
    return {references.native, verdict.native};
  return {references.recorded, *verdict.recorded};
}

}  // namespace

OutputVerdict check_output(const std::string& name, const Tensor& actual,
                           const OutputReferences& references) {
  OutputVerdict verdict;
  verdict.name = name;
  verdict.dtype = actual.dtype();
  verdict.extents = actual.extents();
  if (references.recorded != nullptr &&
      references.recorded->element_count() != actual.element_count()) {
    verdict.against = "recorded";
    verdict.reason = fmt::format("it has {} elements, the recorded output {}",
                                 actual.element_count(), references.recorded->element_count());
    return verdict;
  }
  if (!is_float(actual.dtype())) {
    const Tensor& exact =
        references.recorded != nullptr ? *references.recorded : *references.native;
    verdict.against = references.recorded != nullptr ? "recorded" : "fp64";
    verdict.ours = output_error(actual, exact);
    int64_t first = -1;
    verdict.passed = same_integers(actual, exact, &first);
    if (!verdict.passed)
      verdict.reason = fmt::format("element {} is {} instead of {}", first, actual.integer(first),
                                   exact.integer(first));
    return verdict;
  }
  const OutputError ours = output_error(actual, *references.fp64);
  if (references.recorded != nullptr)
    verdict.recorded = output_error(*references.recorded, *references.fp64);
  verdict.native = output_error(*references.native, *references.fp64);
  const Yardstick yardstick = choose_yardstick(references, verdict);
  const bool fp64_decides = !yardstick.error.special_differs &&
                            yardstick.error.max_rel_tensor <= recorded_bound(references.rounding);
  if (fp64_decides) {
    verdict.against = "fp64";
    verdict.ours = ours;
    const double bound = std::max(row_bound(references.rounding), 2 * yardstick.error.max_rel_row);
    verdict.passed = !ours.special_differs && ours.max_rel_row <= bound;
    if (ours.special_differs)
      verdict.reason =
          fmt::format("element {} is {} instead of {}", ours.first_special,
                      actual.real(ours.first_special), references.fp64->real(ours.first_special));
    else if (!verdict.passed)
      verdict.reason =
          fmt::format("the error of a row, {:.2e}, is above {:.2e}", ours.max_rel_row, bound);
    return verdict;
  }
  verdict.against = "recorded";
  verdict.ours = output_error(actual, *yardstick.output);
  verdict.passed = !verdict.ours.special_differs &&
                   verdict.ours.max_rel_tensor <= recorded_bound(actual.dtype());
  verdict.reason = verdict.passed
                       ? "fp64 decides differently from the recorded output, which was compared"
                       : fmt::format(
                             "the error against the recorded output, {:.2e} of its largest "
                             "element, is above {:.2e}",
                             verdict.ours.max_rel_tensor, recorded_bound(actual.dtype()));
  return verdict;
}

}  // namespace stitch
