// Every construct of emitted code that is not plain C++. The emulator supplies its own version of
// these functions (src/emulator/simt.h); all other device files and all kernels are shared text.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define STITCH_DEVICE __device__ __forceinline__

constexpr unsigned kStitchAllLanes = 0xffffffffu;
constexpr int kStitchWarp = 32;

template <int kBytes>
struct StitchWord;
template <>
struct StitchWord<1> { using type = unsigned char; };
template <>
struct StitchWord<2> { using type = unsigned short; };
template <>
struct StitchWord<4> { using type = unsigned; };
template <>
struct StitchWord<8> { using type = uint2; };
template <>
struct StitchWord<16> { using type = uint4; };

// Infinity and a quiet NaN; NVRTC without headers has no other names for them.
// Cost: none. Source: IEEE 754.
STITCH_DEVICE float stitch_infinity() { return __int_as_float(0x7f800000); }
STITCH_DEVICE float stitch_nan() { return __int_as_float(0x7fc00000); }

#ifndef STITCH_EMULATOR

extern __shared__ __align__(16) unsigned char stitch_arena[];

// Typed view of the block's shared arena at a byte offset chosen by the planner.
// Cost: none, the offset folds into the address. Source: own.
template <class T>
STITCH_DEVICE T* stitch_smem(int offset) {
  return reinterpret_cast<T*>(stitch_arena + offset);
}

// Loads 1, 2, 4, 8 or 16 aligned bytes; const __restrict__ arguments take the read-only path.
// Cost: one LDG or LDS. Source: own.
template <int kBytes>
STITCH_DEVICE typename StitchWord<kBytes>::type stitch_load_word(const void* address) {
  return *static_cast<const typename StitchWord<kBytes>::type*>(address);
}

// Stores 1, 2, 4, 8 or 16 aligned bytes.
// Cost: one STG or STS. Source: own.
template <int kBytes>
STITCH_DEVICE void stitch_store_word(void* address, typename StitchWord<kBytes>::type word) {
  *static_cast<typename StitchWord<kBytes>::type*>(address) = word;
}

// Reads a counter so that all that was released before it becomes visible to this thread.
// Cost: one L2 round trip (about 0.5 us under contention). Source: PTX ISA, memory consistency.
STITCH_DEVICE unsigned stitch_load_acquire(const unsigned* counter) {
  unsigned value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(counter) : "memory");
  return value;
}

// Adds to a counter after all that this thread, or its block before a barrier, has written.
// Cost: one reduction at L2, no wait for the result. Source: PTX ISA, memory consistency.
STITCH_DEVICE void stitch_add_release(unsigned* counter, unsigned amount) {
  asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(counter), "r"(amount) : "memory");
}

// Takes a ticket: releases earlier writes, acquires those released by earlier tickets.
// Cost: one L2 round trip. Source: PTX ISA, memory consistency.
STITCH_DEVICE unsigned stitch_add_acquire_release(unsigned* counter, unsigned amount) {
  unsigned before;
  asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;"
               : "=r"(before) : "l"(counter), "r"(amount) : "memory");
  return before;
}

// Waits a little inside a spin loop; the emulator runs another block here.
// Cost: about 32 ns. Source: CUDA programming guide, __nanosleep.
STITCH_DEVICE void stitch_spin() { __nanosleep(32); }

// Maximum that keeps NaN, as ONNX Max, Relu and ReduceMax require (fmaxf drops it).
// Cost: one FMNMX.NAN; three instructions before sm_80. Source: PTX ISA, max.NaN (sm_80).
STITCH_DEVICE float stitch_max_nan(float a, float b) {
#if __CUDA_ARCH__ >= 800
  float r;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
#else
  return a != a || b != b ? a + b : fmaxf(a, b);
#endif
}

// Product and sum that the compiler must not contract into a fused multiply-add: where a later
// rounding to integer has to fall as in the operator-by-operator model. Cost: one instruction each.
STITCH_DEVICE float stitch_multiply_alone(float a, float b) { return __fmul_rn(a, b); }
STITCH_DEVICE float stitch_add_alone(float a, float b) { return __fadd_rn(a, b); }

// Rounds half to even and saturates to int32; NaN gives 0.
// Cost: one F2I. Source: CUDA math API.
STITCH_DEVICE int stitch_round_to_int(float x) { return __float2int_rn(x); }

// Approximate exponential, reciprocal square root and quotient: opt-in (fast math) only.
// Cost: 1 to 3 instructions; error 2 ulp plus 2^-21 |x| (exp), 2 ulp, 2 ulp. Source: CUDA math API.
STITCH_DEVICE float stitch_exp_fast(float x) { return __expf(x); }
STITCH_DEVICE float stitch_rsqrt_fast(float x) { return rsqrtf(x); }
STITCH_DEVICE float stitch_divide_fast(float a, float b) { return __fdividef(a, b); }

#if __CUDA_ARCH__ >= 900

// Rank of this block in its cluster.
// Cost: one S2R. Source: PTX ISA, %cluster_ctarank.
STITCH_DEVICE unsigned stitch_cluster_rank() {
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// Cluster barrier in two halves: work that needs no peer goes between arrive and wait.
// Cost: about 0.2 us for both when nothing is between them. Source: PTX ISA, barrier.cluster.
STITCH_DEVICE void stitch_cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
STITCH_DEVICE void stitch_cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// Reads a float at this block's shared address, but in the block of the given rank.
// Cost: about 200 cycles. Source: PTX ISA, mapa and ld.shared::cluster.
STITCH_DEVICE float stitch_cluster_load(const float* local, unsigned rank) {
  unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(local));
  float value;
  asm volatile("mapa.shared::cluster.u32 %0, %0, %2;\n\tld.shared::cluster.f32 %1, [%0];"
               : "+r"(address), "=f"(value) : "r"(rank) : "memory");
  return value;
}

// Writes 4 or 8 bytes at this block's shared address, but in the block of the given rank.
// Cost: about 200 cycles, nobody waits for it. Source: PTX ISA, mapa and st.shared::cluster.
template <int kBytes>
STITCH_DEVICE void stitch_cluster_store(void* local, unsigned rank,
                                        typename StitchWord<kBytes>::type word);
template <>
STITCH_DEVICE void stitch_cluster_store<4>(void* local, unsigned rank, unsigned word) {
  unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(local));
  asm volatile("mapa.shared::cluster.u32 %0, %0, %1;\n\tst.shared::cluster.u32 [%0], %2;"
               : "+r"(address) : "r"(rank), "r"(word) : "memory");
}
template <>
STITCH_DEVICE void stitch_cluster_store<8>(void* local, unsigned rank, uint2 word) {
  unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(local));
  asm volatile("mapa.shared::cluster.u32 %0, %0, %1;\n\tst.shared::cluster.v2.u32 [%0], {%2, %3};"
               : "+r"(address) : "r"(rank), "r"(word.x), "r"(word.y) : "memory");
}

#endif  // __CUDA_ARCH__ >= 900
#endif  // STITCH_EMULATOR
