// The statement that stores an element: one vector where the lanes are neighbours in aligned
// memory, else one element at a time.
#pragma once
#include <string>

#include "emit_cuda/element_builder.h"

namespace stitch {

struct StoreTarget {
  Memory to;
  ExprId offset;      // elements, over coordinates
  ScopeId scope;      // at least
  std::string width;  // the constant with the number of lanes
};

void add_store(ElementBuilder& builder, const StoreTarget& target, ElementId element);

}  // namespace stitch
