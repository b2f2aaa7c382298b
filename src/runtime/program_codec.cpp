#include "runtime/program_codec.h"

#include <cstring>
#include <type_traits>
#include <utility>

#include "runtime/launcher_error.h"

// One description of each struct's fields serves both directions: `transfer(archive, value)` with
// a Writer appends the fields, with a Reader fills them in. Integers are little endian at their own
// width, lists and strings are a 32-bit count and the elements, variants a tag and the alternative.
namespace STITCH_RUNTIME_NAMESPACE {
namespace {

constexpr char kMagic[8] = {'S', 'T', 'I', 'T', 'C', 'H', 'L', 'P'};

class Writer {
 public:
  static constexpr bool kReads = false;

  void raw(void* data, std::size_t size) { bytes_.append(static_cast<const char*>(data), size); }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Reader {
 public:
  static constexpr bool kReads = true;

  Reader(const char* data, std::size_t size) : data_(data), left_(size) {}

  void raw(void* data, std::size_t size) {
    if (size > left_) throw LauncherError(Status::kInternal, "launch program: cut short");
    std::memcpy(data, data_, size);
    data_ += size;
    left_ -= size;
  }
  std::size_t left() const { return left_; }

 private:
  const char* data_;
  std::size_t left_;
};

template <typename Archive, typename Number,
          std::enable_if_t<std::is_arithmetic_v<Number> || std::is_enum_v<Number>, int> = 0>
void transfer(Archive& archive, Number& value) {
  archive.raw(&value, sizeof(value));
}

template <typename Archive>
std::uint32_t transfer_count(Archive& archive, std::size_t current) {
  auto count = static_cast<std::uint32_t>(current);
  transfer(archive, count);
  if constexpr (Archive::kReads) {
    // Every element takes at least a byte: a damaged count cannot ask for absurd memory.
    if (count > archive.left()) throw LauncherError(Status::kInternal, "launch program: bad count");
  }
  return count;
}

template <typename Archive>
void transfer(Archive& archive, std::string& text) {
  text.resize(transfer_count(archive, text.size()));
  archive.raw(text.data(), text.size());
}

// Declared ahead: lists of structs and variants call them.
template <typename Archive>
void transfer(Archive& archive, TensorInfo& value);
template <typename Archive>
void transfer(Archive& archive, BatchDim& value);
template <typename Archive>
void transfer(Archive& archive, Image& value);
template <typename Archive>
void transfer(Archive& archive, ByteRange& value);
template <typename Archive>
void transfer(Archive& archive, ProgramItem& value);
template <typename Archive>
void transfer(Archive& archive, ArchitectureProgram& value);
template <typename Archive>
void transfer(Archive& archive, BufferRef& value);
template <typename Archive>
void transfer(Archive& archive, ScalarValue& value);
template <typename Archive>
void transfer(Archive& archive, KernelLaunch& value);
template <typename Archive>
void transfer(Archive& archive, MatmulCall& value);
template <typename Archive>
void transfer(Archive& archive, Memset& value);

template <typename Archive, typename... Alternatives>
void transfer(Archive& archive, std::variant<Alternatives...>& value) {
  auto tag = static_cast<std::uint8_t>(value.index());
  transfer(archive, tag);
  if constexpr (Archive::kReads) {
    std::uint8_t candidate = 0;
    const bool known = ((candidate++ == tag ? (value = Alternatives{}, true) : false) || ...);
    if (!known) throw LauncherError(Status::kInternal, "launch program: unknown step");
  }
  std::visit([&archive](auto& alternative) { transfer(archive, alternative); }, value);
}

template <typename Archive, typename Element>
void transfer(Archive& archive, std::vector<Element>& list) {
  list.resize(transfer_count(archive, list.size()));
  for (Element& element : list) transfer(archive, element);
}

template <typename Archive, typename... Fields>
void transfer_all(Archive& archive, Fields&... fields) {
  (transfer(archive, fields), ...);
}

template <typename Archive>
void transfer(Archive& archive, TensorInfo& value) {
  transfer_all(archive, value.name, value.type, value.dims, value.bytes);
}

template <typename Archive>
void transfer(Archive& archive, ByteRange& value) {
  transfer_all(archive, value.offset, value.bytes);
}

template <typename Archive>
void transfer(Archive& archive, BufferRef& value) {
  transfer_all(archive, value.kind, value.index, value.offset, value.bytes);
}

template <typename Archive>
void transfer(Archive& archive, ScalarValue& value) {
  transfer_all(archive, value.bits, value.bytes);
}

template <typename Archive>
void transfer(Archive& archive, Extent3& value) {
  transfer_all(archive, value.x, value.y, value.z);
}

template <typename Archive>
void transfer(Archive& archive, KernelLaunch& value) {
  transfer_all(archive, value.function, value.unit, value.grid, value.block,
               value.dynamic_shared_bytes, value.cluster_size, value.cooperative,
               value.min_coresident_blocks, value.arguments, value.source_nodes);
}

template <typename Archive>
void transfer(Archive& archive, MatrixLayout& value) {
  transfer_all(archive, value.buffer, value.type, value.order, value.leading_dimension);
}

template <typename Archive>
void transfer(Archive& archive, BatchDim& value) {
  transfer_all(archive, value.count, value.stride_a, value.stride_b, value.stride_c,
               value.stride_d);
}

template <typename Archive>
void transfer(Archive& archive, MatmulCall& value) {
  transfer_all(archive, value.name, value.m, value.n, value.k, value.batch, value.a, value.b,
               value.c, value.d, value.alpha, value.beta, value.compute, value.epilogue, value.bias,
               value.workspace, value.source_nodes);
}

template <typename Archive>
void transfer(Archive& archive, Memset& value) {
  transfer_all(archive, value.buffer, value.value);
}

template <typename Archive>
void transfer(Archive& archive, ProgramItem& value) {
  transfer_all(archive, value.steps, value.twin);
}

template <typename Archive>
void transfer(Archive& archive, Image& value) {
  transfer_all(archive, value.kind, value.unit, value.offset, value.bytes);
}

template <typename Archive>
void transfer(Archive& archive, ArchitectureProgram& value) {
  transfer_all(archive, value.architecture, value.unit_count, value.images, value.workspace_bytes,
               value.workspace_alignment, value.counters, value.items);
}

template <typename Archive>
void transfer(Archive& archive, LaunchProgram& value) {
  transfer_all(archive, value.model_name, value.inputs, value.outputs, value.weights_segments,
               value.weights_bytes, value.weights_hash, value.architectures);
}

}  // namespace

std::string encode_program(const LaunchProgram& program) {
  Writer writer;
  char magic[sizeof(kMagic)];
  std::memcpy(magic, kMagic, sizeof(kMagic));
  std::uint32_t version = kProgramFormatVersion;
  LaunchProgram copy = program;  // transfer takes mutable fields in both directions
  writer.raw(magic, sizeof(magic));
  transfer_all(writer, version, copy);
  return writer.take();
}

LaunchProgram decode_program(const void* data, std::size_t bytes) {
  Reader reader(static_cast<const char*>(data), bytes);
  char magic[sizeof(kMagic)] = {};
  std::uint32_t version = 0;
  reader.raw(magic, sizeof(magic));
  if (std::memcmp(magic, kMagic, sizeof(kMagic)) != 0) {
    throw LauncherError(Status::kInternal, "launch program: not one");
  }
  transfer(reader, version);
  if (version != kProgramFormatVersion) {
    throw LauncherError(Status::kInternal, "launch program: format version " +
                                               std::to_string(version) + ", this launcher reads " +
                                               std::to_string(kProgramFormatVersion));
  }
  LaunchProgram program;
  transfer(reader, program);
  if (reader.left() != 0) throw LauncherError(Status::kInternal, "launch program: bytes left over");
  return program;
}

}  // namespace STITCH_RUNTIME_NAMESPACE
