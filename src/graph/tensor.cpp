#include "graph/tensor.h"

#include <cstring>
#include <string>

#include "graph/error.h"

namespace stitch {
namespace {

struct OwnedBytes : TensorStorage {
  explicit OwnedBytes(size_t size) : bytes(size) {}
  std::vector<std::byte> bytes;
};

int64_t count_elements(const std::vector<int64_t>& extents) {
  int64_t count = 1;
  for (const int64_t extent : extents) {
    if (extent < 0) {
      throw InternalError("a tensor has the extent " + std::to_string(extent));
    }
    if (__builtin_mul_overflow(count, extent, &count)) {
      throw ModelError("a tensor has more elements than fit into 64 bits");
    }
  }
  return count;
}

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
void store(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

}  // namespace

Tensor::Tensor(DType dtype, std::vector<int64_t> extents)
    : dtype_(dtype), extents_(std::move(extents)) {
  const int64_t size = count_elements(extents_) * size_bytes(dtype);
  auto owned = std::make_shared<OwnedBytes>(static_cast<size_t>(size));
  bytes_ = owned->bytes;
  owner_ = std::move(owned);
}

Tensor::Tensor(DType dtype, std::vector<int64_t> extents, std::span<const std::byte> bytes,
               std::shared_ptr<const TensorStorage> owner)
    : dtype_(dtype), extents_(std::move(extents)), bytes_(bytes), owner_(std::move(owner)) {
  const int64_t size = count_elements(extents_) * size_bytes(dtype);
  if (size != byte_count()) {
    throw InternalError("a tensor of " + std::to_string(size) + " bytes was given " +
                        std::to_string(byte_count()));
  }
}

int64_t Tensor::element_count() const { return byte_count() / size_bytes(dtype_); }

std::span<std::byte> Tensor::mutable_bytes() {
  auto owned = std::dynamic_pointer_cast<const OwnedBytes>(owner_);
  if (owned == nullptr || owner_.use_count() > 2) {  // owner_ and `owned` are two
    auto copy = std::make_shared<OwnedBytes>(bytes_.size());
    if (!bytes_.empty()) std::memcpy(copy->bytes.data(), bytes_.data(), bytes_.size());
    bytes_ = copy->bytes;
    owned = copy;
    owner_ = std::move(copy);
  }
  // The bytes were created mutable by this class and have no other user.
  return const_cast<OwnedBytes&>(*owned).bytes;
}

Tensor Tensor::reshaped(std::vector<int64_t> extents) const {
  return Tensor(dtype_, std::move(extents), bytes_, owner_);
}

double Tensor::real(int64_t index) const {
  const std::byte* at = bytes_.data() + index * size_bytes(dtype_);
  switch (dtype_) {
    case DType::kF16:
      return f16_value(load<uint16_t>(at));
    case DType::kBF16:
      return bf16_value(load<uint16_t>(at));
    case DType::kF32:
      return static_cast<double>(load<float>(at));
    case DType::kF64:
      return load<double>(at);
    case DType::kU64:
      return static_cast<double>(load<uint64_t>(at));
    case DType::kBool:
    case DType::kI8:
    case DType::kI16:
    case DType::kI32:
    case DType::kI64:
    case DType::kU8:
    case DType::kU16:
    case DType::kU32:
      return static_cast<double>(integer(index));
  }
  throw InternalError("a tensor has no dtype");
}

int64_t Tensor::integer(int64_t index) const {
  const std::byte* at = bytes_.data() + index * size_bytes(dtype_);
  switch (dtype_) {
    case DType::kBool:
      return load<uint8_t>(at) != 0 ? 1 : 0;
    case DType::kI8:
      return load<int8_t>(at);
    case DType::kI16:
      return load<int16_t>(at);
    case DType::kI32:
      return load<int32_t>(at);
    case DType::kI64:
      return load<int64_t>(at);
    case DType::kU8:
      return load<uint8_t>(at);
    case DType::kU16:
      return load<uint16_t>(at);
    case DType::kU32:
      return load<uint32_t>(at);
    case DType::kU64:
      return static_cast<int64_t>(load<uint64_t>(at));
    case DType::kF16:
    case DType::kBF16:
    case DType::kF32:
    case DType::kF64:
      return static_cast<int64_t>(real(index));
  }
  throw InternalError("a tensor has no dtype");
}

void Tensor::set_real(int64_t index, double value) {
  std::byte* at = mutable_bytes().data() + index * size_bytes(dtype_);
  switch (dtype_) {
    case DType::kF16:
      return store(at, f16_bits(value));
    case DType::kBF16:
      return store(at, bf16_bits(value));
    case DType::kF32:
      return store(at, static_cast<float>(value));
    case DType::kF64:
      return store(at, value);
    case DType::kU64:
      return store(at, value < 0x1p63 ? static_cast<uint64_t>(static_cast<int64_t>(value))
                                      : static_cast<uint64_t>(value));
    case DType::kBool:
    case DType::kI8:
    case DType::kI16:
    case DType::kI32:
    case DType::kI64:
    case DType::kU8:
    case DType::kU16:
    case DType::kU32:
      return set_integer(index, static_cast<int64_t>(value));
  }
}

void Tensor::set_integer(int64_t index, int64_t value) {
  std::byte* at = mutable_bytes().data() + index * size_bytes(dtype_);
  switch (dtype_) {
    case DType::kBool:
      return store(at, static_cast<uint8_t>(value != 0 ? 1 : 0));
    case DType::kI8:
    case DType::kU8:
      return store(at, static_cast<uint8_t>(value));
    case DType::kI16:
    case DType::kU16:
      return store(at, static_cast<uint16_t>(value));
    case DType::kI32:
    case DType::kU32:
      return store(at, static_cast<uint32_t>(value));
    case DType::kI64:
    case DType::kU64:
      return store(at, value);
    case DType::kF16:
    case DType::kBF16:
    case DType::kF32:
    case DType::kF64:
      return set_real(index, static_cast<double>(value));
  }
}

Tensor Tensor::scalar(DType dtype, double value) {
  Tensor tensor(dtype, {});
  tensor.set_real(0, value);
  return tensor;
}

Tensor Tensor::of_integers(DType dtype, const std::vector<int64_t>& values) {
  Tensor tensor(dtype, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) {
    tensor.set_integer(static_cast<int64_t>(i), values[i]);
  }
  return tensor;
}

}  // namespace stitch
