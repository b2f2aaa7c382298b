// One inference as a CUDA graph: captured once, its nodes counted, launched many times.
#ifndef STITCH_RUNTIME_CAPTURED_GRAPH_H_
#define STITCH_RUNTIME_CAPTURED_GRAPH_H_

#include "runtime/inference.h"

namespace STITCH_RUNTIME_NAMESPACE {

class CapturedGraph {
 public:
  // Captures on a stream of its own, so the caller's streams are not touched. The buffers'
  // addresses become part of the graph. Throws LauncherError with kDriver when the graph does not
  // hold what was enqueued (an empty graph would replay in silence).
  CapturedGraph(Inference& inference, const InferenceBuffers& buffers);
  ~CapturedGraph();
  CapturedGraph(const CapturedGraph&) = delete;
  CapturedGraph& operator=(const CapturedGraph&) = delete;

  void launch(CUstream stream) const;
  std::size_t node_count() const { return node_count_; }

 private:
  const Model& model_;
  CUgraphExec executable_ = nullptr;
  std::size_t node_count_ = 0;
};

}  // namespace STITCH_RUNTIME_NAMESPACE

#endif  // STITCH_RUNTIME_CAPTURED_GRAPH_H_
