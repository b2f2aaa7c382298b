#include "planner/fusion/joined_request.h"

#include <algorithm>
#include <iterator>

namespace stitch {

KernelRequest joined_request(const KernelRequest& a, const KernelRequest& b) {
  KernelRequest request;
  std::set_union(a.nodes.begin(), a.nodes.end(), b.nodes.begin(), b.nodes.end(),
                 std::back_inserter(request.nodes));
  request.stored = a.stored;
  for (const AccessValueId value : b.stored) {
    if (std::find(a.stored.begin(), a.stored.end(), value) == a.stored.end()) {
      request.stored.push_back(value);
    }
  }
  request.may_wait = a.may_wait && b.may_wait;
  request.may_be_in_shared = a.may_be_in_shared && b.may_be_in_shared;
  request.may_sweep = a.may_sweep && b.may_sweep;
  request.may_cluster = a.may_cluster && b.may_cluster;
  request.grid = std::min(a.grid, b.grid);
  request.techniques = a.techniques;
  return request;
}

}  // namespace stitch
