// The text of a kernel without what does not change its code: comments, and the names of the
// kernel, its parameters and its variables. Equal canonical texts are one kernel.
#pragma once
#include <string>

namespace stitch {

// `kernel` is the function's name in `text`; it becomes "kernel_", declared names "v0_", "v1_" ...
// in order of appearance. Names that are not seen to be declared stay, so two texts that differ in
// meaning never become equal.
std::string canonical_text(const std::string& text, const std::string& kernel);

}  // namespace stitch
