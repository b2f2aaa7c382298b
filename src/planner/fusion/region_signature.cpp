#include "planner/fusion/region_signature.h"

#include <bit>
#include <unordered_map>

#include "graph/hash.h"

namespace stitch {
namespace {

class Signature {
 public:
  Signature(const AccessGraph& graph, const RegionNodes& region) : graph_(graph), region_(region) {}

  uint64_t run() {
    add(region_.size());
    for (size_t n = 0; n < region_.size(); ++n) add_node(n);
    return hash_;
  }

 private:
  void add(uint64_t number) { hash_ = hash_combine(hash_, number); }

  void add_extent(int64_t extent) { add(std::bit_width(static_cast<uint64_t>(extent))); }

  void add_atoms(const std::vector<AtomId>& atoms) {
    add(atoms.size());
    for (const AtomId atom : atoms) add_extent(graph_.pool.atom(atom).extent);
  }

  void add_node(size_t n) {
    const AccessNode& node = region_.node(n);
    add(static_cast<uint64_t>(node.kind));
    add(static_cast<uint64_t>(node.op));
    add(region_.leaves(n) ? 1 : 0);
    add_atoms(node.axes);
    add_atoms(node.reduced);
    for (const AccessValueId result : node.results) {
      add(static_cast<uint64_t>(graph_.value(result).dtype));
    }
    add(region_.producers(n).size());
    for (const size_t producer : region_.producers(n)) add(producer);
    for (const AccessValueId value : region_.outside(n)) add_outside(value);
  }

  // By the order in which the region reads it first.
  void add_outside(AccessValueId value) {
    const auto [found, is_new] = outside_.emplace(value, outside_.size());
    add(found->second);
    if (!is_new) return;
    const AccessValue& read = graph_.value(value);
    add(static_cast<uint64_t>(read.kind));
    add(static_cast<uint64_t>(read.dtype));
    for (const int64_t extent : read.extents) add_extent(extent);
  }

  const AccessGraph& graph_;
  const RegionNodes& region_;
  std::unordered_map<AccessValueId, size_t> outside_;
  uint64_t hash_ = kHashSeed;
};

}  // namespace

uint64_t signature_of(const AccessGraph& graph, const RegionNodes& region) {
  return Signature(graph, region).run();
}

}  // namespace stitch
