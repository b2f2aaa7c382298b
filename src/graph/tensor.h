// A host tensor: dtype, extents and bytes that are owned or mapped from a file.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "graph/dtype.h"

namespace stitch {

// Immutable bytes with an owner (a vector, a mapped file): weights are never copied when a graph
// is.
struct TensorStorage {
  virtual ~TensorStorage() = default;
};

class Tensor {
 public:
  Tensor() = default;
  // Zero-filled, owned.
  Tensor(DType dtype, std::vector<int64_t> extents);
  // A view of bytes that `owner` keeps alive; size must be element count x element size.
  Tensor(DType dtype, std::vector<int64_t> extents, std::span<const std::byte> bytes,
         std::shared_ptr<const TensorStorage> owner);

  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& extents() const { return extents_; }
  int64_t element_count() const;
  int64_t byte_count() const { return static_cast<int64_t>(bytes_.size()); }
  std::span<const std::byte> bytes() const { return bytes_; }
  // Keeps the bytes alive.
  const std::shared_ptr<const TensorStorage>& owner() const { return owner_; }
  // Writable bytes; makes an own copy first when the storage is shared or mapped.
  std::span<std::byte> mutable_bytes();
  // The same bytes under other extents of equal element count.
  Tensor reshaped(std::vector<int64_t> extents) const;

  template <class T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(bytes_.data()), bytes_.size() / sizeof(T)};
  }
  // Element converted to double or int64 whatever the dtype (bool: 0 or 1).
  double real(int64_t index) const;
  int64_t integer(int64_t index) const;
  // Stores with round-to-nearest-even (floats) or the low bits (integers).
  void set_real(int64_t index, double value);
  void set_integer(int64_t index, int64_t value);

  static Tensor scalar(DType dtype, double value);
  static Tensor of_integers(DType dtype, const std::vector<int64_t>& values);  // rank 1

 private:
  DType dtype_ = DType::kF32;
  std::vector<int64_t> extents_;
  std::span<const std::byte> bytes_;
  std::shared_ptr<const TensorStorage> owner_;
};

// Bit patterns of 16-bit floats; conversions round to nearest even, without double rounding.
uint16_t f16_bits(double value);
double f16_value(uint16_t bits);
uint16_t bf16_bits(double value);
double bf16_value(uint16_t bits);

}  // namespace stitch
