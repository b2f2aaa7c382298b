// lib/libNAME.so of a bundle, opened, with its C functions.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "runtime/launcher_abi.h"

namespace stitch::runtime {

// X(member, suffix of the symbol after "NAME_", result, parameters); handles are opaque here.
#define STITCH_BUNDLE_FUNCTIONS(X)                                                              \
  X(abi_version, "abi_version", std::uint32_t, ())                                              \
  X(create, "create", std::int32_t, (const AbiOptions*, void** model))                          \
  X(destroy, "destroy", void, (void* model))                                                    \
  X(context_create, "context_create", std::int32_t, (const void* model, void** context))        \
  X(context_destroy, "context_destroy", void, (void* context))                                  \
  X(input_count, "input_count", std::size_t, ())                                                \
  X(output_count, "output_count", std::size_t, ())                                              \
  X(input_info, "input_info", std::int32_t, (const void* model, std::size_t, AbiTensorInfo*))   \
  X(output_info, "output_info", std::int32_t, (const void* model, std::size_t, AbiTensorInfo*)) \
  X(model_get_info, "model_get_info", std::int32_t, (const void* model, AbiModelInfo*))         \
  X(workspace_size, "workspace_size", std::int32_t,                                             \
    (const void* model, const std::int64_t* const* input_dims, std::size_t* bytes,              \
     std::size_t* alignment))                                                                   \
  X(enqueue, "enqueue", std::int32_t,                                                           \
    (void* context, void* stream, const void* const* inputs, void* const* outputs,              \
     void* workspace, std::size_t workspace_bytes))                                             \
  X(enqueue_timed, "enqueue_timed", std::int32_t,                                               \
    (void* context, void* stream, const void* const* inputs, void* const* outputs,              \
     void* workspace, std::size_t workspace_bytes, AbiTimingCallback, void* user))              \
  X(capture, "capture", std::int32_t,                                                           \
    (void* context, const void* const* inputs, void* const* outputs, void* workspace,           \
     std::size_t workspace_bytes, void** graph, std::size_t* node_count))                       \
  X(graph_launch, "graph_launch", std::int32_t, (const void* graph, void* stream))              \
  X(graph_destroy, "graph_destroy", void, (void* graph))                                        \
  X(last_error, "last_error", const char*, (std::int32_t*))

// Stays open for the life of the process.
class BundleLibrary {
 public:
  // Throws LauncherError with kAbi when the file is absent, lacks a function, or has another ABI.
  BundleLibrary(const std::filesystem::path& file, const std::string& name);

  // Throws LauncherError with the library's own status and text.
  void check(std::int32_t status) const;

#define STITCH_DECLARE(member, suffix, result, parameters) result(*member) parameters = nullptr;
  STITCH_BUNDLE_FUNCTIONS(STITCH_DECLARE)
#undef STITCH_DECLARE
};

}  // namespace stitch::runtime
