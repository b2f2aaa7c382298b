#include "frontend/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>

#include "frontend/mapped_file.h"
#include "graph/error.h"

namespace stitch {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

struct NpyType {
  DType dtype;
  std::string_view descr;  // without the byte order
};

constexpr NpyType kNpyTypes[] = {
    {DType::kBool, "b1"}, {DType::kI8, "i1"},  {DType::kI16, "i2"}, {DType::kI32, "i4"},
    {DType::kI64, "i8"},  {DType::kU8, "u1"},  {DType::kU16, "u2"}, {DType::kU32, "u4"},
    {DType::kU64, "u8"},  {DType::kF16, "f2"}, {DType::kF32, "f4"}, {DType::kF64, "f8"},
};

struct NpyHeader {
  std::string descr;
  bool fortran_order = false;
  std::vector<int64_t> extents;
};

// The text after 'key': in the header's Python dictionary.
std::string_view after_key(std::string_view header, std::string_view key) {
  const size_t at = header.find(fmt::format("'{}':", key));
  if (at == std::string_view::npos) throw ModelError(fmt::format("no '{}' in its header", key));
  header.remove_prefix(at + key.size() + 3);
  const size_t start = header.find_first_not_of(' ');
  return start == std::string_view::npos ? std::string_view() : header.substr(start);
}

std::vector<int64_t> parse_extents(std::string_view text) {
  std::vector<int64_t> extents;
  int64_t number = -1;  // none begun
  if (text.empty() || text.front() != '(') throw ModelError("its shape is not a tuple");
  for (const char c : text.substr(1)) {
    if (c >= '0' && c <= '9') {
      if (number > (int64_t{1} << 40)) throw ModelError("its shape is too large");
      number = std::max<int64_t>(number, 0) * 10 + (c - '0');
    } else if (c == ',' || c == ')' || c == ' ' || c == 'L') {
      if (number >= 0 && c != 'L') {
        extents.push_back(number);
        number = -1;
      }
      if (c == ')') return extents;
    } else {
      break;
    }
  }
  throw ModelError("its shape is not a tuple of numbers");
}

NpyHeader parse_header(std::string_view text) {
  NpyHeader header;
  const std::string_view descr = after_key(text, "descr");
  if (descr.size() < 2 || descr.front() != '\'') throw ModelError("its element type is a record");
  header.descr = descr.substr(1, descr.find('\'', 1) - 1);
  header.fortran_order = after_key(text, "fortran_order").starts_with("True");
  header.extents = parse_extents(after_key(text, "shape"));
  return header;
}

DType dtype_of(const std::string& descr) {
  const std::string_view order = std::string_view(descr).substr(0, 1);
  if (order == "<" || order == "|" || order == "=") {
    for (const NpyType& type : kNpyTypes) {
      if (std::string_view(descr).substr(1) == type.descr) return type.dtype;
    }
  }
  throw ModelError(fmt::format("element type '{}' is not supported", descr));
}

Tensor parse_npy(std::span<const std::byte> bytes) {
  const std::string_view text{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  if (text.size() < 12 || !text.starts_with(kMagic)) throw ModelError("it is not a .npy file");
  const bool short_length = text[6] == 1;
  size_t length = 0;
  std::memcpy(&length, text.data() + 8, short_length ? 2 : 4);
  const size_t start = short_length ? 10 : 12;
  if (length > text.size() - start) throw ModelError("it is cut off");
  const NpyHeader header = parse_header(text.substr(start, length));
  if (header.fortran_order && header.extents.size() > 1) {
    throw ModelError("Fortran order is not supported");
  }
  int64_t count = 1;
  for (const int64_t extent : header.extents) {
    if (extent > 0 && count > (int64_t{1} << 42) / extent) {
      throw ModelError("its shape is too large");
    }
    count *= extent;
  }
  const DType dtype = dtype_of(header.descr);
  const auto expected = static_cast<size_t>(count * size_bytes(dtype));
  const auto data = bytes.subspan(start + length);
  if (data.size() != expected) {
    throw ModelError(fmt::format("{} bytes of data, expected {}", data.size(), expected));
  }
  Tensor tensor(dtype, header.extents);
  if (expected > 0) std::memcpy(tensor.mutable_bytes().data(), data.data(), expected);
  return tensor;
}

}  // namespace

Tensor read_npy(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  try {
    return parse_npy(file->bytes());
  } catch (const ModelError& error) {
    throw ModelError(fmt::format("cannot read '{}': {}", path.string(), error.what()));
  }
}

void write_npy(const std::filesystem::path& path, const Tensor& tensor) {
  Tensor stored = tensor;
  if (tensor.dtype() == DType::kBF16) {
    stored = Tensor(DType::kF32, tensor.extents());
    for (int64_t i = 0; i < tensor.element_count(); ++i) stored.set_real(i, tensor.real(i));
  }
  std::string_view descr;
  for (const NpyType& type : kNpyTypes) {
    if (type.dtype == stored.dtype()) descr = type.descr;
  }
  const char order = size_bytes(stored.dtype()) == 1 ? '|' : '<';
  std::string header =
      fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}{}), }}", order, descr,
                  fmt::join(stored.extents(), ", "), stored.extents().size() == 1 ? "," : "");
  header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 11, ' ');  // data starts at 64 bytes
  header += '\n';
  std::ofstream file(path, std::ios::binary);
  file << kMagic << '\x01' << '\0' << static_cast<char>(header.size() & 0xff)
       << static_cast<char>(header.size() >> 8) << header;
  file.write(reinterpret_cast<const char*>(stored.bytes().data()),
             static_cast<std::streamsize>(stored.bytes().size()));
  if (!file.flush()) throw ModelError(fmt::format("cannot write '{}'", path.string()));
}

}  // namespace stitch
