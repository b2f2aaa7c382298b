#include "emit_cuda/bundle/bundle_name.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "runtime/content_hash.h"

namespace stitch {
namespace {

// Names that cannot begin the functions and types `NAME_...`, or that would be unusual as library
// names; the prefix itself is never used alone, except for files.
constexpr std::array<std::string_view, 6> kReserved = {"std", "main", "int", "float", "c", "m"};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

}  // namespace

std::string bundle_name(std::string_view text) {
  std::string name;
  for (const char c : text) {
    if (is_word(c)) {
      name += c;
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  while (name.ends_with('_')) name.pop_back();
  const bool unusable = name.empty() || std::isdigit(static_cast<unsigned char>(name.front())) ||
                        std::ranges::count(kReserved, name) > 0;
  if (!unusable) return name;
  return name.empty() ? "model" : "model_" + name;
}

std::string launcher_namespace(std::string_view name) {
  return "stitch_bundle_" + runtime::content_hash(name.data(), name.size()).substr(0, 16);
}

}  // namespace stitch
