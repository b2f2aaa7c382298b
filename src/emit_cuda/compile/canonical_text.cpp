#include "emit_cuda/compile/canonical_text.h"

#include <cctype>
#include <map>
#include <set>
#include <string_view>
#include <vector>

namespace stitch {

namespace {

const std::set<std::string_view> kTypes = {
    "auto",     "bool",   "char",    "double",        "float",          "int",      "long",
    "short",    "signed", "size_t",  "uint2",         "uint4",          "float2",   "float4",
    "unsigned", "__half", "__half2", "__nv_bfloat16", "__nv_bfloat162", "StitchArg"};
const std::set<std::string_view> kBetween = {"*", "&", "const", "__restrict__"};

bool is_word(const std::string& token) {
  return std::isalpha(static_cast<unsigned char>(token[0])) != 0 || token[0] == '_';
}

// Words, numbers, strings, and single punctuation characters; comments and white space dropped,
// preprocessor lines kept whole.
std::vector<std::string> tokens_of(const std::string& text) {
  std::vector<std::string> tokens;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    size_t end = i + 1;
    if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      i = end;
      continue;
    }
    if (text.compare(i, 2, "//") == 0) {
      i = std::min(text.find('\n', i), text.size());
      continue;
    }
    if (c == '#') {
      end = std::min(text.find('\n', i), text.size());
    } else if (c == '"') {
      end = text.find('"', i + 1) + 1;
    } else if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') {
      while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0 ||
                                   text[end] == '_' || text[end] == '.'))
        if (text[end] == '.' && std::isdigit(static_cast<unsigned char>(c)) == 0)
          break;
        else
          ++end;
    }
    tokens.push_back(text.substr(i, end - i));
    i = end;
  }
  return tokens;
}

}  // namespace

std::string canonical_text(const std::string& text, const std::string& kernel) {
  const std::vector<std::string> tokens = tokens_of(text);
  std::map<std::string, std::string> names;
  bool after_type = false;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const std::string& token = tokens[i];
    if (kTypes.contains(token)) {
      after_type = true;
    } else if (!kBetween.contains(token)) {
      const bool called = i + 1 < tokens.size() && (tokens[i + 1] == "(" || tokens[i + 1] == "<");
      if (after_type && is_word(token) && !called)
        names.emplace(token, "v" + std::to_string(names.size()) + "_");
      after_type = false;
    }
  }
  names[kernel] = "kernel_";
  for (const std::string& token : tokens) {  // functions of its parts
    if (token.starts_with(kernel + "_part")) {
      names[token] = "kernel_" + token.substr(kernel.size());
    }
  }
  std::string canonical;
  for (size_t i = 0; i < tokens.size(); ++i) {
    // A member (`a.x`) keeps its name whatever variables are called.
    const bool member = i > 0 && tokens[i - 1] == ".";
    const auto renamed = names.find(tokens[i]);
    canonical += renamed == names.end() || member ? tokens[i] : renamed->second;
    canonical += '\n';
  }
  return canonical;
}

}  // namespace stitch
