#include "model_flags.h"

#include <fmt/format.h>

#include <charconv>

#include "frontend/npy.h"
#include "frontend/tensor_file.h"
#include "graph/error.h"

namespace stitch {

void add_binding_flags(CLI::App& command, ModelFlags& flags) {
  command
      .add_option("--dim", flags.dims, "bind a symbolic dimension: --dim batch=8 (or INPUT.AXIS=8)")
      ->type_name("NAME=VALUE");
  command
      .add_option("--bind", flags.binds,
                  "make an input a constant: --bind axes=axes.npy (axes, shapes, pads)")
      ->type_name("INPUT=FILE");
}

void add_model_flags(CLI::App& command, ModelFlags& flags) {
  command.add_option("model", flags.model, "the ONNX model")->required()->type_name("MODEL.onnx");
  add_binding_flags(command, flags);
}

ImportOptions ModelFlags::import_options() const {
  ImportOptions options;
  for (const std::string& text : dims) {
    const NameValue dim = split_name_value("--dim", text);
    int64_t value = 0;
    const char* end = dim.value.data() + dim.value.size();
    const auto parsed = std::from_chars(dim.value.data(), end, value);
    if (parsed.ec != std::errc() || parsed.ptr != end || value < 0)
      throw ModelError(fmt::format("--dim {}: '{}' is not an extent", text, dim.value));
    options.dims[dim.name] = value;
  }
  for (const std::string& text : binds) {
    const NameValue bind = split_name_value("--bind", text);
    options.bound_inputs[bind.name] = read_tensor_file(bind.value);
  }
  return options;
}

Tensor read_tensor_file(const std::filesystem::path& path) {
  return path.extension() == ".npy" ? read_npy(path) : read_tensor_pb(path);
}

NameValue split_name_value(const std::string& flag, const std::string& text) {
  const size_t at = text.rfind('=');
  if (at == std::string::npos || at == 0 || at + 1 == text.size())
    throw ModelError(fmt::format("{} {}: expected NAME=VALUE", flag, text));
  return {text.substr(0, at), text.substr(at + 1)};
}

}  // namespace stitch
