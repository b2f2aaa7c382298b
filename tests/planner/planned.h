// Plans of text graphs for tests, and questions about them.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "graph/text_form.h"
#include "planner/check/plan_validate.h"
#include "planner/make_plan.h"

namespace stitch {

// Keeps the graph that the plan refers to.
struct Planned {
  Graph graph;
  Plan plan;

  std::vector<const Kernel*> kernels() const {
    std::vector<const Kernel*> found;
    for (const Step& step : plan.steps) {
      if (const Kernel* kernel = std::get_if<Kernel>(&step)) found.push_back(kernel);
    }
    return found;
  }
  // The only stage of the only kernel.
  const Stage& stage() const { return kernels().at(0)->parts.at(0).stages.at(0); }
  std::vector<std::string> problems() const { return plan_problems(plan); }
};

// Moved, never copied: the plan points to the graph.
inline std::unique_ptr<Planned> plan_text_graph(const std::string& text, PlanOptions options = {}) {
  if (options.device.empty() && options.architecture.empty()) options.device = "a100";
  auto planned = std::make_unique<Planned>();
  planned->graph = parse_graph(text);
  planned->plan = make_plan(planned->graph, options);
  return planned;
}

inline std::vector<const Root*> roots_of(const Stage& stage, RootKind kind) {
  std::vector<const Root*> found;
  for (const Group& group : stage.groups) {
    for (const Root& root : group.roots) {
      if (root.kind == kind) found.push_back(&root);
    }
  }
  return found;
}

inline int places_of_kind(const Kernel& kernel, PlaceKind kind) {
  int count = 0;
  for (const auto& [value, places] : kernel.places) {
    for (const Place& place : places) count += place.kind == kind ? 1 : 0;
  }
  return count;
}

// x of rows x columns: max, exp(x - max), its sum, the quotient.
inline std::string softmax_graph(int rows, int columns) {
  const std::string matrix = "f32[" + std::to_string(rows) + "," + std::to_string(columns) + "]";
  const std::string vector = "f32[" + std::to_string(rows) + "]";
  return "graph \"softmax\" {\n  input %0 \"x\" : " + matrix +
         "\n  %1 = reduce(%0) {kind=max, axes=[1]} : " + vector +
         "\n  %2 = broadcast(%1) {axes=[0]} : " + matrix + "\n  %3 = sub(%0, %2) : " + matrix +
         "\n  %4 = exp(%3) : " + matrix + "\n  %5 = reduce(%4) {kind=sum, axes=[1]} : " + vector +
         "\n  %6 = broadcast(%5) {axes=[0]} : " + matrix + "\n  %7 = div(%4, %6) : " + matrix +
         "\n  output \"probs\" %7\n}\n";
}

// Mean and variance of every channel of x [batch, channels, points], and (x - mean) / deviation.
inline std::string batch_norm_graph(int batch, int channels, int points) {
  const std::string c = std::to_string(channels);
  const std::string whole =
      "f32[" + std::to_string(batch) + "," + c + "," + std::to_string(points) + "]";
  const std::string count = std::to_string(static_cast<int64_t>(batch) * points);
  return "graph \"norm\" {\ninput %x \"x\" : " + whole +
         "\n%1 = reduce(%x) {kind=sum, axes=[0,2]}\n%2 = constant {f32[] " + count +
         "} : f32[]\n%3 = broadcast(%2) {axes=[]} : f32[" + c +
         "]\n%4 = div(%1, %3)\n%5 = broadcast(%4) {axes=[1]} : " + whole +
         "\n%6 = sub(%x, %5)\n%7 = mul(%6, %6)\n%8 = reduce(%7) {kind=sum, axes=[0,2]}\n"
         "%9 = div(%8, %3)\n%10 = sqrt(%9)\n%11 = broadcast(%10) {axes=[1]} : " +
         whole +
         "\n%12 = div(%6, %11)\noutput \"mean\" %4\noutput \"variance\" %9\n"
         "output \"y\" %12\n}";
}

// dx, dweight and dbias of a layer norm over the columns.
inline std::string norm_gradient_graph(int rows, int columns) {
  const std::string r = std::to_string(rows), c = std::to_string(columns);
  const std::string matrix = "f32[" + r + "," + c + "]", vector = "f32[" + r + "]";
  return "graph \"gradient\" {\ninput %dy \"gradient\" : " + matrix +
         "\ninput %x \"normalised\" : " + matrix + "\ninput %s \"inverse_deviation\" : " + vector +
         "\ninput %w \"weight\" : f32[" + c + "]\n%1 = broadcast(%w) {axes=[1]} : " + matrix +
         "\n%2 = mul(%dy, %1)\n%3 = reduce(%2) {kind=sum, axes=[1]}\n%4 = mul(%2, %x)\n"
         "%5 = reduce(%4) {kind=sum, axes=[1]}\n%6 = constant {f32[] " +
         c + "} : f32[]\n%7 = broadcast(%6) {axes=[]} : " + vector +
         "\n%8 = div(%3, %7)\n%9 = div(%5, %7)\n%10 = broadcast(%8) {axes=[0]} : " + matrix +
         "\n%11 = broadcast(%9) {axes=[0]} : " + matrix +
         "\n%12 = sub(%2, %10)\n%13 = mul(%x, %11)\n%14 = sub(%12, %13)\n"
         "%15 = broadcast(%s) {axes=[0]} : " +
         matrix +
         "\n%16 = mul(%14, %15)\n%17 = mul(%dy, %x)\n"
         "%18 = reduce(%17) {kind=sum, axes=[0]}\n%19 = reduce(%dy) {kind=sum, axes=[0]}\n"
         "output \"dx\" %16\noutput \"dweight\" %18\noutput \"dbias\" %19\n}";
}

}  // namespace stitch
