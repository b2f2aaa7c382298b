// Contractions on the ordinary cores: operand tiles in shared memory, outer products in registers.
#pragma once
#include "integer.cuh"
#include "vector.cuh"

// a * b + c in the accumulator's type. Cost: one FFMA, DFMA or IMAD.
STITCH_DEVICE float stitch_multiply_add(float a, float b, float c) { return fmaf(a, b, c); }
STITCH_DEVICE double stitch_multiply_add(double a, double b, double c) { return fma(a, b, c); }
template <class T>
STITCH_DEVICE T stitch_multiply_add(T a, T b, T c) {
  return stitch_wrap_add(c, stitch_wrap_multiply(a, b));
}

// A block computes kTileM x kTileN results in steps of kTileK; each thread kThreadM x kThreadN
// neighbours. kPitch: elements from one k to the next in shared memory.
template <int kTileM_, int kTileN_, int kTileK_, int kThreadM_, int kThreadN_, int kPitchM_,
          int kPitchN_>
struct StitchTiling {
  static constexpr int kTileM = kTileM_, kTileN = kTileN_, kTileK = kTileK_;
  static constexpr int kThreadM = kThreadM_, kThreadN = kThreadN_;
  static constexpr int kPitchM = kPitchM_, kPitchN = kPitchN_;
  static constexpr int kColumns = kTileN / kThreadN;  // threads side by side
  static constexpr int kThreads = kTileM / kThreadM * kColumns;
};
// How an operand is fetched: vectors of kVector, and neighbouring threads, along k or along its own
// axis, whichever is contiguous in memory.
template <int kVector_, bool kAlongDepth_>
struct StitchOperand {
  static constexpr int kVector = kVector_;
  static constexpr bool kAlongDepth = kAlongDepth_;
};

// One step's part of an operand tile of kTile x kTileK elements, through registers. `load` fills one
// vector at (own index in the tile, k).
// Cost: kTile * kTileK / (kThreads * kVector) loads per thread. Source: own.
template <class Operand, int kTile, int kTileK, int kThreads, class T, int kVectors, class Load>
STITCH_DEVICE void stitch_fetch_operand(T (&to)[kVectors][Operand::kVector], int depth, Load load) {
  constexpr int kVector = Operand::kVector;
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    const int n = i * kThreads + threadIdx.x;
    if constexpr (Operand::kAlongDepth) {
      load(to[i], n / (kTileK / kVector), depth + n % (kTileK / kVector) * kVector);
    } else {
      load(to[i], n % (kTile / kVector) * kVector, depth + n / (kTile / kVector));
    }
  }
}
// Puts it to tile[k * kPitch + own index].
// Cost: one STS per vector, or per element where the vector runs along k.
template <class Operand, int kTile, int kTileK, int kThreads, int kPitch, class T, int kVectors>
STITCH_DEVICE void stitch_put_operand(T* tile, const T (&from)[kVectors][Operand::kVector]) {
  constexpr int kVector = Operand::kVector;
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    const int n = i * kThreads + threadIdx.x;
    if constexpr (Operand::kAlongDepth) {
      const int own = n / (kTileK / kVector), k = n % (kTileK / kVector) * kVector;
#pragma unroll
      for (int e = 0; e < kVector; ++e) tile[(k + e) * kPitch + own] = from[i][e];
    } else {
      const int own = n % (kTile / kVector) * kVector, k = n / (kTile / kVector);
      stitch_store(tile + (k * kPitch + own), from[i]);
    }
  }
}

// sum[i][j] += m(i, k) * n(k, j) over the whole depth; every sum is one chain in ascending k. The
// loads of the next step are under way during the products of this one.
// Cost per k: two vector LDS and kThreadM * kThreadN FFMA; two barriers per step.
// Source: Volkov, Demmel 2008.
template <class Tiling, class OperandM, class OperandN, class T, class LoadM, class LoadN>
STITCH_DEVICE void stitch_contract(T (&sum)[Tiling::kThreadM][Tiling::kThreadN], T* tile_m,
                                   T* tile_n, int depth, LoadM load_m, LoadN load_n) {
  constexpr int kM = Tiling::kThreadM, kN = Tiling::kThreadN, kThreads = Tiling::kThreads;
  constexpr int kTileM = Tiling::kTileM, kTileN = Tiling::kTileN, kTileK = Tiling::kTileK;
  constexpr int kVectorsM = kTileM * kTileK / (kThreads * OperandM::kVector);
  constexpr int kVectorsN = kTileN * kTileK / (kThreads * OperandN::kVector);
  static_assert(kVectorsM * kThreads * OperandM::kVector == kTileM * kTileK, "whole vectors");
  static_assert(kVectorsN * kThreads * OperandN::kVector == kTileN * kTileK, "whole vectors");
  const int row = threadIdx.x / Tiling::kColumns * kM;
  const int column = threadIdx.x % Tiling::kColumns * kN;
  T next_m[kVectorsM][OperandM::kVector], next_n[kVectorsN][OperandN::kVector];
  stitch_fetch_operand<OperandM, kTileM, kTileK, kThreads>(next_m, 0, load_m);
  stitch_fetch_operand<OperandN, kTileN, kTileK, kThreads>(next_n, 0, load_n);
#pragma unroll 1
  for (int k = 0; k < depth; k += kTileK) {
    if (k > 0) __syncthreads();
    stitch_put_operand<OperandM, kTileM, kTileK, kThreads, Tiling::kPitchM>(tile_m, next_m);
    stitch_put_operand<OperandN, kTileN, kTileK, kThreads, Tiling::kPitchN>(tile_n, next_n);
    __syncthreads();
    if (k + kTileK < depth) {
      stitch_fetch_operand<OperandM, kTileM, kTileK, kThreads>(next_m, k + kTileK, load_m);
      stitch_fetch_operand<OperandN, kTileN, kTileK, kThreads>(next_n, k + kTileK, load_n);
    }
#pragma unroll
    for (int step = 0; step < kTileK; ++step) {
      T a[kM], b[kN];
      stitch_load(a, tile_m + (step * Tiling::kPitchM + row));
      stitch_load(b, tile_n + (step * Tiling::kPitchN + column));
#pragma unroll
      for (int i = 0; i < kM; ++i)
#pragma unroll
        for (int j = 0; j < kN; ++j) sum[i][j] = stitch_multiply_add(a[i], b[j], sum[i][j]);
    }
  }
}
