#include "planner/plan_range.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <variant>

#include "graph/error.h"
#include "planner/absorb/absorb.h"

namespace stitch {
namespace {

constexpr size_t kMostSamples = 64;

// The ends, and between them every `step`-th power of two.
std::vector<int64_t> extents_of(const DimRange& dim, int step) {
  std::vector<int64_t> extents = {dim.low};
  int exponent = 0;
  for (int64_t power = 1; power < dim.high; power *= 2, ++exponent) {
    if (power > dim.low && exponent % step == 0) extents.push_back(power);
  }
  if (dim.high > dim.low) extents.push_back(dim.high);
  return extents;
}

void check_ranges(const std::vector<DimRange>& dims) {
  if (dims.empty() || dims.size() > 2) {
    throw ModelError(fmt::format("one or two dims can have a range, not {}", dims.size()));
  }
  for (const DimRange& dim : dims) {
    if (dim.low < 1 || dim.high < dim.low || dim.high > INT64_MAX / 2) {
      throw ModelError(
          fmt::format("the range {}..{} of {} holds no extents", dim.low, dim.high, dim.name));
    }
  }
}

class RangePlanner {
 public:
  explicit RangePlanner(const PlanRangeRequest& request)
      : request_(request),
        device_(request.options.device_model
                    ? *request.options.device_model
                    : find_device(request.options.device, request.options.architecture)) {
    result_.dims = request.dims;
    result_.samples = range_samples(request.dims);
  }

  PlanRange run() {
    find_candidates();
    evaluate();
    choose();
    find_crossovers();
    return std::move(result_);
  }

 private:
  struct Built {
    double us = 0;
    int regions_anew = 0;
  };

  double total_us(const Plan& plan) const {
    double us = predicted_us(plan);
    for (const Step& step : plan.steps) {
      const auto* const call = std::get_if<LibraryMatmul>(&step);
      if (call != nullptr) us += library_us(plan.graph, call->layout, device_);
    }
    return us;
  }

  // One plan for each sample; equal decisions are one candidate.
  void find_candidates() {
    std::map<std::string, size_t> known;
    for (size_t s = 0; s < result_.samples.size(); ++s) {
      const Graph graph = request_.graph_at(result_.samples[s]);
      DecidedPlan planned = make_decided_plan(graph, request_.options);
      const auto [found, is_new] =
          known.emplace(decisions_text(planned.decisions), result_.candidates.size());
      if (!is_new) continue;
      RangeCandidate candidate;
      candidate.planned_at = s;
      for (const Step& step : planned.plan.steps) {
        ++(std::holds_alternative<Kernel>(step) ? candidate.kernels : candidate.library_calls);
      }
      result_.candidates.push_back(std::move(candidate));
      decisions_.push_back(std::move(planned.decisions));
    }
  }

  Built build(const Graph& graph, size_t candidate) const {
    const RebuiltPlan rebuilt = rebuild_plan(graph, request_.options, decisions_[candidate]);
    return {total_us(rebuilt.plan), rebuilt.regions_anew};
  }

  void evaluate() {
    for (const DimBindings& sample : result_.samples) {
      const Graph graph = request_.graph_at(sample);
      size_t winner = 0;
      for (size_t c = 0; c < result_.candidates.size(); ++c) {
        const Built built = build(graph, c);
        result_.candidates[c].us.push_back(built.us);
        result_.candidates[c].regions_anew.push_back(built.regions_anew);
        if (built.us < result_.candidates[winner].us.back()) winner = c;
      }
      result_.winners.push_back(winner);
    }
  }

  void choose() {
    for (RangeCandidate& candidate : result_.candidates) {
      double logarithms = 0;
      for (size_t s = 0; s < result_.samples.size(); ++s) {
        const double best = result_.candidates[result_.winners[s]].us[s];
        const double slowdown = best > 0 ? candidate.us[s] / best : 1;
        logarithms += std::log(slowdown);
        if (slowdown > candidate.worst_slowdown) {
          candidate.worst_slowdown = slowdown;
          candidate.worst_at = s;
        }
      }
      candidate.mean_slowdown = std::exp(logarithms / static_cast<double>(result_.samples.size()));
    }
    for (size_t c = 1; c < result_.candidates.size(); ++c) {
      if (result_.candidates[c].mean_slowdown < result_.candidates[result_.chosen].mean_slowdown) {
        result_.chosen = c;
      }
    }
  }

  // Between neighbours along each dim.
  void find_crossovers() {
    for (size_t d = 0; d < request_.dims.size(); ++d) {
      const std::string& name = request_.dims[d].name;
      for (size_t s = 0; s < result_.samples.size(); ++s) {
        const size_t next = neighbour(s, name);
        if (next == s || result_.winners[s] == result_.winners[next]) continue;
        result_.crossovers.push_back(bisect(d, s, next));
      }
    }
  }

  // The sample with the next larger extent of this dim and equal others; `from` where there is
  // none.
  size_t neighbour(size_t from, const std::string& dim) const {
    size_t nearest = from;
    DimBindings sample = result_.samples[from];
    const int64_t extent = sample.at(dim);
    for (size_t s = 0; s < result_.samples.size(); ++s) {
      const int64_t other = result_.samples[s].at(dim);
      sample[dim] = other;
      if (other <= extent || sample != result_.samples[s]) continue;
      if (nearest == from || other < result_.samples[nearest].at(dim)) nearest = s;
    }
    return nearest;
  }

  RangeCrossover bisect(size_t dim, size_t below, size_t above) const {
    const std::string& name = request_.dims[dim].name;
    RangeCrossover crossover;
    crossover.dim = dim;
    crossover.before = result_.winners[below];
    crossover.after = result_.winners[above];
    crossover.extents = result_.samples[above];
    crossover.before_us = result_.candidates[crossover.before].us[above];
    crossover.after_us = result_.candidates[crossover.after].us[above];
    int64_t low = result_.samples[below].at(name);  // `before` wins
    DimBindings middle = result_.samples[above];
    while (crossover.extents.at(name) - low > 1) {
      middle[name] = low + (crossover.extents.at(name) - low) / 2;
      const Graph graph = request_.graph_at(middle);
      const double before_us = build(graph, crossover.before).us;
      const double after_us = build(graph, crossover.after).us;
      if (after_us < before_us) {
        crossover.extents = middle;
        crossover.before_us = before_us;
        crossover.after_us = after_us;
      } else {
        low = middle.at(name);
      }
    }
    return crossover;
  }

  const PlanRangeRequest& request_;
  const DeviceModel& device_;
  std::vector<PlanDecisions> decisions_;  // of the candidates
  PlanRange result_;
};

}  // namespace

std::vector<DimBindings> range_samples(const std::vector<DimRange>& dims) {
  check_ranges(dims);
  for (int step = 1;; ++step) {
    std::vector<DimBindings> samples = {{}};
    for (const DimRange& dim : dims) {
      std::vector<DimBindings> longer;
      for (const DimBindings& sample : samples) {
        for (const int64_t extent : extents_of(dim, step)) {
          longer.push_back(sample);
          longer.back()[dim.name] = extent;
        }
      }
      samples = std::move(longer);
    }
    if (samples.size() <= kMostSamples) return samples;
  }
}

PlanRange plan_range(const PlanRangeRequest& request) { return RangePlanner(request).run(); }

}  // namespace stitch
