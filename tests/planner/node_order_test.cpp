// A plan follows from what a graph computes, not from the order in which its nodes are listed.
#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <sstream>
#include <tuple>

#include "planned.h"
#include "planner/random_graph.h"
#include "planner/workload_graph.h"
#include "support/catch.h"

using namespace stitch;

namespace {

bool is_node(const std::string& line) {
  const size_t name = line.find_first_not_of(' ');
  return name != std::string::npos && line[name] == '%';
}

// Ids behind '%', the defined ones first.
std::vector<std::string> ids_of(const std::string& line) {
  std::vector<std::string> ids;
  for (size_t at = line.find('%'); at != std::string::npos; at = line.find('%', at + 1)) {
    const size_t end = line.find_first_not_of("0123456789abcdefghijklmnopqrstuvwxyz_", at + 1);
    ids.push_back(line.substr(at, end - at));
  }
  return ids;
}

// The same graph with its nodes in another topological order.
std::string shuffled(const std::string& text, uint32_t seed) {
  std::vector<std::string> head, nodes, tail;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    (is_node(line) ? nodes : nodes.empty() ? head : tail).push_back(line);
  }
  std::map<std::string, size_t> maker;
  std::vector<std::vector<size_t>> users(nodes.size());
  std::vector<int> waits(nodes.size(), 0);
  for (size_t n = 0; n < nodes.size(); ++n) {
    const size_t equals = nodes[n].find(" = ");
    for (const std::string& id : ids_of(nodes[n].substr(0, equals))) maker[id] = n;
    for (const std::string& id : ids_of(nodes[n].substr(equals))) {
      const auto found = maker.find(id);
      if (found == maker.end()) continue;
      users[found->second].push_back(n);
      ++waits[n];
    }
  }
  std::mt19937 random(seed);
  std::vector<size_t> ready;
  for (size_t n = 0; n < nodes.size(); ++n) {
    if (waits[n] == 0) ready.push_back(n);
  }
  std::ostringstream result;
  for (const std::string& line : head) result << line << "\n";
  while (!ready.empty()) {
    std::swap(ready[random() % ready.size()], ready.back());
    const size_t n = ready.back();
    ready.pop_back();
    result << nodes[n] << "\n";
    for (const size_t user : users[n]) {
      if (--waits[user] == 0) ready.push_back(user);
    }
  }
  for (const std::string& line : tail) result << line << "\n";
  return result.str();
}

// What a plan is, but for names and the order of independent launches.
using Launch = std::tuple<int64_t, int64_t, int, size_t, bool, int64_t>;
std::vector<Launch> launches(const Plan& plan) {
  std::vector<Launch> found;
  for (const Step& step : plan.steps) {
    const auto* const kernel = std::get_if<Kernel>(&step);
    if (kernel == nullptr) {
      found.emplace_back(-1, 0, 0, 0, false, 0);
      continue;
    }
    found.emplace_back(kernel->bytes.compulsory, kernel->bytes.bytes, kernel->block,
                       kernel->parts.size(), kernel->cooperative,
                       std::llround(kernel->estimate.total_us * 1e6));
  }
  std::sort(found.begin(), found.end());
  return found;
}

struct Comparison {
  int compared = 0;  // whose text differs, and that have a plan
  int differing = 0;
};

Comparison compare_orders(const std::vector<std::string>& graphs) {
  Comparison result;
  for (size_t g = 0; g < graphs.size(); ++g) {
    PlanOptions options;
    options.contractions = ContractionMode::kOwn;
    std::unique_ptr<Planned> given;
    try {
      given = plan_text_graph(graphs[g], options);
    } catch (const std::exception&) {
      continue;  // an op that has no kernel
    }
    const std::string text = shuffled(graphs[g], static_cast<uint32_t>(g));
    if (text == graphs[g]) continue;
    ++result.compared;
    const auto other = plan_text_graph(text, options);
    if (launches(given->plan) == launches(other->plan)) continue;
    ++result.differing;
    UNSCOPED_INFO("graph " << g << ": " << given->kernels().size() << " kernels, "
                           << predicted_us(given->plan) << " us; shuffled "
                           << other->kernels().size() << ", " << predicted_us(other->plan) << "\n"
                           << graphs[g]);
  }
  return result;
}

}  // namespace

TEST_CASE("the order of independent nodes changes no plan of random graphs") {
  std::vector<std::string> graphs;
  for (uint32_t seed = 1; seed <= 120; ++seed) {
    graphs.push_back(print_graph(make_random_graph(seed, 14).graph));
  }
  const Comparison result = compare_orders(graphs);
  CHECK(result.compared > 30);
  CHECK(result.differing == 0);
}

TEST_CASE("the order of independent nodes changes no plan of workloads") {
  std::vector<std::string> graphs;
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    graphs.push_back(print_graph(make_workload_graph(seed, 24)));
  }
  const Comparison result = compare_orders(graphs);
  CHECK(result.compared > 15);
  CHECK(result.differing == 0);
}
