#include <exception>
#include <numeric>
#include <random>
#include <thread>
#include <utility>

#include "emulator/device/running_launch.h"
#include "emulator/device/worker.h"

namespace stitch::emulator {
namespace {

std::vector<std::uint32_t> shuffled(std::uint64_t count, std::uint64_t seed) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  std::mt19937_64 random(seed);
  for (std::uint64_t i = count; i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  return order;
}

}  // namespace

bool run_launch(const Launch& launch, const Schedule& schedule, LaunchObserver* observer,
                LaunchResources& resources, ReportLog& reports, EventCounts& counts) {
  Schedule used = schedule;
  const std::uint64_t blocks = std::uint64_t{launch.grid.x} * launch.grid.y * launch.grid.z;
  const std::uint64_t clusters = blocks / launch.cluster;
  if (observer != nullptr || launch.cooperative) used.host_threads = 1;
  if (clusters < used.host_threads) used.host_threads = static_cast<unsigned>(clusters);
  RunningLaunch running{launch, used, reports, observer, blocks, {}, {}, {}, {}};
  if (used.order == Order::kRandom) running.shuffled_clusters = shuffled(clusters, used.seed);
  if (observer != nullptr) observer->launch_begins(launch);

  while (resources.stacks.size() < used.host_threads)
    resources.stacks.push_back(std::make_unique<StackPool>());
  std::vector<EventCounts> counted(used.host_threads);
  std::vector<std::exception_ptr> failures(used.host_threads);
  const auto work = [&](unsigned index) {
    try {
      Worker worker(running, *resources.stacks[index]);
      worker.run();
      counted[index] = worker.counts();
    } catch (...) {  // out of memory for stacks: thrown by the caller's thread below
      failures[index] = std::current_exception();
      running.aborted = true;
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < used.host_threads; ++i) threads.emplace_back(work, i);
  work(0);
  for (std::thread& thread : threads) thread.join();
  for (const auto& stacks : resources.stacks) stacks->trim();
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
  for (const EventCounts& c : counted) counts += c;
  if (observer != nullptr) observer->launch_ends();
  return !running.aborted;
}

}  // namespace stitch::emulator
