// Two kernels asked for as one.
#pragma once
#include "planner/kernel/kernel_cut.h"

namespace stitch {

// The nodes of both, each once; allowed is what both allow. All that either stores is stored.
KernelRequest joined_request(const KernelRequest& a, const KernelRequest& b);

}  // namespace stitch
