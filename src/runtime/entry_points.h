// The launcher's functions behind the C API of a model: every exception ends here as a status code
// and the thread's last error. src/NAME.cpp of a bundle forwards to them.
#ifndef STITCH_RUNTIME_ENTRY_POINTS_H_
#define STITCH_RUNTIME_ENTRY_POINTS_H_

#include <cstddef>
#include <cstdint>

#include "runtime/launcher_abi.h"
#include "runtime/namespace.h"

namespace STITCH_RUNTIME_NAMESPACE {

// Opaque to NAME.cpp: include/NAME.h documents each function.
struct ModelHandle;
struct ContextHandle;
struct GraphHandle;

// The parts of the bundle that are linked in, delimited by the symbols of NAME_images.S.
struct LinkedBundle {
  const unsigned char* program;
  const unsigned char* program_end;
  const unsigned char* images;
};

std::int32_t create_model(const LinkedBundle& bundle, const AbiOptions* options,
                          ModelHandle** model);
void destroy_model(ModelHandle* model);
std::int32_t create_context(const ModelHandle* model, ContextHandle** context);
void destroy_context(ContextHandle* context);
std::int32_t set_weights(ContextHandle* context, const void* weights, std::size_t bytes);
std::int32_t workspace_size(const ModelHandle* model, const std::int64_t* const* input_dims,
                            std::size_t* bytes, std::size_t* alignment);
std::int32_t enqueue(ContextHandle* context, void* stream, const void* const* inputs,
                     void* const* outputs, void* workspace, std::size_t workspace_bytes);
std::int32_t enqueue_timed(ContextHandle* context, void* stream, const void* const* inputs,
                           void* const* outputs, void* workspace, std::size_t workspace_bytes,
                           AbiTimingCallback callback, void* user);
std::int32_t capture(ContextHandle* context, const void* const* inputs, void* const* outputs,
                     void* workspace, std::size_t workspace_bytes, GraphHandle** graph,
                     std::size_t* node_count);
std::int32_t launch_graph(const GraphHandle* graph, void* stream);
void destroy_graph(GraphHandle* graph);
std::int32_t input_info(const ModelHandle* model, std::size_t index, AbiTensorInfo* info);
std::int32_t output_info(const ModelHandle* model, std::size_t index, AbiTensorInfo* info);
std::int32_t output_dims(const ModelHandle* model, const std::int64_t* const* input_dims,
                         std::size_t index, std::int64_t* dims, std::size_t capacity,
                         std::size_t* rank);
std::int32_t model_info(const ModelHandle* model, AbiModelInfo* info);
const char* last_error(std::int32_t* status);

}  // namespace STITCH_RUNTIME_NAMESPACE

#endif  // STITCH_RUNTIME_ENTRY_POINTS_H_
