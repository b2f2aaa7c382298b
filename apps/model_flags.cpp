#include "model_flags.h"

#include <fmt/format.h>

#include <charconv>

#include "frontend/npy.h"
#include "frontend/tensor_file.h"
#include "graph/error.h"

namespace stitch {

void add_binding_flags(CLI::App& command, ModelFlags& flags) {
  command
      .add_option(
          "--dim", flags.dims,
          "bind a symbolic dimension: --dim batch=8 (or INPUT.AXIS=8); plan takes batch=1..64")
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

namespace {

constexpr const char* kBetween = "..";

bool is_range(const NameValue& dim) { return dim.value.find(kBetween) != std::string::npos; }

int64_t parse_extent(const std::string& flag, const std::string& text) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end || value < 0)
    throw ModelError(fmt::format("--dim {}: '{}' is not an extent", flag, text));
  return value;
}

}  // namespace

ImportOptions ModelFlags::import_options() const {
  for (const std::string& text : dims)
    if (is_range(split_name_value("--dim", text)))
      throw ModelError(
          fmt::format("--dim {}: kernels are compiled for one set of extents, not for a range\n"
                      "help: stitchc plan takes a range, and says which plan is best for all of it",
                      text));
  return import_options_at({});
}

std::vector<DimRange> ModelFlags::dim_ranges() const {
  std::vector<DimRange> ranges;
  for (const std::string& text : dims) {
    const NameValue dim = split_name_value("--dim", text);
    if (!is_range(dim)) continue;
    const size_t between = dim.value.find(kBetween);
    const DimRange range = {dim.name, parse_extent(text, dim.value.substr(0, between)),
                            parse_extent(text, dim.value.substr(between + 2))};
    if (range.low < 1 || range.high < range.low)
      throw ModelError(fmt::format("--dim {}: a range goes from 1 or more up to no less", text));
    ranges.push_back(range);
  }
  return ranges;
}

ImportOptions ModelFlags::import_options_at(const DimBindings& extents) const {
  ImportOptions options;
  options.dims = extents;
  for (const std::string& text : dims) {
    const NameValue dim = split_name_value("--dim", text);
    if (!is_range(dim)) options.dims[dim.name] = parse_extent(text, dim.value);
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
