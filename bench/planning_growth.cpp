// How planning time grows with a graph: layers of a Transformer whose products are library calls,
// and steps of an LSTM whose products with a vector are sums in the kernels.
// usage: planning_growth [PLOT.svg] > table.md
//
// Times are of make_plan for an A100, the best of three, on one core.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "graph/text_form.h"
#include "planner/make_plan.h"

namespace {

using stitch::Graph;

// A product, its bias and residual, and a norm: x{0} -> x{1}.
std::string layer(int i) {
  return fmt::format(R"(  input %w{0} "w{0}" : f32[256,256]
  input %c{0} "c{0}" : f32[256]
  %p{0} = matmul(%x{0}, %w{0}) : f32[64,256]
  %cb{0} = broadcast(%c{0}) {{axes=[1]}} : f32[64,256]
  %a{0} = add(%p{0}, %cb{0})
  %g{0} = tanh(%a{0})
  %r{0} = add(%g{0}, %x{0})
  %s{0} = reduce(%r{0}) {{kind=sum, axes=[1]}}
  %m{0} = mul(%s{0}, %share)
  %mb{0} = broadcast(%m{0}) {{axes=[0]}} : f32[64,256]
  %d{0} = sub(%r{0}, %mb{0})
  %q{0} = mul(%d{0}, %d{0})
  %v{0} = reduce(%q{0}) {{kind=sum, axes=[1]}}
  %h{0} = mul(%v{0}, %share)
  %k{0} = sqrt(%h{0})
  %kb{0} = broadcast(%k{0}) {{axes=[0]}} : f32[64,256]
  %x{1} = div(%d{0}, %kb{0})
)",
                     i, i + 1);
}

// One step of an LSTM on [1,64]: x{0} and cell c{0} -> x{1}, c{1}.
std::string step(int i) {
  return fmt::format(R"(  %p{0} = matmul(%x{0}, %w) : f32[1,256]
  %a{0} = add(%p{0}, %b)
  %ai{0} = slice(%a{0}) {{starts=[0,0], limits=[1,64], steps=[1,1]}}
  %af{0} = slice(%a{0}) {{starts=[0,64], limits=[1,128], steps=[1,1]}}
  %ag{0} = slice(%a{0}) {{starts=[0,128], limits=[1,192], steps=[1,1]}}
  %ao{0} = slice(%a{0}) {{starts=[0,192], limits=[1,256], steps=[1,1]}}
  %i{0} = tanh(%ai{0})
  %f{0} = tanh(%af{0})
  %g{0} = tanh(%ag{0})
  %o{0} = tanh(%ao{0})
  %fc{0} = mul(%f{0}, %c{0})
  %ig{0} = mul(%i{0}, %g{0})
  %c{1} = add(%fc{0}, %ig{0})
  %t{0} = tanh(%c{1})
  %x{1} = mul(%o{0}, %t{0})
)",
                     i, i + 1);
}

struct Family {
  std::string name, head, color;
  std::function<std::string(int)> part;
  int nodes_per_part = 0;
};

std::vector<Family> families() {
  return {{"Transformer layers",
           "  input %x0 \"x\" : f32[64,256]\n  %n = constant {f32[] 0.00390625}\n"
           "  %share = broadcast(%n) {axes=[]} : f32[64]\n",
           "#1f77b4", layer, 15},
          {"LSTM steps",
           "  input %x0 \"x\" : f32[1,64]\n  input %c0 \"cell\" : f32[1,64]\n"
           "  input %w \"w\" : f32[64,256]\n  input %b \"b\" : f32[1,256]\n",
           "#d62728", step, 15}};
}

Graph graph_of(const Family& family, int parts) {
  std::string text = "graph \"growth\" {\n" + family.head;
  for (int i = 0; i < parts; ++i) text += family.part(i);
  return stitch::parse_graph(text + fmt::format("  output \"y\" %x{}\n}}", parts));
}

double best_ms(const Graph& graph) {
  double best = INFINITY;
  for (int run = 0; run < 3; ++run) {
    const auto begin = std::chrono::steady_clock::now();
    stitch::PlanOptions options;
    options.device = "a100";
    const stitch::Plan plan = stitch::make_plan(graph, options);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    best = std::min(best, took.count());
  }
  return best;
}

struct Point {
  double nodes = 0, ms = 0;
};

// Both axes logarithmic, from 500 to 100000 nodes and from 10 ms to 100 s.
class Plot {
 public:
  explicit Plot(const std::string& path) : file_(path) {
    file_ << "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 640 420\" "
             "font-family=\"sans-serif\" font-size=\"13\">\n"
             "<rect width=\"640\" height=\"420\" fill=\"white\"/>\n";
    for (const int nodes : {1000, 2000, 5000, 10000, 20000, 50000}) {
      line({double(nodes), 10}, {double(nodes), 1e5}, "#dddddd", "");
      file_ << fmt::format("<text x=\"{:.0f}\" y=\"385\" text-anchor=\"middle\">{}</text>\n",
                           x(nodes), nodes);
    }
    for (const int ms : {10, 100, 1000, 10000, 100000}) {
      line({500, double(ms)}, {1e5, double(ms)}, "#dddddd", "");
      file_ << fmt::format("<text x=\"62\" y=\"{:.0f}\" text-anchor=\"end\">{}</text>\n", y(ms) + 4,
                           ms < 1000 ? fmt::format("{} ms", ms) : fmt::format("{} s", ms / 1000));
    }
    file_ << "<text x=\"350\" y=\"408\" text-anchor=\"middle\">nodes of the graph</text>\n";
    line({500, 500 * 0.2}, {1e5, 1e5 * 0.2}, "#888888", " stroke-dasharray=\"6 4\"");
    file_ << fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" fill=\"#666666\">0.2 ms a node</text>\n",
                         x(1100), y(1100 * 0.2) - 40);
  }
  ~Plot() { file_ << "</svg>\n"; }
  Plot(const Plot&) = delete;
  Plot& operator=(const Plot&) = delete;

  void add(const Family& family, const std::vector<Point>& points) {
    for (size_t i = 1; i < points.size(); ++i) line(points[i - 1], points[i], family.color, "");
    for (const Point& point : points) {
      file_ << fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\"/>\n",
                           x(point.nodes), y(point.ms), family.color);
    }
    file_ << fmt::format("<text x=\"90\" y=\"{}\" fill=\"{}\">{}</text>\n", 40 + 20 * families_++,
                         family.color, family.name);
  }

 private:
  static double x(double nodes) { return 70 + 550 * std::log10(nodes / 500) / std::log10(200.0); }
  static double y(double ms) { return 365 - 350 * std::log10(ms / 10) / 4; }

  void line(Point from, Point to, const std::string& color, const std::string& more) {
    file_ << fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"{}/>\n",
        x(from.nodes), y(from.ms), x(to.nodes), y(to.ms), color, more);
  }

  std::ofstream file_;
  int families_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  Plot plot(argc > 1 ? argv[1] : "/dev/null");
  fmt::print("| graph | nodes | ms | ms a node | over 1000 nodes |\n|---|---|---|---|---|\n");
  for (const Family& family : families()) {
    std::vector<Point> points;
    for (const int nodes : {1000, 2000, 5000, 10000, 20000, 50000}) {
      const Graph graph = graph_of(family, nodes / family.nodes_per_part);
      const double ms = best_ms(graph);
      points.push_back({static_cast<double>(graph.node_count()), ms});
      const double each = ms / points.back().nodes;
      fmt::print("| {} | {} | {:.0f} | {:.3f} | {:.2f} |\n", points.size() == 1 ? family.name : "",
                 graph.node_count(), ms, each, each / (points[0].ms / points[0].nodes));
      std::fflush(stdout);
    }
    plot.add(family, points);
  }
  return 0;
}
