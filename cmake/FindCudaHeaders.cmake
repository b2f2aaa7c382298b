# Finds the CUDA headers and NVRTC, in a toolkit or where scripts/setup unpacked them. Sets
# CudaHeaders_FOUND and the cache paths STITCH_CUDA_INCLUDE_DIR (cuda.h, nvrtc.h, cuda_fp16.h) and
# STITCH_NVRTC_LIBRARY_DIR (libnvrtc).
#
# NVRTC is opened at run time, never linked: the folder is only where the tool looks for it first.

set(_cuda_hints "$ENV{CUDA_HOME}" "$ENV{CUDA_PATH}" /usr/local/cuda
    "${PROJECT_BINARY_DIR}/third_party/cuda" "${PROJECT_SOURCE_DIR}/build/third_party/cuda")
list(REMOVE_ITEM _cuda_hints "")

find_path(STITCH_CUDA_INCLUDE_DIR NAMES nvrtc.h
    HINTS ${_cuda_hints} PATH_SUFFIXES include NO_DEFAULT_PATH
    DOC "Folder that holds cuda.h, nvrtc.h and cuda_fp16.h")
find_path(STITCH_NVRTC_LIBRARY_DIR NAMES libnvrtc.so libnvrtc.so.13 libnvrtc.so.12
    HINTS ${_cuda_hints} PATH_SUFFIXES lib64 lib NO_DEFAULT_PATH
    DOC "Folder that holds libnvrtc")

foreach(_header cuda.h cuda_fp16.h cuda_bf16.h cuda_fp8.h nv/target)
  if(STITCH_CUDA_INCLUDE_DIR AND NOT EXISTS "${STITCH_CUDA_INCLUDE_DIR}/${_header}")
    list(APPEND _cuda_missing "${_header}")
  endif()
endforeach()
if(_cuda_missing)
  message(NOTICE "${STITCH_CUDA_INCLUDE_DIR} holds nvrtc.h but not: ${_cuda_missing}")
  unset(STITCH_CUDA_INCLUDE_DIR CACHE)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CudaHeaders
    REQUIRED_VARS STITCH_CUDA_INCLUDE_DIR STITCH_NVRTC_LIBRARY_DIR
    REASON_FAILURE_MESSAGE "run ./scripts/setup, or set CUDA_HOME to a CUDA toolkit")
mark_as_advanced(STITCH_CUDA_INCLUDE_DIR STITCH_NVRTC_LIBRARY_DIR)
