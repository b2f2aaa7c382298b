#include <algorithm>
#include <vector>

#include "calibrate/calibration_task.h"

namespace stitch {
namespace {

constexpr int kVectorBytes = 16;
constexpr int kBlock = 256;
constexpr int kMostThreads = 1024;  // of a block
// One step of the chase is 4 kB and a little more, so that each touches a sector of its own, and
// those of different steps lie in different channels.
constexpr int kChaseElements = 1056;
constexpr int kFewSteps = 512, kManySteps = 1024;
// A device is short of threads below this share of what it reaches: there Little's law holds.
constexpr double kShortOfThreads = 0.5;

struct CopyShape {
  int blocks = 1;
  int threads = kBlock;
  double footprint = 0;  // bytes, of both arrays
};

struct CurvePoint {
  double threads = 0;
  Measured gbps;
};

class MemoryMeasurement {
 public:
  explicit MemoryMeasurement(CalibrationTask& task)
      : task_(task),
        l2_(static_cast<double>(task.effort.l2_bytes)),
        from_(task.device.allocate(array_bytes(), "the source of copies")),
        to_(task.device.allocate(array_bytes(), "the target of copies")) {
    task.device.clear(from_);
  }

  void run() {
    const Measured latency = latency_us();
    task_.add_value("dram_latency_us", latency);
    const std::vector<CurvePoint> dram = curve("dram_bandwidth", 4 * l2_);
    const std::vector<CurvePoint> l2 = curve("l2_bandwidth", l2_ / 4);
    footprint_curve();

    const Measured best = fastest(dram);
    task_.add_value("bytes_in_flight_per_thread", in_flight(dram, best, latency));
    task_.add_value("reachable_share", scaled(best, 1 / task_.model.dram_gbps));
    const Measured one = gbps({1, kMostThreads, 4 * l2_});
    task_.add_value("share_of_one_sm",
                    scaled(one, task_.effort.multiprocessors / task_.model.dram_gbps));
    task_.add_value("l2_gbps", fastest(l2));
  }

 private:
  // Each of two arrays; the largest footprint is four times L2.
  size_t array_bytes() const { return static_cast<size_t>(2 * task_.effort.l2_bytes); }

  Measured gbps(const CopyShape& shape) const {
    const int vectors = static_cast<int>(shape.footprint / 2 / kVectorBytes);
    const Measured us =
        task_.time_unit({.enqueue =
                             [&](int rounds) {
                               task_.device.launch("calibrate_copy", {shape.blocks, shape.threads},
                                                   from_.address(), to_.address(), vectors, rounds);
                             },
                         .few = 1,
                         .many = 1 + (shape.footprint < l2_ ? 8 : 1) * task_.effort.copies});
    if (!us.is_told_from_zero) return us;
    return {shape.footprint / us.value / 1e3, us.spread};
  }

  // From one warp on each multiprocessor to all that fit.
  std::vector<CopyShape> occupancies(double footprint) const {
    const int sms = task_.effort.multiprocessors;
    std::vector<CopyShape> shapes;
    for (int threads = 32; threads < kBlock; threads *= 2) {
      shapes.push_back({sms, threads, footprint});
    }
    for (int blocks = 1; blocks * kBlock <= task_.model.threads_per_sm; blocks *= 2) {
      shapes.push_back({sms * blocks, kBlock, footprint});
    }
    return shapes;
  }

  std::vector<CurvePoint> curve(std::string_view name, double footprint) {
    std::vector<CurvePoint> points;
    for (const CopyShape& shape : occupancies(footprint)) {
      const double threads = static_cast<double>(shape.blocks) * shape.threads;
      const Measured point = gbps(shape);
      if (!point.is_told_from_zero) continue;
      points.push_back({threads, point});
      task_.add_sample(name, threads, point.value);
    }
    return points;
  }

  void footprint_curve() {
    CopyShape shape = occupancies(0).back();
    for (double share = 0.125; share <= 4; share *= 2) {
      shape.footprint = share * l2_;
      const Measured point = gbps(shape);
      if (!point.is_told_from_zero) continue;
      task_.add_sample("footprint_bandwidth", shape.footprint, point.value);
    }
  }

  static Measured fastest(const std::vector<CurvePoint>& points) {
    Measured best = {0, 0, false};
    for (const CurvePoint& point : points) {
      if (point.gbps.value > best.value) best = point.gbps;
    }
    return best;
  }

  // Little's law where more threads would move more: what one thread moves in the time of a load.
  static Measured in_flight(const std::vector<CurvePoint>& points, const Measured& best,
                            const Measured& latency) {
    if (points.empty() || !latency.is_told_from_zero) return {0, 0, false};
    std::vector<double> bytes;
    double spread = 0;
    for (const CurvePoint& point : points) {
      if (!bytes.empty() && point.gbps.value > kShortOfThreads * best.value) break;
      bytes.push_back(point.gbps.value * 1e3 / point.threads * latency.value);
      spread = std::max(spread, point.gbps.spread + latency.spread);
    }
    return {summary_of(bytes).value, spread};
  }

  // Loads that wait for each other, each of a sector that nothing has loaded since it left L2.
  Measured latency_us() const {
    const int count = static_cast<int>(array_bytes() / sizeof(int));
    task_.device.launch("calibrate_ring", {task_.effort.multiprocessors, kBlock}, to_.address(),
                        count, kChaseElements);
    int start = 0;
    const auto result = task_.device.allocate(32 * sizeof(int), "the end of a chase");
    return task_.time_unit({.enqueue =
                                [&](int steps) {
                                  task_.device.launch("calibrate_chase", {1, 32}, to_.address(),
                                                      start, steps, result.address());
                                  const int64_t end = start + int64_t{steps} * kChaseElements;
                                  start = static_cast<int>(end % count);
                                },
                            .few = kFewSteps,
                            .many = kManySteps});
  }

  CalibrationTask& task_;
  double l2_;
  runtime::DeviceBuffer from_;
  runtime::DeviceBuffer to_;
};

}  // namespace

void measure_memory(CalibrationTask& task) { MemoryMeasurement(task).run(); }

}  // namespace stitch
