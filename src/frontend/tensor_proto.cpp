#include "frontend/tensor_proto.h"

#include <fmt/format.h>
#include <onnx.pb.h>

#include <cstring>
#include <fstream>
#include <limits>
#include <memory>
#include <utility>

#include "frontend/external_data.h"
#include "frontend/mapped_file.h"
#include "frontend/onnx_types.h"
#include "frontend/tensor_file.h"
#include "graph/error.h"

namespace stitch {
namespace {

// The raw_data string of a message, kept as it is.
struct StringStorage : TensorStorage {
  explicit StringStorage(std::unique_ptr<std::string> s) : text(std::move(s)) {}
  std::unique_ptr<std::string> text;
};

struct Extents {
  std::vector<int64_t> values;
  int64_t count = 1;
};

template <class Dims>
Extents checked_extents(const Dims& dims) {
  constexpr int64_t kLargestCount = int64_t{1} << 42;  // keeps byte counts far from overflow
  Extents result;
  for (const int64_t dim : dims) {
    if (dim < 0) throw ModelError(fmt::format("negative extent {}", dim));
    if (dim > 0 && result.count > kLargestCount / dim) {
      throw ModelError(fmt::format("extents [{}] are too large", fmt::join(dims, ",")));
    }
    result.count *= dim;
    result.values.push_back(dim);
  }
  return result;
}

template <class Stored, class Field>
void copy_field(const Field& field, Tensor& tensor, int64_t count, std::string_view field_name) {
  if (field.size() != count) {
    throw ModelError(
        fmt::format("{} elements in {}, expected {}", field.size(), field_name, count));
  }
  auto* to = reinterpret_cast<Stored*>(tensor.mutable_bytes().data());
  for (int64_t i = 0; i < count; ++i) {
    to[i] = static_cast<Stored>(field.Get(static_cast<int>(i)));
  }
}

// Elements in the typed fields; which field holds which type is fixed by onnx.proto.
Tensor from_typed_fields(const onnx::TensorProto& message, DType dtype, const Extents& extents) {
  Tensor tensor(dtype, extents.values);
  const int64_t n = extents.count;
  switch (dtype) {
    case DType::kF32:
      copy_field<float>(message.float_data(), tensor, n, "float_data");
      break;
    case DType::kF64:
      copy_field<double>(message.double_data(), tensor, n, "double_data");
      break;
    case DType::kI64:
      copy_field<int64_t>(message.int64_data(), tensor, n, "int64_data");
      break;
    case DType::kU64:
      copy_field<uint64_t>(message.uint64_data(), tensor, n, "uint64_data");
      break;
    case DType::kU32:
      copy_field<uint32_t>(message.uint64_data(), tensor, n, "uint64_data");
      break;
    case DType::kI32:
      copy_field<int32_t>(message.int32_data(), tensor, n, "int32_data");
      break;
    case DType::kI16:
    case DType::kU16:
    case DType::kF16:
    case DType::kBF16:  // 16-bit floats as bit patterns
      copy_field<uint16_t>(message.int32_data(), tensor, n, "int32_data");
      break;
    case DType::kI8:
    case DType::kU8:
      copy_field<uint8_t>(message.int32_data(), tensor, n, "int32_data");
      break;
    case DType::kBool:
      copy_field<bool>(message.int32_data(), tensor, n, "int32_data");
      break;
  }
  return tensor;
}

ExternalReference external_reference(const onnx::TensorProto& message) {
  ExternalReference reference;
  const auto number = [](const std::string& key, const std::string& text) {
    size_t used = 0;
    int64_t value = -1;
    try {
      value = std::stoll(text, &used);
    } catch (const std::exception&) {
      used = 0;
    }
    if (text.empty() || used != text.size() || value < 0) {
      throw ModelError(fmt::format("external data with {} '{}'", key, text));
    }
    return value;
  };
  for (const auto& entry : message.external_data()) {
    if (entry.key() == "location") reference.location = entry.value();
    if (entry.key() == "offset") reference.offset = number("offset", entry.value());
    if (entry.key() == "length") reference.length = number("length", entry.value());
  }
  return reference;
}

void read_external(const onnx::TensorProto& message, DType dtype, const Extents& extents,
                   const TensorSource& source, OnnxTensor& result) {
  if (!source.external) throw ModelError("external data is not allowed here");
  const ExternalReference reference = external_reference(message);
  const int64_t byte_count = extents.count * size_bytes(dtype);
  if (source.may_be_absent && !source.external->exists(reference)) {
    const uint64_t number = std::hash<std::string>()(message.name()) | 1;
    auto bytes = std::make_shared<AbsentBytes>(static_cast<size_t>(byte_count), number);
    result.tensor = Tensor(dtype, extents.values, bytes->bytes(), bytes);
    result.data_absent = true;
    return;
  }
  result.tensor = source.external->read(dtype, extents.values, byte_count, reference);
}

Tensor from_raw_data(onnx::TensorProto& message, DType dtype, const Extents& extents) {
  const int64_t expected = extents.count * size_bytes(dtype);
  const auto found = static_cast<int64_t>(message.raw_data().size());
  if (found != expected) {
    throw ModelError(fmt::format("{} bytes of raw data, expected {}", found, expected));
  }
  const auto storage =
      std::make_shared<StringStorage>(std::unique_ptr<std::string>(message.release_raw_data()));
  const std::span<const std::byte> bytes{reinterpret_cast<const std::byte*>(storage->text->data()),
                                         storage->text->size()};
  if (reinterpret_cast<uintptr_t>(bytes.data()) % 8 != 0) {  // short strings sit inside the object
    Tensor tensor(dtype, extents.values);
    if (!bytes.empty()) std::memcpy(tensor.mutable_bytes().data(), bytes.data(), bytes.size());
    return tensor;
  }
  return Tensor(dtype, extents.values, bytes, storage);
}

void make_bools_canonical(Tensor& tensor) {
  bool canonical = true;
  for (const std::byte byte : tensor.bytes()) canonical &= byte <= std::byte{1};
  if (canonical) return;
  for (std::byte& byte : tensor.mutable_bytes()) byte = byte == std::byte{0} ? byte : std::byte{1};
}

}  // namespace

OnnxTensor take_tensor(onnx::TensorProto& message, const TensorSource& source) {
  OnnxTensor result;
  result.name = message.name();
  try {
    const Extents extents = checked_extents(message.dims());
    const DType dtype = require_dtype(message.data_type());
    if (message.has_segment()) throw ModelError("segmented tensors are not supported");
    if (message.data_location() == onnx::TensorProto::EXTERNAL) {
      read_external(message, dtype, extents, source, result);
    } else if (message.has_raw_data()) {
      result.tensor = from_raw_data(message, dtype, extents);
    } else {
      result.tensor = from_typed_fields(message, dtype, extents);
    }
    if (dtype == DType::kBool && !result.data_absent) make_bools_canonical(result.tensor);
  } catch (const ModelError& error) {
    result.problem = error.what();
  }
  return result;
}

OnnxTensor take_sparse_tensor(onnx::SparseTensorProto& message, const TensorSource& source) {
  OnnxTensor values = take_tensor(*message.mutable_values(), source);
  OnnxTensor indices = take_tensor(*message.mutable_indices(), source);
  OnnxTensor result;
  result.name = values.name;
  try {
    if (!values.problem.empty()) throw ModelError(values.problem);
    if (!indices.problem.empty()) throw ModelError(indices.problem);
    if (values.data_absent || indices.data_absent) throw ModelError("the sparse data is absent");
    const Extents extents = checked_extents(message.dims());
    const int64_t count = values.tensor.element_count();
    const auto rank = static_cast<int64_t>(extents.values.size());
    const bool linear = indices.tensor.extents() == std::vector<int64_t>{count};
    const bool coordinates = indices.tensor.extents() == std::vector<int64_t>{count, rank};
    if (indices.tensor.dtype() != DType::kI64 || (!linear && !coordinates)) {
      throw ModelError("sparse indices are neither int64[count] nor int64[count,rank]");
    }
    result.tensor = Tensor(values.tensor.dtype(), extents.values);
    const auto bytes = result.tensor.mutable_bytes();
    const auto width = static_cast<size_t>(size_bytes(values.tensor.dtype()));
    for (int64_t i = 0; i < count; ++i) {
      int64_t position = linear ? indices.tensor.integer(i) : 0;
      bool inside = position >= 0 && position < extents.count;
      for (int64_t axis = 0; coordinates && axis < rank; ++axis) {
        const int64_t extent = extents.values[static_cast<size_t>(axis)];
        const int64_t at = indices.tensor.integer(i * rank + axis);
        inside = inside && at >= 0 && at < extent;
        position = position * extent + at;
      }
      if (!inside) throw ModelError(fmt::format("sparse index {} is outside the tensor", i));
      std::memcpy(bytes.data() + static_cast<size_t>(position) * width,
                  values.tensor.bytes().data() + static_cast<size_t>(i) * width, width);
    }
  } catch (const ModelError& error) {
    result.problem = error.what();
  }
  return result;
}

void fill_message(const Tensor& tensor, const std::string& name, onnx::TensorProto& message) {
  message.set_name(name);
  message.set_data_type(onnx_type_of(tensor.dtype()));
  for (const int64_t extent : tensor.extents()) message.add_dims(extent);
  message.set_raw_data(tensor.bytes().data(), tensor.bytes().size());
}

Tensor read_tensor_pb(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  onnx::TensorProto message;
  const size_t size = file->bytes().size();
  if (size > static_cast<size_t>(std::numeric_limits<int>::max()) ||
      !message.ParseFromArray(file->bytes().data(), static_cast<int>(size))) {
    throw ModelError(fmt::format("'{}' is not a TensorProto file", path.string()));
  }
  OnnxTensor result = take_tensor(message, {});
  if (!result.problem.empty()) {
    throw ModelError(fmt::format("'{}': {}", path.string(), result.problem));
  }
  return result.tensor;
}

void write_tensor_pb(const std::filesystem::path& path, const Tensor& tensor,
                     const std::string& name) {
  onnx::TensorProto message;
  fill_message(tensor, name, message);
  std::ofstream file(path, std::ios::binary);
  if (!message.SerializeToOstream(&file) || !file.flush()) {
    throw ModelError(fmt::format("cannot write '{}'", path.string()));
  }
}

}  // namespace stitch
