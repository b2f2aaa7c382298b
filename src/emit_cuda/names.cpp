#include "emit_cuda/names.h"

#include <cctype>

namespace stitch {
namespace {

constexpr const char* kReserved[] = {
    // C++ and CUDA
    "alignas", "alignof", "and", "asm", "auto", "bool", "break", "case", "catch", "char", "class",
    "compl", "const", "constexpr", "continue", "decltype", "default", "delete", "do", "double",
    "else", "enum", "explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if",
    "inline", "int", "long", "mutable", "namespace", "new", "noexcept", "not", "nullptr",
    "operator", "or", "private", "protected", "public", "register", "return", "short", "signed",
    "sizeof", "static", "struct", "switch", "template", "this", "throw", "true", "try", "typedef",
    "typeid", "typename", "union", "unsigned", "using", "virtual", "void", "volatile", "while",
    "xor", "half", "int2", "int4", "dim3", "min", "max", "abs", "exp", "log", "pow", "sqrt", "sin",
    "cos", "tan", "erf", "tanh", "floor", "ceil", "round", "fmod", "rint", "gamma", "j0", "j1",
    "jn", "y0", "y1", "yn", "norm", "signbit", "isnan", "isinf", "memcpy", "memset", "printf",
    "clock", "assert", "std", "main", "index", "trap", "rsqrt", "div", "exit", "free", "malloc",
    "time", "remainder", "select", "wait", "link", "read", "write", "pipe", "access", "linux",
    "unix",
    // what kernels call their own things
    "e", "i", "j", "k", "r", "lane", "sum", "team", "tile", "pass", "row", "column", "live",
    "inside", "block", "counters", "step", "first"};

}  // namespace

std::string identifier(std::string_view model_name) {
  constexpr std::string_view kOutput = "_output_0";
  if (model_name.ends_with(kOutput)) model_name.remove_suffix(kOutput.size());
  while (!model_name.empty() && (model_name.back() == '/' || model_name.back() == '.')) {
    model_name.remove_suffix(1);
  }
  const size_t slash = model_name.find_last_of("/:");
  if (slash != std::string_view::npos) model_name.remove_prefix(slash + 1);
  // Of "layer.0.attention.key.weight" the last two parts say enough.
  size_t dot = model_name.rfind('.');
  if (dot != std::string_view::npos) dot = model_name.rfind('.', dot - 1);
  if (dot != std::string_view::npos) model_name.remove_prefix(dot + 1);
  std::string result;
  for (size_t i = 0; i < model_name.size(); ++i) {
    const auto c = static_cast<unsigned char>(model_name[i]);
    if (std::isalnum(c) == 0 || c >= 128) {
      if (!result.empty() && result.back() != '_') result += '_';
      continue;
    }
    const bool upper = std::isupper(c) != 0;
    const bool after_lower = i > 0 && std::islower(static_cast<unsigned char>(model_name[i - 1]));
    if (upper && after_lower && !result.empty() && result.back() != '_') result += '_';
    result += static_cast<char>(std::tolower(c));
  }
  while (!result.empty() && result.back() == '_') result.pop_back();
  const bool numeric = result.find_first_not_of("0123456789_") == std::string::npos;
  if (result.empty() || numeric) return "";
  if (std::isdigit(static_cast<unsigned char>(result.front()))) result = "v" + result;
  return result.substr(0, 40);
}

Names::Names() {
  for (const char* word : kReserved) taken_.insert(word);
}

std::string Names::take(const std::string& wish) {
  std::string name = wish;
  for (int n = 1; !taken_.insert(name).second; ++n) name = wish + "_" + std::to_string(n);
  return name;
}

}  // namespace stitch
