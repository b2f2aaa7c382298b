// How large a value is, whatever the order in which it is stored.
#pragma once
#include <cstdint>

#include "planner/access/access_graph.h"

namespace stitch {

inline int64_t element_count(const AccessValue& value) {
  int64_t count = 1;
  for (const int64_t extent : value.extents) count *= extent;
  return count;
}

// Of its own dtype.
inline int64_t byte_count(const AccessValue& value) {
  return element_count(value) * size_bytes(value.dtype);
}

}  // namespace stitch
