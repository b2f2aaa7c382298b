#include "graph/graph_equality.h"

#include <algorithm>
#include <cstring>

#include "graph/attribute_fields.h"
#include "graph/hash.h"

namespace stitch {
namespace {

template <class T>
bool equal_field(const T& a, const T& b) {
  if constexpr (std::is_same_v<T, Tensor>) {
    return equal(a, b);
  } else {
    return a == b;
  }
}

uint64_t hash_field(uint64_t hash, const Tensor& tensor) {
  hash = hash_combine(hash, static_cast<uint64_t>(tensor.dtype()));
  for (const int64_t extent : tensor.extents()) {
    hash = hash_combine(hash, static_cast<uint64_t>(extent));
  }
  constexpr size_t kWholeBytes = 256, kSampleBytes = 8, kSamples = 16;
  const std::span<const std::byte> bytes = tensor.bytes();
  if (bytes.size() <= kWholeBytes) return hash_bytes(bytes, hash);
  for (size_t i = 0; i < kSamples; ++i) {
    hash = hash_bytes(
        bytes.subspan(i * (bytes.size() - kSampleBytes) / (kSamples - 1), kSampleBytes), hash);
  }
  return hash;
}
uint64_t hash_field(uint64_t hash, const Dim& dim) {
  if (dim.is_constant()) return hash_combine(hash, static_cast<uint64_t>(dim.constant()));
  const std::string text = dim.to_string();
  return hash_bytes(std::as_bytes(std::span(text)), hash);
}
template <class T>
requires(std::is_integral_v<T> || std::is_enum_v<T>) uint64_t hash_field(uint64_t hash, T value) {
  return hash_combine(hash, static_cast<uint64_t>(value));
}
template <class T>
uint64_t hash_field(uint64_t hash, const std::vector<T>& values) {
  hash = hash_combine(hash, values.size());
  for (const T& value : values) hash = hash_field(hash, value);
  return hash;
}

}  // namespace

bool equal(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.extents() != b.extents()) return false;
  if (a.bytes().empty() || a.bytes().data() == b.bytes().data()) return true;
  return std::memcmp(a.bytes().data(), b.bytes().data(), a.bytes().size()) == 0;
}

bool equal(const Attributes& a, const Attributes& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&](const auto& left) {
        using Struct = std::decay_t<decltype(left)>;
        const auto& right = std::get<Struct>(b);
        bool same = true;
        visit_fields(left, [&](const char* key, const auto& value) {
          visit_fields(right, [&](const char* other_key, const auto& other) {
            if constexpr (std::is_same_v<decltype(value), decltype(other)>) {
              if (std::strcmp(key, other_key) == 0) same = same && equal_field(value, other);
            }
          });
        });
        return same;
      },
      a);
}

uint64_t hash_of(const Attributes& attributes) {
  uint64_t hash = hash_combine(kHashSeed, attributes.index());
  std::visit(
      [&](const auto& fields) {
        visit_fields(fields,
                     [&](const char*, const auto& value) { hash = hash_field(hash, value); });
      },
      attributes);
  return hash;
}

bool equal(const Graph& a, const Graph& b) {
  const auto same_output = [](const GraphOutput& x, const GraphOutput& y) {
    return x.name == y.name && x.value == y.value;
  };
  if (a.node_count() != b.node_count() || a.value_count() != b.value_count() ||
      a.inputs() != b.inputs() || a.model_name != b.model_name ||
      !std::equal(a.outputs().begin(), a.outputs().end(), b.outputs().begin(), b.outputs().end(),
                  same_output)) {
    return false;
  }
  for (size_t i = 0; i < a.node_count(); ++i) {
    const Node& x = a.node(NodeId(i));
    const Node& y = b.node(NodeId(i));
    if (x.op != y.op || x.operands != y.operands || x.results != y.results ||
        x.sources != y.sources || !equal(x.attributes, y.attributes)) {
      return false;
    }
  }
  for (size_t i = 0; i < a.value_count(); ++i) {
    const Value& x = a.value(ValueId(i));
    const Value& y = b.value(ValueId(i));
    if (!(x.type == y.type) || x.name != y.name) return false;
  }
  return true;
}

}  // namespace stitch
