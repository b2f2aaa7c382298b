#include <algorithm>
#include <array>
#include <functional>
#include <vector>

#include "calibrate/calibration_task.h"
#include "graph/op.h"
#include "planner/cost/cost.h"

namespace stitch {
namespace {

constexpr int kBlock = 256;
constexpr int kChains = 4;  // of kernels/instructions.cu
constexpr int kTableMask = 1023;
constexpr int kTileBytes = 512 * sizeof(float);
constexpr int kManyThreads = 1024;  // of a multiprocessor: enough for every class, at 64 registers
constexpr double kBelowFullRate = 0.6;

double weight(Op op) { return facts(op).weight; }

// A measuring kernel and the issue slots of one round of one thread, were every cycle used.
struct InstructionLoop {
  const char* kernel = "";
  double slots = 0;
  int slowness = 1;  // rounds are divided by it
  int shared_bytes = 0;
};

InstructionLoop light_loop() {
  return {"calibrate_light", kChains * (weight(Op::k_add) + weight(Op::k_max))};
}
InstructionLoop expensive_loop() {
  double slots = 0;
  for (const Op op : {Op::k_exp, Op::k_log, Op::k_div, Op::k_sqrt, Op::k_tanh, Op::k_erf}) {
    slots += weight(op);
  }
  return {"calibrate_expensive", slots, 8};
}
InstructionLoop index_loop() { return {"calibrate_index", kChains * 3}; }
InstructionLoop accumulate_loop() { return {"calibrate_accumulate", 4 * weight(Op::k_reduce)}; }
// 16 products, each with its share of the loads (contraction_kernel.cpp counts two).
InstructionLoop product_loop() { return {"calibrate_product", 16 * 2, 2, kTileBytes}; }

class InstructionMeasurement {
 public:
  explicit InstructionMeasurement(CalibrationTask& task)
      : task_(task),
        blocks_per_sm_(std::min(task.model.threads_per_sm, kManyThreads) / kBlock),
        seed_(task.device.allocate(sizeof(float) * (kTableMask + 1 + 32 * kChains), "operands")),
        to_(task.device.allocate(sizeof(float) * kBlock * static_cast<size_t>(all_blocks()),
                                 "results")) {
    std::vector<float> seed(seed_.bytes() / sizeof(float), 1.0f);
    const std::array<float, 4> first = {0.75f, 1.25f, 0.5f, 1.5f};
    std::copy(first.begin(), first.end(), seed.begin());
    task.device.copy_in(seed_, seed.data(), seed_.bytes());
  }

  void run() {
    const Measured light = cycles(light_loop());
    task_.add_value("full_rate_threads", full_rate_threads());
    task_.add_value("cpi_light", light);
    task_.add_value("cpi_expensive", cycles(expensive_loop()));
    task_.add_value("cpi_index", cycles(index_loop()));
    task_.add_value("cpi_reduce", cycles(accumulate_loop()));
    task_.add_value("cpi_multiply_add", cycles(product_loop()));
    task_.add_value("cpi_load", load_cycles(light));
  }

 private:
  int all_blocks() const { return task_.effort.multiprocessors * blocks_per_sm_; }

  // Cycles for each slot, by a device that is full of threads.
  Measured cycles(const InstructionLoop& loop) const {
    const LaunchShape shape = {all_blocks(), kBlock, loop.shared_bytes};
    const Measured us = time_round(loop, [&](int rounds) {
      task_.device.launch(loop.kernel, shape, seed_.address(), rounds, to_.address());
    });
    return scaled(us, lanes() / (static_cast<double>(shape.blocks) * kBlock * loop.slots));
  }

  // The adds between the loads are light ones.
  Measured load_cycles(const Measured& light) const {
    const InstructionLoop loop = {"calibrate_load", kChains * 2};
    const LaunchShape shape = {all_blocks(), kBlock};
    const Measured us = time_round(loop, [&](int rounds) {
      task_.device.launch(loop.kernel, shape, seed_.address(), kTableMask, rounds, to_.address());
    });
    const Measured all =
        scaled(us, lanes() / (static_cast<double>(shape.blocks) * kBlock * loop.slots));
    const double adds = light.value * weight(Op::k_add) * kChains / loop.slots;
    const double rest = all.value - adds;
    if (!all.is_told_from_zero || !light.is_told_from_zero || rest <= 0) return {0, 0, false};
    return {rest, (all.spread * all.value + light.spread * adds) / rest};
  }

  Measured time_round(const InstructionLoop& loop, const std::function<void(int)>& enqueue) const {
    const int few = std::max(task_.effort.rounds / 4 / loop.slowness, 1);
    return task_.time_unit({.enqueue = enqueue,
                            .few = few,
                            .many = few + std::max(task_.effort.rounds / loop.slowness, 1)});
  }

  // The model's rate is min(1, threads / full_rate_threads): read off where it is far below one.
  Measured full_rate_threads() {
    const InstructionLoop loop = light_loop();
    std::vector<std::pair<double, Measured>> rates;  // by threads of a multiprocessor
    const auto add = [&](const LaunchShape& shape, double threads) {
      const Measured us = time_round(loop, [&](int rounds) {
        task_.device.launch(loop.kernel, shape, seed_.address(), rounds, to_.address());
      });
      if (!us.is_told_from_zero) return;
      rates.emplace_back(threads, Measured{threads / us.value, us.spread});
    };
    for (int threads = 32; threads < kBlock; threads *= 2) {
      add({task_.effort.multiprocessors, threads}, threads);
    }
    for (int blocks = 1; blocks <= blocks_per_sm_; blocks *= 2) {
      add({task_.effort.multiprocessors * blocks, kBlock}, blocks * kBlock);
    }
    if (rates.empty()) return {0, 0, false};
    double full = 0;
    for (const auto& [threads, rate] : rates) full = std::max(full, rate.value);
    std::vector<double> estimates;
    double spread = 0;
    for (const auto& [threads, rate] : rates) {
      task_.add_sample("issue_rate", threads, rate.value / full);
      if (!estimates.empty() && rate.value > kBelowFullRate * full) continue;
      estimates.push_back(threads * full / rate.value);
      spread = std::max(spread, rate.spread);
    }
    return {summary_of(estimates).value, spread};
  }

  // Issue slots in a microsecond of the multiprocessors that are filled.
  double lanes() const {
    return lanes_per_us(task_.model) * task_.effort.multiprocessors / task_.model.sm_count;
  }

  CalibrationTask& task_;
  int blocks_per_sm_;
  runtime::DeviceBuffer seed_;
  runtime::DeviceBuffer to_;
};

}  // namespace

void measure_instructions(CalibrationTask& task) { InstructionMeasurement(task).run(); }

}  // namespace stitch
