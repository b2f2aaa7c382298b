// The address of an access: one linear expression over atoms, and what it says about neighbouring
// elements.
#pragma once
#include <span>
#include <vector>

#include "planner/access/access_graph.h"

namespace stitch {

struct Address {
  ExprId linear;  // elements from the start of the tensor
  int64_t element_bytes = 4;
};

// Of an element of a value, by the order in which it is stored.
Address address_of(AccessGraph& graph, AccessValueId value, std::span<const ExprId> index);

// By how much the address grows with the atom, if the atom occurs as a plain term only.
struct Coefficient {
  int64_t value = 0;
  bool plain = true;  // false: the atom is inside of a quotient, a remainder, a bound or a read
};
Coefficient coefficient(const AccessGraph& graph, ExprId linear, AtomId atom);

// Atoms in the order in which the address grows: the smallest step last; those that do not occur,
// or not plainly, first.
std::vector<AtomId> by_falling_step(const AccessGraph& graph, ExprId linear,
                                    std::vector<AtomId> atoms);

// The largest power of two v <= limit so that v neighbours along `atom` can be one aligned access.
int64_t vector_width(const AccessGraph& graph, ExprId linear, AtomId atom, int64_t limit);

}  // namespace stitch
