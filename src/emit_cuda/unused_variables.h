// Drops declarations of index variables that nothing in their block refers to.
#pragma once
#include <string>
#include <string_view>

namespace stitch {

// `body`: the indented statements of a function. Looks at lines "const int x = ...;" and the like
// whose right side has no effect.
std::string without_unused_variables(const std::string& body);

// Whether the text holds the identifier as a whole word.
bool mentions(std::string_view text, std::string_view word);

}  // namespace stitch
