// The launcher runtime compiled ahead of time, under the namespace of a bundle.
#pragma once
#include <string>
#include <string_view>

namespace stitch {

// An ELF object. Compiling the launcher takes seconds, so stitchc's own build does it once, under a
// namespace of the same length as every bundle's; the name is replaced in the object's symbol and
// section names, whose lengths (also those inside mangled names) stay as they are.
std::string launcher_object(std::string_view launcher_namespace);

}  // namespace stitch
