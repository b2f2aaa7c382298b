// Text with @KEY@ marks, and the values that take their place.
#pragma once
#include <map>
#include <string>
#include <string_view>

namespace stitch {

// Throws InternalError on a mark without a value. A lone @ stays.
std::string fill_template(std::string_view text, const std::map<std::string, std::string>& values);

}  // namespace stitch
