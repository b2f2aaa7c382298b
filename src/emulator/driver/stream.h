// Streams, events and graphs of the emulated driver. Work runs when it is submitted; while a stream
// captures, it is recorded instead.
#pragma once
#include <cuda.h>

#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace stitch::emulator {

using Work = std::function<CUresult()>;

struct GraphNode {
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  Work work;
};

struct Graph {
  std::vector<std::unique_ptr<GraphNode>> nodes;  // in the order of capture, which is a valid one
};

struct GraphExec {
  std::vector<GraphNode> nodes;
};

struct Stream {
  unsigned flags = 0;
  int priority = 0;
  CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::unique_ptr<Graph> graph;  // of the stream that began the capture
  Stream* origin = nullptr;      // that stream; null when not capturing
  std::thread::id capturing_thread;
};

struct Event {
  bool recorded = false;
  std::chrono::steady_clock::time_point time;
  Stream* capturing = nullptr;  // the origin of the capture in which it was recorded
};

}  // namespace stitch::emulator
