// The order of parts that wait for each other's results: kernels, steps, patterns.
#pragma once
#include <cstddef>
#include <utility>
#include <vector>

namespace stitch {

class PartOrder {
 public:
  explicit PartOrder(size_t parts) : parts_(parts) {}

  // `user` reads what `producer` computes. May be said again, and of a part itself: no wait.
  void add_use(size_t producer, size_t user) {
    if (producer != user) uses_.emplace_back(producer, user);
  }

  // Every part behind its producers, by Kahn's algorithm; of those that could be next the smallest.
  // Parts on a cycle and behind it are left out: fewer than all are returned.
  //
  //   uses 0 -> 3, 2 -> 1, 3 -> 1   =>   0 2 3 1
  std::vector<size_t> run();

  // Whether some parts wait for each other.
  bool has_cycle() { return run().size() != parts_; }

 private:
  size_t parts_;
  std::vector<std::pair<size_t, size_t>> uses_;
};

}  // namespace stitch
