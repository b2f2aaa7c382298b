#include "emit_cuda/bundle/c_api_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>

#include "emit_cuda/bundle/bundle_name.h"
#include "emit_cuda/bundle/embedded_files.h"
#include "emit_cuda/bundle/text_template.h"
#include "runtime/element_type.h"

namespace stitch {
namespace {

using runtime::TensorInfo;

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

// A name of the model inside a C comment: it may hold anything, so what would end the comment or
// the line is replaced.
std::string in_comment(std::string_view name) {
  std::string text;
  for (const char c : name) {
    const bool ends_comment = c == '/' && text.ends_with('*');
    text += ends_comment || std::iscntrl(static_cast<unsigned char>(c)) != 0 ? '?' : c;
  }
  return text;
}

std::string type_text(const TensorInfo& tensor) {
  return fmt::format("{}[{}]", runtime::element_name(tensor.type), fmt::join(tensor.dims, ","));
}

std::string signature_of(const char* role, const std::vector<TensorInfo>& tensors) {
  std::string text;
  for (std::size_t number = 0; number < tensors.size(); ++number) {
    text +=
        fmt::format(" *   {} {}: {} {}, {} bytes\n", role, number, in_comment(tensors[number].name),
                    type_text(tensors[number]), tensors[number].bytes);
  }
  return text;
}

// BERT_INPUT_INPUT_IDS = 0; two names that become the same identifier get their number.
std::string index_constants(const std::string& prefix, const char* role,
                            const std::vector<TensorInfo>& tensors) {
  std::map<std::string, int> seen;
  std::string text = fmt::format("enum {{\n  {}_{}_COUNT = {}", prefix, role, tensors.size());
  seen["COUNT"] = 1;
  for (std::size_t number = 0; number < tensors.size(); ++number) {
    std::string name = upper(bundle_name(tensors[number].name));
    if (seen[name]++ > 0) name += fmt::format("_{}", number);
    text += fmt::format(",\n  {}_{}_{} = {}", prefix, role, name, number);
  }
  return text + "\n};\n";
}

std::string constants(const runtime::LaunchProgram& program) {
  const std::string prefix = upper(program.model_name);
  return "/* Positions of inputs and outputs in the lists given to enqueue. */\n" +
         index_constants(prefix, "INPUT", program.inputs) +
         index_constants(prefix, "OUTPUT", program.outputs);
}

std::string image_lines(const std::vector<PlacedImage>& images) {
  std::string text;
  for (const PlacedImage& image : images) {
    text += fmt::format("    .incbin \"{}\"\n    .byte 0\n    .balign 64\n", image.path);
  }
  return text;
}

// "    src/runtime/driver.cpp\n" for each source that the bundle carries.
std::string launcher_source_lines() {
  std::string text;
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.name.starts_with("runtime/") && file.name.ends_with(".cpp")) {
      text += fmt::format("    src/{}\n", file.name);
    }
  }
  return text;
}

}  // namespace

std::vector<GeneratedFile> generated_files(const GeneratedFilesInput& input) {
  const runtime::LaunchProgram& program = input.program;
  const std::string& name = program.model_name;
  const std::map<std::string, std::string> values = {
      {"NAME", name},
      {"NAME_UPPER", upper(name)},
      {"NAMESPACE", launcher_namespace(name)},
      {"SIGNATURE",
       signature_of("input", program.inputs) + signature_of("output", program.outputs)},
      {"CONSTANTS", constants(program)},
      {"INPUT_COUNT", std::to_string(program.inputs.size())},
      {"OUTPUT_COUNT", std::to_string(program.outputs.size())},
      {"IMAGES", image_lines(input.images)},
      {"LAUNCHER_SOURCES", launcher_source_lines()},
      {"TOOL_VERSION", input.tool_version.empty() ? "0" : input.tool_version},
  };
  const auto generate = [&](std::string path, std::string_view from) {
    return GeneratedFile{std::move(path), fill_template(embedded_file(from), values)};
  };
  return {
      generate("include/" + name + ".h", "templates/model.h.in"),
      generate("src/" + name + ".cpp", "templates/model.cpp.in"),
      generate("src/" + name + "_images.S", "templates/images.S.in"),
      generate("src/exports.map", "templates/exports.map.in"),
      generate("src/runtime/namespace.h", "templates/namespace.h.in"),
      generate("CMakeLists.txt", "templates/CMakeLists.txt.in"),
      generate("lib/cmake/" + name + "/" + name + "Config.cmake", "templates/Config.cmake.in"),
      generate(name + ".pc", "templates/model.pc.in"),
  };
}

}  // namespace stitch
