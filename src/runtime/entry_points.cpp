#include "runtime/entry_points.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <string>

#include "runtime/captured_graph.h"
#include "runtime/inference.h"
#include "runtime/launcher_error.h"
#include "runtime/model.h"
#include "runtime/range_observer.h"
#include "runtime/step_timing.h"

namespace STITCH_RUNTIME_NAMESPACE {

struct ModelHandle {
  ModelHandle(const BundleData& bundle, const ModelOptions& options) : model(bundle, options) {}

  Model model;
  RangeCallbacks ranges;
};

struct ContextHandle {
  explicit ContextHandle(const ModelHandle& handle)
      : inference(handle.model), ranges(handle.model, handle.ranges) {}

  Inference inference;
  RangeObserver ranges;
};

struct GraphHandle {
  GraphHandle(Inference& inference, const InferenceBuffers& buffers) : graph(inference, buffers) {}

  CapturedGraph graph;
};

namespace {

struct LastError {
  Status status = Status::kOk;
  std::string text;
};

LastError& thread_last_error() {
  thread_local LastError error;
  return error;
}

std::int32_t record(Status status, const char* text) {
  LastError& error = thread_last_error();
  error.status = status;
  error.text = text;
  return static_cast<std::int32_t>(status);
}

// Runs the body of an entry point; whatever it throws ends here.
template <typename Body>
std::int32_t guarded(Body&& body) {
  try {
    body();
    return static_cast<std::int32_t>(Status::kOk);
  } catch (const LauncherError& error) {
    return record(error.status(), error.what());
  } catch (const std::bad_alloc&) {
    return record(Status::kInternal, "out of host memory");
  } catch (const std::exception& error) {
    return record(Status::kInternal, error.what());
  }
}

void require_argument(const void* pointer, const char* name) {
  if (pointer == nullptr) {
    throw LauncherError(Status::kInvalidArgument, std::string(name) + " is null");
  }
}

[[noreturn]] void throw_struct_size(const char* name, std::size_t given, std::size_t known) {
  throw LauncherError(Status::kAbi, std::string(name) + " has struct_size " +
                                        std::to_string(given) + ", this library knows " +
                                        std::to_string(known) +
                                        "\nhelp: set struct_size to sizeof the struct and compile "
                                        "with the header of this bundle");
}

// A caller that was compiled with an older header passes fewer fields: the rest are zero.
AbiOptions known_options(const AbiOptions* given) {
  AbiOptions options = {};
  if (given == nullptr) return options;
  if (given->struct_size < offsetof(AbiOptions, bundle_dir) ||
      given->struct_size > sizeof(AbiOptions)) {
    throw_struct_size("options", given->struct_size, sizeof(AbiOptions));
  }
  std::memcpy(&options, given, given->struct_size);
  return options;
}

std::string text_or_empty(const char* text) { return text == nullptr ? "" : text; }

ModelOptions model_options(const AbiOptions& given) {
  constexpr std::uint32_t kKnownFlags = kFlagWithoutBarriers | kFlagVerifyWeights;
  if ((given.flags & ~kKnownFlags) != 0) {
    throw LauncherError(Status::kInvalidArgument,
                        "options have unknown flags: " + std::to_string(given.flags));
  }
  ModelOptions options;
  options.device = given.device;
  options.driver_file = text_or_empty(given.driver_file);
  options.without_barriers = (given.flags & kFlagWithoutBarriers) != 0;
  options.weights.bundle_dir = text_or_empty(given.bundle_dir);
  options.weights.device_address = device_address(given.weights);
  options.weights.device_bytes = given.weights_bytes;
  options.weights.device_hash = text_or_empty(given.weights_hash);
  options.weights.verify = (given.flags & kFlagVerifyWeights) != 0;
  return options;
}

// The dims of this bundle are bound; a caller may pass them, and they must agree.
void check_input_dims(const Model& model, const std::int64_t* const* input_dims) {
  if (input_dims == nullptr) return;
  for (std::size_t number = 0; number < model.program().inputs.size(); ++number) {
    const TensorInfo& input = model.program().inputs[number];
    if (input_dims[number] == nullptr) continue;
    for (std::size_t axis = 0; axis < input.dims.size(); ++axis) {
      if (input_dims[number][axis] == input.dims[axis]) continue;
      throw LauncherError(Status::kInvalidArgument, "input '" + input.name + "' has " +
                                                        std::to_string(input_dims[number][axis]) +
                                                        " at dim " + std::to_string(axis) +
                                                        ", the model was compiled for " +
                                                        std::to_string(input.dims[axis]));
    }
  }
}

const TensorInfo& tensor_at(const char* role, const std::vector<TensorInfo>& tensors,
                            std::size_t index) {
  if (index < tensors.size()) return tensors[index];
  throw LauncherError(Status::kInvalidArgument, "no " + std::string(role) + " " +
                                                    std::to_string(index) + ": the model has " +
                                                    std::to_string(tensors.size()));
}

template <typename Info>
void fill(const char* name, const Info& info, Info* out) {
  require_argument(out, name);
  if (out->struct_size != sizeof(Info)) throw_struct_size(name, out->struct_size, sizeof(Info));
  *out = info;
}

void fill_tensor(const TensorInfo& tensor, AbiTensorInfo* out) {
  AbiTensorInfo info = {};
  info.struct_size = sizeof(info);
  info.dtype = static_cast<std::int32_t>(tensor.type);
  info.name = tensor.name.c_str();
  info.dims = tensor.dims.data();
  info.rank = tensor.dims.size();
  info.bytes = tensor.bytes;
  fill("info", info, out);
}

CUstream stream_of(void* stream) { return static_cast<CUstream>(stream); }

}  // namespace

std::int32_t create_model(const LinkedBundle& bundle, const AbiOptions* options,
                          ModelHandle** model) {
  return guarded([&] {
    require_argument(model, "model");
    *model = nullptr;
    const AbiOptions known = known_options(options);
    BundleData data;
    data.program = bundle.program;
    data.program_bytes = static_cast<std::size_t>(bundle.program_end - bundle.program);
    data.images = bundle.images;
    auto handle = std::make_unique<ModelHandle>(data, model_options(known));
    handle->ranges = RangeCallbacks{known.range_push, known.range_pop};
    *model = handle.release();
  });
}

void destroy_model(ModelHandle* model) { delete model; }

std::int32_t create_context(const ModelHandle* model, ContextHandle** context) {
  return guarded([&] {
    require_argument(context, "context");
    *context = nullptr;
    require_argument(model, "model");
    *context = new ContextHandle(*model);
  });
}

void destroy_context(ContextHandle* context) { delete context; }

std::int32_t set_weights(ContextHandle* context, const void* weights, std::size_t bytes) {
  return guarded([&] {
    require_argument(context, "context");
    const std::uint64_t needed = context->inference.model().program().weights_bytes;
    if (weights != nullptr && bytes < needed) {
      throw LauncherError(Status::kWeights, "the weights given hold " + std::to_string(bytes) +
                                                " bytes, the model's have " +
                                                std::to_string(needed));
    }
    context->inference.replace_weights(device_address(weights));
  });
}

std::int32_t workspace_size(const ModelHandle* model, const std::int64_t* const* input_dims,
                            std::size_t* bytes, std::size_t* alignment) {
  return guarded([&] {
    require_argument(model, "model");
    check_input_dims(model->model, input_dims);
    if (bytes != nullptr) *bytes = model->model.architecture().workspace_bytes;
    if (alignment != nullptr) *alignment = model->model.architecture().workspace_alignment;
  });
}

std::int32_t enqueue(ContextHandle* context, void* stream, const void* const* inputs,
                     void* const* outputs, void* workspace, std::size_t workspace_bytes) {
  return guarded([&] {
    require_argument(context, "context");
    context->inference.enqueue({inputs, outputs, workspace, workspace_bytes}, stream_of(stream),
                               context->ranges.enabled() ? &context->ranges : nullptr);
  });
}

std::int32_t enqueue_timed(ContextHandle* context, void* stream, const void* const* inputs,
                           void* const* outputs, void* workspace, std::size_t workspace_bytes,
                           AbiTimingCallback callback, void* user) {
  return guarded([&] {
    require_argument(context, "context");
    require_argument(reinterpret_cast<const void*>(callback), "callback");
    const std::vector<double> microseconds = time_steps(
        context->inference, {inputs, outputs, workspace, workspace_bytes}, stream_of(stream));
    const std::vector<BoundStep>& steps = context->inference.model().steps();
    for (std::size_t step = 0; step < steps.size(); ++step) {
      std::vector<const char*> nodes;
      if (const auto* names = source_nodes(steps[step])) {
        for (const std::string& name : *names) nodes.push_back(name.c_str());
      }
      const AbiStepTiming timing = {sizeof(AbiStepTiming),
                                    static_cast<std::uint32_t>(step),
                                    bound_step_name(steps[step]),
                                    nodes.data(),
                                    nodes.size(),
                                    microseconds[step]};
      callback(&timing, user);
    }
  });
}

std::int32_t capture(ContextHandle* context, const void* const* inputs, void* const* outputs,
                     void* workspace, std::size_t workspace_bytes, GraphHandle** graph,
                     std::size_t* node_count) {
  return guarded([&] {
    require_argument(graph, "graph");
    *graph = nullptr;
    require_argument(context, "context");
    auto handle = std::make_unique<GraphHandle>(
        context->inference, InferenceBuffers{inputs, outputs, workspace, workspace_bytes});
    if (node_count != nullptr) *node_count = handle->graph.node_count();
    *graph = handle.release();
  });
}

std::int32_t launch_graph(const GraphHandle* graph, void* stream) {
  return guarded([&] {
    require_argument(graph, "graph");
    graph->graph.launch(stream_of(stream));
  });
}

void destroy_graph(GraphHandle* graph) { delete graph; }

std::int32_t input_info(const ModelHandle* model, std::size_t index, AbiTensorInfo* info) {
  return guarded([&] {
    require_argument(model, "model");
    fill_tensor(tensor_at("input", model->model.program().inputs, index), info);
  });
}

std::int32_t output_info(const ModelHandle* model, std::size_t index, AbiTensorInfo* info) {
  return guarded([&] {
    require_argument(model, "model");
    fill_tensor(tensor_at("output", model->model.program().outputs, index), info);
  });
}

std::int32_t output_dims(const ModelHandle* model, const std::int64_t* const* input_dims,
                         std::size_t index, std::int64_t* dims, std::size_t capacity,
                         std::size_t* rank) {
  return guarded([&] {
    require_argument(model, "model");
    check_input_dims(model->model, input_dims);
    const TensorInfo& output = tensor_at("output", model->model.program().outputs, index);
    if (rank != nullptr) *rank = output.dims.size();
    if (dims == nullptr) return;
    if (capacity < output.dims.size()) {
      throw LauncherError(Status::kInvalidArgument,
                          "output '" + output.name + "' has " + std::to_string(output.dims.size()) +
                              " dims, there is room for " + std::to_string(capacity));
    }
    std::copy(output.dims.begin(), output.dims.end(), dims);
  });
}

std::int32_t model_info(const ModelHandle* model, AbiModelInfo* info) {
  return guarded([&] {
    require_argument(model, "model");
    const Model& loaded = model->model;
    AbiModelInfo known = {};
    known.struct_size = sizeof(known);
    known.architecture = static_cast<std::int32_t>(loaded.architecture().architecture);
    known.image_kind = static_cast<std::int32_t>(loaded.choice().kind);
    known.emulated = loaded.device().emulated ? 1 : 0;
    known.device_name = loaded.device().name.c_str();
    known.step_count = loaded.steps().size();
    known.twin_count = loaded.twin_count();
    known.weights = reinterpret_cast<const void*>(static_cast<std::uintptr_t>(loaded.weights()));
    known.weights_bytes = loaded.program().weights_bytes;
    known.weights_hash = loaded.program().weights_hash.c_str();
    fill("info", known, info);
  });
}

const char* last_error(std::int32_t* status) {
  const LastError& error = thread_last_error();
  if (status != nullptr) *status = static_cast<std::int32_t>(error.status);
  return error.text.c_str();
}

}  // namespace STITCH_RUNTIME_NAMESPACE
