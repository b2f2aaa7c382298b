#include "emit_cuda/bundle/launcher_object.h"

#include "emit_cuda/bundle/embedded_files.h"
#include "graph/error.h"

namespace stitch {
namespace {

// What src/emit_cuda/bundle/CMakeLists.txt compiles the launcher with.
constexpr std::string_view kPlaceholder = "stitch_bundle_0000000000000000";

}  // namespace

std::string launcher_object(std::string_view launcher_namespace) {
  if (launcher_namespace.size() != kPlaceholder.size()) {
    throw InternalError("launcher namespace '" + std::string(launcher_namespace) +
                        "' has not the length of the placeholder");
  }
  std::string object(embedded_file("launcher.o"));
  std::size_t replaced = 0;
  for (std::size_t at = object.find(kPlaceholder); at != std::string::npos;
       at = object.find(kPlaceholder, at)) {
    object.replace(at, kPlaceholder.size(), launcher_namespace);
    ++replaced;
  }
  if (replaced == 0) throw InternalError("the compiled launcher lacks its placeholder namespace");
  return object;
}

}  // namespace stitch
