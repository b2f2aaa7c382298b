// Integer division that rounds towards minus infinity, and its remainder; the divisor is positive.
#pragma once
#include <cstdint>

namespace stitch {

constexpr int64_t floor_quotient(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }
constexpr int64_t floor_remainder(int64_t a, int64_t b) { return a - floor_quotient(a, b) * b; }

}  // namespace stitch
