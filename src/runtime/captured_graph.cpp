#include "runtime/captured_graph.h"

#include "runtime/launcher_error.h"
#include "runtime/matmul_problem.h"

namespace STITCH_RUNTIME_NAMESPACE {
namespace {

constexpr char kWhat[] = "capturing the inference";

void require_graph_functions(const Driver& driver) {
  driver.require(driver.stream_create, "cuStreamCreate");
  driver.require(driver.stream_destroy, "cuStreamDestroy_v2");
  driver.require(driver.stream_begin_capture, "cuStreamBeginCapture_v2");
  driver.require(driver.stream_end_capture, "cuStreamEndCapture");
  driver.require(driver.graph_get_nodes, "cuGraphGetNodes");
  driver.require(driver.graph_instantiate, "cuGraphInstantiateWithFlags");
  driver.require(driver.graph_launch, "cuGraphLaunch");
  driver.require(driver.graph_exec_destroy, "cuGraphExecDestroy");
  driver.require(driver.graph_destroy, "cuGraphDestroy");
}

class CaptureStream {
 public:
  explicit CaptureStream(const Driver& driver) : driver_(driver) {
    driver_.check(driver_.stream_create(&stream_, kStreamNonBlocking), "cuStreamCreate", kWhat);
  }
  ~CaptureStream() { driver_.stream_destroy(stream_); }
  CaptureStream(const CaptureStream&) = delete;
  CaptureStream& operator=(const CaptureStream&) = delete;
  CUstream get() const { return stream_; }

 private:
  const Driver& driver_;
  CUstream stream_ = nullptr;
};

class OwnedGraph {
 public:
  explicit OwnedGraph(const Driver& driver) : driver_(driver) {}
  ~OwnedGraph() {
    if (graph_ != nullptr) driver_.graph_destroy(graph_);
  }
  OwnedGraph(const OwnedGraph&) = delete;
  OwnedGraph& operator=(const OwnedGraph&) = delete;
  CUgraph get() const { return graph_; }
  CUgraph* put() { return &graph_; }

 private:
  const Driver& driver_;
  CUgraph graph_ = nullptr;
};

void capture(Inference& inference, const InferenceBuffers& buffers, OwnedGraph& graph) {
  const Driver& driver = inference.model().driver();
  const CaptureStream stream(driver);
  driver.check(driver.stream_begin_capture(stream.get(), kCaptureThreadLocal),
               "cuStreamBeginCapture", kWhat);
  try {
    inference.enqueue(buffers, stream.get());
  } catch (...) {
    driver.stream_end_capture(stream.get(), graph.put());
    throw;
  }
  driver.check(driver.stream_end_capture(stream.get(), graph.put()), "cuStreamEndCapture", kWhat);
}

// What enqueue issues at least: a library call may become more than one node.
struct ExpectedNodes {
  std::size_t count = 0;
  bool exact = true;
};

ExpectedNodes expected_nodes(const Model& model) {
  ExpectedNodes expected;
  if (model.architecture().counters.bytes > 0) ++expected.count;
  for (const BoundStep& step : model.steps()) {
    if (const auto* matmul = std::get_if<BoundMatmul>(&step)) {
      expected.count += static_cast<std::size_t>(library_call_count(*matmul->call));
      expected.exact = false;
    } else {
      ++expected.count;
    }
  }
  return expected;
}

void check_node_count(const Model& model, std::size_t captured) {
  const ExpectedNodes expected = expected_nodes(model);
  if (expected.exact ? captured == expected.count : captured >= expected.count) return;
  throw LauncherError(Status::kDriver, std::string(kWhat) + ": the graph has " +
                                           std::to_string(captured) + " nodes, " +
                                           (expected.exact ? "" : "at least ") +
                                           std::to_string(expected.count) + " were enqueued");
}

}  // namespace

CapturedGraph::CapturedGraph(Inference& inference, const InferenceBuffers& buffers)
    : model_(inference.model()) {
  const Driver& driver = model_.driver();
  require_graph_functions(driver);
  const CurrentContext current(driver, model_.context());
  OwnedGraph graph(driver);
  capture(inference, buffers, graph);
  driver.check(driver.graph_get_nodes(graph.get(), nullptr, &node_count_), "cuGraphGetNodes",
               kWhat);
  check_node_count(model_, node_count_);
  driver.check(driver.graph_instantiate(&executable_, graph.get(), 0),
               "cuGraphInstantiateWithFlags", kWhat);
}

CapturedGraph::~CapturedGraph() { model_.driver().graph_exec_destroy(executable_); }

void CapturedGraph::launch(CUstream stream) const {
  const Driver& driver = model_.driver();
  const CurrentContext current(driver, model_.context());
  driver.check(driver.graph_launch(executable_, stream), "cuGraphLaunch",
               "launching the captured inference");
}

}  // namespace STITCH_RUNTIME_NAMESPACE
