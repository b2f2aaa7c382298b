// Sizes and names of element types.
#ifndef STITCH_RUNTIME_ELEMENT_TYPE_H_
#define STITCH_RUNTIME_ELEMENT_TYPE_H_

#include <cstdint>

#include "runtime/bundle_format.h"

namespace STITCH_RUNTIME_NAMESPACE {

std::uint32_t element_bytes(ElementType type);

// "float32", as ONNX and NumPy call it.
const char* element_name(ElementType type);

}  // namespace STITCH_RUNTIME_NAMESPACE

#endif  // STITCH_RUNTIME_ELEMENT_TYPE_H_
