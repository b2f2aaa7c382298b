// A launch in progress: what its workers share.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "emulator/device/event_counts.h"
#include "emulator/device/fiber.h"
#include "emulator/device/launch.h"
#include "emulator/device/observer.h"
#include "emulator/device/report.h"

namespace stitch::emulator {

struct RunningLaunch {
  const Launch& launch;
  const Schedule& schedule;
  ReportLog& reports;
  LaunchObserver* observer = nullptr;  // null when the launch is not checked
  std::uint64_t blocks = 0;
  std::vector<std::uint32_t> shuffled_clusters;  // of Order::kRandom
  std::atomic<std::uint64_t> next_cluster{0};
  std::atomic<std::uint64_t> progress{0};  // changes when any worker gets on
  std::atomic<bool> aborted{false};
};

// What launches use one after another: stacks for each host thread.
struct LaunchResources {
  std::vector<std::unique_ptr<StackPool>> stacks;
};

// Runs a launch to its end and adds what happened to `counts`. False when it was stopped by an
// error, which is then in `reports`.
bool run_launch(const Launch& launch, const Schedule& schedule, LaunchObserver* observer,
                LaunchResources& resources, ReportLog& reports, EventCounts& counts);

}  // namespace stitch::emulator
