#include "calibrate/calibration_task.h"

namespace stitch {
namespace {

constexpr int kBlock = 256;
constexpr int kFewLaunches = 16, kManyLaunches = 80;  // of one graph
constexpr int kFewRounds = 8, kManyRounds = 72;
constexpr int kSharedBytes = 256;

// `whole` without `part`.
Measured without(const Measured& whole, const Measured& part) {
  const double rest = whole.value - part.value;
  if (!whole.is_told_from_zero || !part.is_told_from_zero || rest <= 0) return {0, 0, false};
  return {rest, (whole.spread * whole.value + part.spread * part.value) / rest};
}

Measured time_launch(const CalibrationTask& task) {
  return task.time_unit({.enqueue =
                             [&](int launches) {
                               for (int i = 0; i < launches; ++i)
                                 task.device.launch("calibrate_launch", {1, 32});
                             },
                         .few = kFewLaunches,
                         .many = kManyLaunches,
                         .as_graph = true});
}

Measured time_floor(const CalibrationTask& task) {
  const LaunchShape shape = {task.effort.multiprocessors, kBlock};
  const size_t bytes = sizeof(float) * static_cast<size_t>(shape.blocks) * kBlock;
  const auto index = task.device.allocate(bytes, "indices");
  const auto from = task.device.allocate(bytes, "values");
  const auto to = task.device.allocate(bytes, "results");
  task.device.clear(index);
  task.device.clear(from);
  return task.time_unit({.enqueue =
                             [&](int launches) {
                               for (int i = 0; i < launches; ++i)
                                 task.device.launch("calibrate_floor", shape, index.address(),
                                                    from.address(), to.address());
                             },
                         .few = kFewLaunches,
                         .many = kManyLaunches,
                         .as_graph = true});
}

Measured time_barrier(const CalibrationTask& task) {
  const auto counter = task.device.allocate(sizeof(unsigned), "a counter");
  const LaunchShape shape = {task.effort.multiprocessors, kBlock, 0, true};
  return task.time_unit({.enqueue =
                             [&](int rounds) {
                               task.device.launch("calibrate_barrier", shape, counter.address(),
                                                  rounds);
                             },
                         .prepare = [&] { task.device.clear(counter); },
                         .few = kFewRounds,
                         .many = kManyRounds});
}

Measured time_ticket(const CalibrationTask& task, bool with_ticket) {
  const LaunchShape shape = {task.effort.multiprocessors, kBlock, kSharedBytes};
  const auto counters = task.device.allocate(sizeof(unsigned) * kManyLaunches, "counters");
  const auto partial =
      task.device.allocate(sizeof(float) * static_cast<size_t>(shape.blocks), "partial results");
  const auto total = task.device.allocate(sizeof(float), "a total");
  return task.time_unit({.enqueue =
                             [&](int launches) {
                               for (int i = 0; i < launches; ++i)
                                 task.device.launch("calibrate_ticket", shape, counters.address(),
                                                    i, static_cast<int>(with_ticket),
                                                    partial.address(), total.address());
                             },
                         .prepare = [&] { task.device.clear(counters); },
                         .few = kFewLaunches,
                         .many = kManyLaunches,
                         .as_graph = true});
}

Measured time_reduce(const CalibrationTask& task) {
  const LaunchShape shape = {task.effort.multiprocessors, kBlock, kSharedBytes};
  const auto to =
      task.device.allocate(sizeof(float) * static_cast<size_t>(shape.blocks) * kBlock, "results");
  return task.time_unit(
      {.enqueue =
           [&](int rounds) { task.device.launch("calibrate_reduce", shape, rounds, to.address()); },
       .few = kFewRounds,
       .many = kManyRounds});
}

}  // namespace

void measure_overheads(CalibrationTask& task) {
  const Measured launch = time_launch(task);
  task.add_value("launch_us", launch);
  task.add_value("floor_us", without(time_floor(task), launch));
  task.add_value("barrier_us", time_barrier(task));
  task.add_value("ticket_us", without(time_ticket(task, true), time_ticket(task, false)));
  task.add_value("reduce_us", time_reduce(task));
}

}  // namespace stitch
