# Finds onnx.proto, the schema of ONNX models, for protoc. Sets OnnxProto_FOUND and the cache path
# STITCH_ONNX_PROTO_DIR.
#
# scripts/setup puts the current one under build/third_party/onnx. Debian's copy (libonnx-dev, ONNX
# 1.12) is the fallback: models are read with it too, less the fields that it does not know.

find_path(STITCH_ONNX_PROTO_DIR onnx.proto
    HINTS "${PROJECT_BINARY_DIR}/third_party/onnx" "${PROJECT_SOURCE_DIR}/build/third_party/onnx"
    NO_DEFAULT_PATH
    DOC "Folder that holds onnx.proto")

if(NOT STITCH_ONNX_PROTO_DIR)
  find_path(STITCH_ONNX_PROTO_DIR onnx.proto PATHS /usr/include/onnx NO_DEFAULT_PATH)
  if(STITCH_ONNX_PROTO_DIR)
    message(NOTICE "Using Debian's onnx.proto of ONNX 1.12: default values of function attributes, "
        "function overloads and data types newer than bfloat16 are dropped when a model is read. "
        "./scripts/setup fetches the current one.")
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OnnxProto
    REQUIRED_VARS STITCH_ONNX_PROTO_DIR
    REASON_FAILURE_MESSAGE
        "run ./scripts/setup, or set STITCH_ONNX_PROTO_DIR to the folder of onnx.proto")
mark_as_advanced(STITCH_ONNX_PROTO_DIR)
