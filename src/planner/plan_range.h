// A plan for dims that have a range of extents: one set of decisions for all of it, and where
// another would be faster.
//
//   batch=1..64: plans at 1, 2, 4, ... 64; what each decided is built at all of these extents; the
//   decisions of least geometric-mean slowdown are chosen; between neighbouring samples with
//   different winners the first extent where the later one wins is found by bisection.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "graph/dim.h"
#include "planner/make_plan.h"

namespace stitch {

struct DimRange {
  std::string name;
  int64_t low = 1;
  int64_t high = 1;  // included
};

struct PlanRangeRequest {
  std::vector<DimRange> dims;  // one or two
  PlanOptions options;
  // The model at these extents; called once or twice for each sample.
  std::function<Graph(const DimBindings&)> graph_at;
};

// What one sample's plan decided, at all samples. Times are of kernels as predicted, and of library
// calls by the share of the peak that absorb.h assumes.
struct RangeCandidate {
  size_t planned_at = 0;  // the first sample whose plan decided so
  int kernels = 0;        // launches there
  int library_calls = 0;
  std::vector<double> us;         // by sample
  std::vector<int> regions_anew;  // by sample: what could not be taken over
  double mean_slowdown = 1;       // geometric mean, against the fastest of each sample
  double worst_slowdown = 1;
  size_t worst_at = 0;  // sample
};

// From the extent on, `after` is faster than `before`, which wins at the sample below.
struct RangeCrossover {
  size_t dim = 0;
  DimBindings extents;  // of all ranged dims, there
  size_t before = 0, after = 0;
  double before_us = 0, after_us = 0;
};

struct PlanRange {
  std::vector<DimRange> dims;
  std::vector<DimBindings> samples;
  std::vector<RangeCandidate> candidates;
  std::vector<size_t> winners;  // by sample
  size_t chosen = 0;
  std::vector<RangeCrossover> crossovers;
};

// Endpoints and powers of two between them, of two dims all pairs; fewer powers where that would be
// more than 64. ModelError for no dims or more than two, and for a range that is empty.
std::vector<DimBindings> range_samples(const std::vector<DimRange>& dims);

PlanRange plan_range(const PlanRangeRequest& request);

}  // namespace stitch
