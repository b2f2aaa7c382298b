// The nearest of some names to one that was not found, for "did you mean" lines.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace stitch {

// The candidate of the smallest edit distance, if that is at most a third of the name's length.
std::optional<std::string> nearest_name(std::string_view name,
                                        std::span<const std::string> candidates);

}  // namespace stitch
