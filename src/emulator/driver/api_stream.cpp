// Driver API: streams, events, capture and graphs.
#include <algorithm>

#include "emulator/driver/entry_point.h"

namespace stitch::emulator {

bool disturb_captures(DeviceState& state) {
  bool any = false;
  for (const auto& [handle, stream] : state.streams) {
    if (stream->capture == CU_STREAM_CAPTURE_STATUS_NONE) continue;
    if (stream->mode == CU_STREAM_CAPTURE_MODE_RELAXED) continue;
    if (stream->mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL &&
        stream->capturing_thread != std::this_thread::get_id())
      continue;
    stream->capture = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
    any = true;
  }
  return any;
}

CUresult submit(DeviceState& state, CUstream handle, CUgraphNodeType type, Work work) {
  Stream* const stream = state.stream(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  switch (stream->capture) {
    case CU_STREAM_CAPTURE_STATUS_NONE:
      return work();
    case CU_STREAM_CAPTURE_STATUS_ACTIVE:
      stream->origin->graph->nodes.push_back(
          std::make_unique<GraphNode>(GraphNode{type, std::move(work)}));
      return CUDA_SUCCESS;
    case CU_STREAM_CAPTURE_STATUS_INVALIDATED:
      return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  }
  return CUDA_ERROR_UNKNOWN;
}

}  // namespace stitch::emulator

using stitch::emulator::DeviceState;
using stitch::emulator::entry_point;
using stitch::emulator::entry_point_outside_capture;
using stitch::emulator::Event;
using stitch::emulator::Graph;
using stitch::emulator::GraphExec;
using stitch::emulator::GraphNode;
using stitch::emulator::Stream;

STITCH_DRIVER_API cuStreamCreate(CUstream* stream, unsigned flags) {
  return entry_point([&](DeviceState& state) {
    if (stream == nullptr) return CUDA_ERROR_INVALID_VALUE;
    auto created = std::make_unique<Stream>();
    created->flags = flags;
    *stream = reinterpret_cast<CUstream>(state.streams.add(std::move(created)));
    return CUDA_SUCCESS;
  });
}

STITCH_DRIVER_API cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
  const CUresult result = cuStreamCreate(stream, flags);
  if (result == CUDA_SUCCESS) stitch::emulator::device_state().stream(*stream)->priority = priority;
  return result;
}

STITCH_DRIVER_API cuStreamDestroy(CUstream stream) {
  return entry_point([&](DeviceState& state) {
    return state.streams.remove(stream) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}

STITCH_DRIVER_API cuStreamSynchronize(CUstream handle) {
  return entry_point([&](DeviceState& state) {
    Stream* const stream = state.stream(handle);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (stream->capture != CU_STREAM_CAPTURE_STATUS_NONE) {
      stream->capture = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return CUDA_SUCCESS;
  });
}

STITCH_DRIVER_API cuStreamQuery(CUstream stream) { return cuStreamSynchronize(stream); }

STITCH_DRIVER_API cuStreamWaitEvent(CUstream handle, CUevent event_handle, unsigned) {
  return entry_point([&](DeviceState& state) {
    Stream* const stream = state.stream(handle);
    Event* const event = state.events.find(event_handle);
    if (stream == nullptr || event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (event->capturing == nullptr) return CUDA_SUCCESS;
    if (stream->capture == CU_STREAM_CAPTURE_STATUS_NONE) {  // joins the capture
      stream->capture = CU_STREAM_CAPTURE_STATUS_ACTIVE;
      stream->mode = event->capturing->mode;
      stream->capturing_thread = event->capturing->capturing_thread;
      stream->origin = event->capturing;
    }
    return CUDA_SUCCESS;
  });
}

STITCH_DRIVER_API cuEventCreate(CUevent* event, unsigned) {
  return entry_point([&](DeviceState& state) {
    if (event == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *event = reinterpret_cast<CUevent>(state.events.add(std::make_unique<Event>()));
    return CUDA_SUCCESS;
  });
}

STITCH_DRIVER_API cuEventDestroy(CUevent event) {
  return entry_point([&](DeviceState& state) {
    return state.events.remove(event) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}

STITCH_DRIVER_API cuEventRecord(CUevent event_handle, CUstream handle) {
  return entry_point([&](DeviceState& state) {
    Stream* const stream = state.stream(handle);
    Event* const event = state.events.find(event_handle);
    if (stream == nullptr || event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    event->recorded = true;
    event->time = std::chrono::steady_clock::now();
    event->capturing =
        stream->capture == CU_STREAM_CAPTURE_STATUS_ACTIVE ? stream->origin : nullptr;
    return CUDA_SUCCESS;
  });
}

STITCH_DRIVER_API cuEventSynchronize(CUevent event_handle) {
  return entry_point([&](DeviceState& state) {
    Event* const event = state.events.find(event_handle);
    if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    return event->capturing != nullptr ? CUDA_ERROR_CAPTURED_EVENT : CUDA_SUCCESS;
  });
}

STITCH_DRIVER_API cuEventQuery(CUevent event) { return cuEventSynchronize(event); }

STITCH_DRIVER_API cuEventElapsedTime(float* milliseconds, CUevent begin, CUevent end) {
  return entry_point([&](DeviceState& state) {
    Event* const first = state.events.find(begin);
    Event* const last = state.events.find(end);
    if (first == nullptr || last == nullptr || !first->recorded || !last->recorded)
      return CUDA_ERROR_INVALID_HANDLE;
    if (milliseconds == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *milliseconds = std::chrono::duration<float, std::milli>(last->time - first->time).count();
    return CUDA_SUCCESS;
  });
}

STITCH_DRIVER_API cuStreamBeginCapture(CUstream handle, CUstreamCaptureMode mode) {
  return entry_point([&](DeviceState& state) {
    Stream* const stream = state.stream(handle);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (handle == nullptr || handle == CU_STREAM_LEGACY)
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (stream->capture != CU_STREAM_CAPTURE_STATUS_NONE) return CUDA_ERROR_ILLEGAL_STATE;
    stream->capture = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    stream->mode = mode;
    stream->capturing_thread = std::this_thread::get_id();
    stream->graph = std::make_unique<Graph>();
    stream->origin = stream;
    return CUDA_SUCCESS;
  });
}

STITCH_DRIVER_API cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus* status) {
  return entry_point([&](DeviceState& state) {
    Stream* const stream = state.stream(handle);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (status == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *status = stream->capture;
    return CUDA_SUCCESS;
  });
}

STITCH_DRIVER_API cuStreamEndCapture(CUstream handle, CUgraph* graph) {
  return entry_point([&](DeviceState& state) {
    Stream* const stream = state.stream(handle);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *graph = nullptr;
    if (stream->capture == CU_STREAM_CAPTURE_STATUS_NONE) return CUDA_ERROR_ILLEGAL_STATE;
    if (stream->origin != stream) return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    bool valid = true;
    for (const auto& [key, other] : state.streams) {
      if (other->origin != stream) continue;
      valid = valid && other->capture == CU_STREAM_CAPTURE_STATUS_ACTIVE;
      other->capture = CU_STREAM_CAPTURE_STATUS_NONE;
      if (other.get() != stream) other->origin = nullptr;
    }
    stream->capture = CU_STREAM_CAPTURE_STATUS_NONE;
    stream->origin = nullptr;
    std::unique_ptr<Graph> captured = std::move(stream->graph);
    if (!valid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    *graph = reinterpret_cast<CUgraph>(state.graphs.add(std::move(captured)));
    return CUDA_SUCCESS;
  });
}

STITCH_DRIVER_API cuGraphGetNodes(CUgraph handle, CUgraphNode* nodes, std::size_t* count) {
  return entry_point([&](DeviceState& state) {
    const Graph* const graph = state.graphs.find(handle);
    if (graph == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const std::size_t present = graph->nodes.size();
    if (nodes != nullptr)
      for (std::size_t i = 0; i < *count; ++i)
        nodes[i] = i < present ? reinterpret_cast<CUgraphNode>(graph->nodes[i].get()) : nullptr;
    *count = nodes != nullptr ? std::min(*count, present) : present;
    return CUDA_SUCCESS;
  });
}

STITCH_DRIVER_API cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType* type) {
  return entry_point([&](DeviceState& state) {
    if (type == nullptr) return CUDA_ERROR_INVALID_VALUE;
    for (const auto& [key, graph] : state.graphs)
      for (const auto& node : graph->nodes)
        if (reinterpret_cast<CUgraphNode>(node.get()) == handle) {
          *type = node->type;
          return CUDA_SUCCESS;
        }
    return CUDA_ERROR_INVALID_HANDLE;
  });
}

STITCH_DRIVER_API cuGraphInstantiate(CUgraphExec* executable, CUgraph handle, unsigned long long) {
  return entry_point([&](DeviceState& state) {
    const Graph* const graph = state.graphs.find(handle);
    if (graph == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (executable == nullptr) return CUDA_ERROR_INVALID_VALUE;
    auto made = std::make_unique<GraphExec>();
    for (const auto& node : graph->nodes) made->nodes.push_back(*node);
    *executable = reinterpret_cast<CUgraphExec>(state.graph_execs.add(std::move(made)));
    return CUDA_SUCCESS;
  });
}

STITCH_DRIVER_API cuGraphLaunch(CUgraphExec handle, CUstream stream) {
  return entry_point([&](DeviceState& state) {
    const GraphExec* const executable = state.graph_execs.find(handle);
    if (executable == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    for (const GraphNode& node : executable->nodes) {
      const CUresult result = submit(state, stream, node.type, node.work);
      if (result != CUDA_SUCCESS) return result;
    }
    return CUDA_SUCCESS;
  });
}

STITCH_DRIVER_API cuGraphExecDestroy(CUgraphExec executable) {
  return entry_point([&](DeviceState& state) {
    return state.graph_execs.remove(executable) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}

STITCH_DRIVER_API cuGraphDestroy(CUgraph graph) {
  return entry_point([&](DeviceState& state) {
    return state.graphs.remove(graph) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}
