// Host meaning of tensor-core products, matrix loads and asynchronous copies.
//
// Which lane holds what is written down here once more, from the PTX ISA, so that a wrong map in a
// device function shows. Products are exact in double; every 8 (16-bit) or 4 (tf32) of them are
// added to the sum at once and the result is cut off, not rounded, as tensor cores do.
#pragma once
#include <cstdint>

#include "simt_intrinsics.h"

namespace stitch_simt {

inline float bits_as_float(unsigned bits) { return stitch_simt_bits<float>(bits); }

// The pair of operands in one register, as float.
template <class T>
struct Unpack;
template <>
struct Unpack<__half> {
  STITCH_SIMT_UNSEEN static void pair(float* to, unsigned word) {
    for (int i = 0; i < 2; ++i) {
      const unsigned short bits = static_cast<unsigned short>(word >> 16 * i);
      __half value;
      __builtin_memcpy(static_cast<void*>(&value), &bits, sizeof bits);
      to[i] = __half2float(value);
    }
  }
};
template <>
struct Unpack<__nv_bfloat16> {
  STITCH_SIMT_UNSEEN static void pair(float* to, unsigned word) {
    to[0] = bits_as_float(word << 16);
    to[1] = bits_as_float(word & 0xffff0000u);
  }
};
struct Tf32 {};
template <>
struct Unpack<Tf32> {
  STITCH_SIMT_UNSEEN static void pair(float* to, unsigned word) {
    to[0] = bits_as_float(word & 0xffffe000u);
    to[1] = 0.0f;
  }
};

STITCH_SIMT_UNSEEN inline float cut_off(double exact) {
  float rounded = static_cast<float>(exact);
  if (std::fabs(static_cast<double>(rounded)) > std::fabs(exact))
    rounded = std::nextafter(rounded, 0.0f);
  return rounded;
}

// m16n8k16 (16-bit) or m16n8k8 (tf32). Lane 4 g + q holds
//   a: rows g (registers 0, 2) and g + 8 (1, 3); columns 2 q and the next, and 8 further in
//   registers
//      2, 3 (tf32: column q, and q + 4 in registers 2, 3)
//   b: column g; the same depths as a's registers 0 and 2
//   sum: rows g (0, 1) and g + 8 (2, 3), columns 2 q and the next.
// Source: PTX ISA, matrix fragments for mma.m16n8k16 and mma.m16n8k8.
template <class T>
STITCH_SIMT_SITED void multiply(float (&sum)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  constexpr unsigned kFloats = kSlotBytes / sizeof(float);
  auto* const slots = reinterpret_cast<float*>(calls->exchange_slots());
  const unsigned group = lane() / 4, quarter = lane() % 4;
  float* const own = slots + kFloats * lane();
  for (int i = 0; i < 4; ++i) Unpack<T>::pair(own + 2 * i, a[i]);
  for (int i = 0; i < 2; ++i) Unpack<T>::pair(own + 8 + 2 * i, b[i]);
  calls->warp_meet(kAllLanes, Meeting::kProduct, STITCH_SIMT_SITE);
  for (unsigned column = 0; column < 2; ++column)
    for (unsigned row = 0; row < 2; ++row) {
      float& total = sum[2 * row + column];
      for (unsigned half = 0; half < 2; ++half) {
        double exact = static_cast<double>(total);
        for (unsigned q = 0; q < 4; ++q) {
          const float* const x = slots + kFloats * (4 * group + q) + 2 * (row + 2 * half);
          const float* const y = slots + kFloats * (4 * (2 * quarter + column) + q) + 8 + 2 * half;
          exact += static_cast<double>(x[0]) * static_cast<double>(y[0]) +
                   static_cast<double>(x[1]) * static_cast<double>(y[1]);
        }
        total = cut_off(exact);
      }
    }
}

// m16n8k32: each register holds four neighbouring depths, 4 q + {0..3}, and 16 further in registers
// 2, 3. Sums wrap. Source: PTX ISA, matrix fragments for mma.m16n8k32.
STITCH_SIMT_SITED inline void multiply_s8(int (&sum)[4], const unsigned (&a)[4],
                                          const unsigned (&b)[2]) {
  auto* const slots = reinterpret_cast<signed char*>(calls->exchange_slots());
  const unsigned group = lane() / 4, quarter = lane() % 4;
  __builtin_memcpy(slots + kSlotBytes * lane(), a, sizeof a);
  __builtin_memcpy(slots + kSlotBytes * lane() + sizeof a, b, sizeof b);
  calls->warp_meet(kAllLanes, Meeting::kProduct, STITCH_SIMT_SITE);
  for (unsigned column = 0; column < 2; ++column)
    for (unsigned row = 0; row < 2; ++row) {
      unsigned total = static_cast<unsigned>(sum[2 * row + column]);
      for (unsigned half = 0; half < 2; ++half)
        for (unsigned q = 0; q < 4; ++q) {
          const signed char* const x = slots + kSlotBytes * (4 * group + q) + 4 * (row + 2 * half);
          const signed char* const y =
              slots + kSlotBytes * (4 * (2 * quarter + column) + q) + sizeof a + 4 * half;
          for (int i = 0; i < 4; ++i) total += static_cast<unsigned>(x[i] * y[i]);
        }
      sum[2 * row + column] = static_cast<int>(total);
    }
}

// Lane l names row l % 8 of matrix l / 8 and receives elements 2 * (l % 4) and the next of row l /
// 4 of each matrix; transposed: rows 2 * (l % 4) and the next of column l / 4. Source: PTX ISA,
// ldmatrix.
STITCH_SIMT_UNSEEN inline void load_matrices(unsigned (&to)[4], const void* row, bool transposed,
                                             const void* site) {
  touch(row, 16, false, site);
  unsigned char* const slots = calls->exchange_slots();
  const unsigned l = lane();
  __builtin_memcpy(slots + kSlotBytes * l, row, 16);
  calls->warp_meet(kAllLanes, Meeting::kMatrixLoad, site);
  for (unsigned m = 0; m < 4; ++m) {
    const unsigned char* const matrix = slots + kSlotBytes * 8 * m;
    if (!transposed) {
      __builtin_memcpy(to + m, matrix + kSlotBytes * (l / 4) + 4 * (l % 4), 4);
      continue;
    }
    unsigned short low, high;
    __builtin_memcpy(&low, matrix + kSlotBytes * (2 * (l % 4)) + 2 * (l / 4), 2);
    __builtin_memcpy(&high, matrix + kSlotBytes * (2 * (l % 4) + 1) + 2 * (l / 4), 2);
    to[m] = low | static_cast<unsigned>(high) << 16;
  }
}

}  // namespace stitch_simt

template <class T>
STITCH_SIMT_INLINE void stitch_mma(float (&sum)[4], const unsigned (&a)[4],
                                   const unsigned (&b)[2]) {
  stitch_simt::multiply<T>(sum, a, b);
}
STITCH_SIMT_INLINE void stitch_mma_tf32(float (&sum)[4], const unsigned (&a)[4],
                                        const unsigned (&b)[2]) {
  stitch_simt::multiply<stitch_simt::Tf32>(sum, a, b);
}
STITCH_SIMT_INLINE void stitch_mma_s8(int (&sum)[4], const unsigned (&a)[4],
                                      const unsigned (&b)[2]) {
  stitch_simt::multiply_s8(sum, a, b);
}
// To nearest, ties away from zero. Source: PTX ISA, cvt.rna.tf32.f32.
STITCH_SIMT_INLINE unsigned stitch_tf32(float x) {
  unsigned bits = __float_as_uint(x);
  if ((bits & 0x7f800000u) != 0x7f800000u) bits += 0x1000u;
  return bits & 0xffffe000u;
}
STITCH_SIMT_INLINE int stitch_dot4(int a, int b, int sum) { return __dp4a(a, b, sum); }
STITCH_SIMT_SITED inline void stitch_load_matrices(unsigned (&to)[4], const void* row) {
  stitch_simt::load_matrices(to, row, false, STITCH_SIMT_SITE);
}
STITCH_SIMT_SITED inline void stitch_load_matrices_transposed(unsigned (&to)[4], const void* row) {
  stitch_simt::load_matrices(to, row, true, STITCH_SIMT_SITE);
}
template <int kBytes>
STITCH_SIMT_SITED void stitch_copy_async(void* shared, const void* global, bool inside) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16, "sizes of cp.async");
  stitch_simt::calls->copy_async(shared, global, kBytes, inside, STITCH_SIMT_SITE);
}
STITCH_SIMT_UNSEEN inline void stitch_commit_copies() { stitch_simt::calls->commit_copies(); }
template <int kPending>
STITCH_SIMT_UNSEEN void stitch_wait_copies() {
  stitch_simt::calls->wait_copies(kPending);
}
// Results below the smallest normal become 0. Source: PTX ISA, ex2.approx.ftz.
STITCH_SIMT_INLINE float stitch_exp2_flush(float x) {
  const float y = exp2f(x);
  return y < 1.17549435e-38f ? 0.0f : y;
}
