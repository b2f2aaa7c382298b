// The emulator's version of the device half of base.cuh: the functions that are not plain C++.
#pragma once
#include <cmath>

#include "simt_intrinsics.h"

template <int kBytes>
struct StitchWord;

template <class T>
STITCH_SIMT_INLINE T* stitch_smem(int offset) {
  return reinterpret_cast<T*>(stitch_simt::arena() + offset);
}

// A vector access is one access, reported here and not by the compiler. Inlined in a plain image.
#ifdef STITCH_EMULATOR_CHECKED
#define STITCH_SIMT_WORD STITCH_SIMT_SITED
#else
#define STITCH_SIMT_WORD STITCH_SIMT_INLINE
#endif
template <int kBytes>
STITCH_SIMT_WORD typename StitchWord<kBytes>::type stitch_load_word(const void* address) {
  stitch_simt::touch(address, kBytes, false, STITCH_SIMT_SITE);
  typename StitchWord<kBytes>::type word;
  __builtin_memcpy(&word, address, kBytes);
  return word;
}
template <int kBytes>
STITCH_SIMT_WORD void stitch_store_word(void* address, typename StitchWord<kBytes>::type word) {
  stitch_simt::touch(address, kBytes, true, STITCH_SIMT_SITE);
  __builtin_memcpy(address, &word, kBytes);
}

STITCH_SIMT_INLINE unsigned stitch_load_acquire(const unsigned* counter) {
  return stitch_simt::load_acquire(counter);
}
STITCH_SIMT_INLINE void stitch_add_release(unsigned* counter, unsigned amount) {
  stitch_simt::add(counter, amount, false);
}
STITCH_SIMT_INLINE unsigned stitch_add_acquire_release(unsigned* counter, unsigned amount) {
  return stitch_simt::add(counter, amount, true);
}
STITCH_SIMT_INLINE void stitch_spin() { stitch_simt::spin(); }

STITCH_SIMT_INLINE float stitch_max_nan(float a, float b) {
  return a != a || b != b ? a + b : (a > b ? a : b);
}
STITCH_SIMT_INLINE float stitch_multiply_alone(float a, float b) { return a * b; }
STITCH_SIMT_INLINE float stitch_add_alone(float a, float b) { return a + b; }
STITCH_SIMT_INLINE int stitch_round_to_int(float x) { return __float2int_rn(x); }
STITCH_SIMT_INLINE float stitch_exp_fast(float x) { return expf(x); }
STITCH_SIMT_INLINE float stitch_rsqrt_fast(float x) { return rsqrtf(x); }
STITCH_SIMT_INLINE float stitch_divide_fast(float a, float b) { return a / b; }

STITCH_SIMT_INLINE unsigned stitch_cluster_rank() { return stitch_simt::cluster_rank(); }
STITCH_SIMT_INLINE void stitch_cluster_arrive() { stitch_simt::cluster_arrive(); }
STITCH_SIMT_INLINE void stitch_cluster_wait() { stitch_simt::cluster_wait(); }
STITCH_SIMT_SITED inline float stitch_cluster_load(const float* local, unsigned rank) {
  const void* const remote = stitch_simt::calls->cluster_map(local, rank, STITCH_SIMT_SITE);
  stitch_simt::touch(remote, 4, false, STITCH_SIMT_SITE);
  float value;
  __builtin_memcpy(&value, remote, 4);
  return value;
}
template <int kBytes>
STITCH_SIMT_SITED void stitch_cluster_store(void* local, unsigned rank,
                                            typename StitchWord<kBytes>::type word) {
  void* const remote = stitch_simt::calls->cluster_map(local, rank, STITCH_SIMT_SITE);
  stitch_simt::touch(remote, kBytes, true, STITCH_SIMT_SITE);
  __builtin_memcpy(remote, &word, kBytes);
}
