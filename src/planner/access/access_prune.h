// Removes what no output needs from an access graph.
#pragma once
#include "planner/access/access_graph.h"

namespace stitch {

// Nodes whose results are not read (an iota that became an index expression), and values without a
// reader. Ids of nodes and values change; inputs stay.
void remove_unread_nodes(AccessGraph& graph);

}  // namespace stitch
