#include "frontend/node_order.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_map>
#include <unordered_set>

namespace stitch {
namespace {

// Names that a node reads: its inputs, and whatever its subgraphs read.
void collect_names_read(const OnnxNode& node, std::vector<std::string>& names) {
  names.insert(names.end(), node.inputs.begin(), node.inputs.end());
  for (const OnnxAttribute& attribute : node.attributes) {
    const auto* body = std::get_if<std::shared_ptr<const OnnxGraph>>(&attribute.value);
    if (!body) continue;
    for (const OnnxNode& inner : (*body)->nodes) collect_names_read(inner, names);
    for (const OnnxValueInfo& output : (*body)->outputs) names.push_back(output.name);
  }
}

// Follows producers from a node that Kahn's algorithm could not reach until a node repeats.
std::vector<size_t> find_cycle(size_t start, const std::vector<std::vector<size_t>>& producers,
                               const std::vector<char>& left) {
  std::vector<size_t> path;
  std::unordered_map<size_t, size_t> position;
  size_t at = start;
  while (!position.contains(at)) {
    position[at] = path.size();
    path.push_back(at);
    for (const size_t producer : producers[at]) {
      if (left[producer]) {
        at = producer;
        break;
      }
    }
  }
  std::vector<size_t> cycle(path.begin() + static_cast<std::ptrdiff_t>(position[at]), path.end());
  std::reverse(cycle.begin(), cycle.end());
  return cycle;
}

}  // namespace

NodeOrder order_nodes(const std::vector<OnnxNode>& nodes, const std::vector<std::string>& wanted) {
  NodeOrder order;
  std::unordered_map<std::string, size_t> producer_of;
  for (size_t i = 0; i < nodes.size(); ++i) {
    bool repeats = false;
    for (const std::string& output : nodes[i].outputs) {
      if (!output.empty() && !producer_of.emplace(output, i).second) repeats = true;
    }
    if (repeats) order.repeats.push_back(i);
  }

  std::vector<std::vector<size_t>> producers(nodes.size());
  std::vector<std::vector<size_t>> consumers(nodes.size());
  std::vector<char> live(nodes.size(), 0);
  std::vector<size_t> pending;
  const auto mark = [&](const std::string& name) {
    const auto found = producer_of.find(name);
    if (found == producer_of.end()) return nodes.size();
    if (!live[found->second]) {
      live[found->second] = 1;
      pending.push_back(found->second);
    }
    return found->second;
  };
  for (const std::string& name : wanted) mark(name);
  while (!pending.empty()) {
    const size_t i = pending.back();
    pending.pop_back();
    std::vector<std::string> names;
    collect_names_read(nodes[i], names);
    std::unordered_set<size_t> seen;
    for (const std::string& name : names) {
      const size_t producer = mark(name);
      if (producer == nodes.size() || !seen.insert(producer).second) continue;
      producers[i].push_back(producer);
      consumers[producer].push_back(i);
    }
  }

  // Kahn's algorithm; the ready node that comes first in the file goes first.
  std::vector<size_t> waiting(nodes.size());
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t i = 0; i < nodes.size(); ++i) {
    waiting[i] = producers[i].size();
    if (live[i] && waiting[i] == 0) ready.push(i);
  }
  while (!ready.empty()) {
    const size_t i = ready.top();
    ready.pop();
    live[i] = 0;
    order.nodes.push_back(i);
    for (const size_t consumer : consumers[i]) {
      if (--waiting[consumer] == 0) ready.push(consumer);
    }
  }
  const auto left = std::find(live.begin(), live.end(), 1);
  if (left != live.end()) {
    order.cycle = find_cycle(static_cast<size_t>(left - live.begin()), producers, live);
  }
  return order;
}

}  // namespace stitch
