#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "graph/attribute_fields.h"
#include "graph/hash.h"
#include "graph/text_form.h"
#include "graph/text_quote.h"

namespace stitch {
namespace {

std::string element_text(const Tensor& tensor, int64_t i) {
  if (tensor.dtype() == DType::kF64) return fmt::format("{}", tensor.real(i));
  if (is_float(tensor.dtype())) return fmt::format("{}", static_cast<float>(tensor.real(i)));
  if (tensor.dtype() == DType::kU64) {
    return fmt::format("{}", static_cast<uint64_t>(tensor.integer(i)));
  }
  return fmt::format("{}", tensor.integer(i));
}

bool is_splat(const Tensor& tensor) {
  const auto size = static_cast<size_t>(size_bytes(tensor.dtype()));
  const auto bytes = tensor.bytes();
  return bytes.size() > size &&
         std::memcmp(bytes.data(), bytes.data() + size, bytes.size() - size) == 0;
}

std::string tensor_text(const Tensor& tensor, const PrintOptions& options) {
  std::string text = fmt::format("{}[{}] ", name(tensor.dtype()), fmt::join(tensor.extents(), ","));
  if (tensor.extents().empty()) return text + element_text(tensor, 0);
  const bool large = tensor.element_count() > options.largest_constant;
  if (large && !options.hash_large) return text + "large";
  if (is_splat(tensor)) return text + "splat " + element_text(tensor, 0);
  if (large) return text + fmt::format("hash {:#018x}", hash_bytes(tensor.bytes()));
  text += '[';
  for (int64_t i = 0; i < tensor.element_count(); ++i) {
    if (i > 0) text += ", ";
    text += element_text(tensor, i);
  }
  return text + "]";
}

// Values of attribute fields.
std::string field_text(DType dtype) { return std::string(name(dtype)); }
std::string field_text(bool value) { return value ? "true" : "false"; }
template <class T>
requires std::is_integral_v<T> std::string field_text(T value) { return std::to_string(value); }
template <class T>
requires(std::is_enum_v<T> && !std::is_same_v<T, DType>) std::string field_text(T value) {
  return std::string(enumerator_name(value));
}
std::string field_text(const Dim& dim) { return dim.to_string(); }
template <class T>
std::string field_text(const std::vector<T>& values) {
  std::string text = "[";
  for (const T& value : values) {
    if (text.size() > 1) text += ", ";
    text += field_text(value);
  }
  return text + "]";
}

std::string attributes_text(const Attributes& attributes, const PrintOptions& options) {
  std::string text;
  const auto add = [&](const std::string& item) { text += (text.empty() ? "" : ", ") + item; };
  std::visit(
      [&](const auto& fields) {
        using Struct = std::decay_t<decltype(fields)>;
        [[maybe_unused]] const Struct defaults{};
        visit_fields(fields, [&](const char* key, const auto& value) {
          using Field = std::decay_t<decltype(value)>;
          if constexpr (std::is_same_v<Field, Tensor>) {
            add(tensor_text(value, options));
          } else if constexpr (std::is_same_v<Field, bool>) {
            // Flags are left out where they are as by default.
            bool by_default = false;
            visit_fields(defaults, [&](const char* other, const auto& default_value) {
              if constexpr (std::is_same_v<std::decay_t<decltype(default_value)>, bool>) {
                if (std::strcmp(key, other) == 0) by_default = default_value;
              }
            });
            if (value != by_default) add(fmt::format("{}={}", key, field_text(value)));
          } else {
            add(fmt::format("{}={}", key, field_text(value)));
          }
        });
      },
      attributes);
  return text.empty() ? "" : " {" + text + "}";
}

bool needs_quotes(std::string_view text) {
  return text.empty() || !std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  std::strchr("_./:-", c) != nullptr;
         });
}

std::string word_text(const std::string& word) { return needs_quotes(word) ? quote(word) : word; }

std::string name_text(const std::string& name) { return name.empty() ? "" : " " + quote(name); }

void print_node(std::string& text, const Graph& graph, const Node& node,
                const PrintOptions& options) {
  text += "  ";
  std::string types;
  for (size_t i = 0; i < node.results.size(); ++i) {
    const Value& value = graph.value(node.results[i]);
    text +=
        fmt::format("{}%{}{}", i == 0 ? "" : ", ", node.results[i].index, name_text(value.name));
    types += (i == 0 ? "" : ", ") + to_string(value.type);
  }
  text += fmt::format(" = {}", name(node.op));
  if (node.op != Op::k_constant) {
    text += '(';
    for (size_t i = 0; i < node.operands.size(); ++i) {
      text += fmt::format("{}%{}", i == 0 ? "" : ", ", node.operands[i].index);
    }
    text += ')';
  }
  text += attributes_text(node.attributes, options) + " : " + types;
  for (size_t i = 0; i < node.sources.size(); ++i) {
    const SourceNode& source = graph.source(node.sources[i]);
    text += fmt::format("{}{} ({})", i == 0 ? "  # " : ", ", word_text(source.name),
                        word_text(source.op_type));
  }
  text += '\n';
}

}  // namespace

std::string print_graph(const Graph& graph, const PrintOptions& options) {
  std::string text = "graph " + quote(graph.model_name);
  if (graph.onnx_node_count != 0) text += fmt::format(" onnx_nodes={}", graph.onnx_node_count);
  text += " {\n";
  for (const ValueId input : graph.inputs()) {
    text += fmt::format("  input %{}{} : {}\n", input.index, name_text(graph.value(input).name),
                        to_string(graph.type(input)));
  }
  for (size_t i = 0; i < graph.node_count(); ++i) {
    print_node(text, graph, graph.node(NodeId(i)), options);
  }
  for (const GraphOutput& output : graph.outputs()) {
    text += fmt::format("  output {} %{}\n", quote(output.name), output.value.index);
  }
  return text + "}\n";
}

}  // namespace stitch
