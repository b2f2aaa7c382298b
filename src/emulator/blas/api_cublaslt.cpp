// The cuBLASLt functions that a launcher uses, computed by the host's BLAS. A product is submitted
// to its stream like a kernel, so that capture records it.
#include <cstring>
#include <memory>
#include <new>

#include "emulator/blas/descriptors.h"
#include "emulator/blas/element_conversion.h"
#include "emulator/blas/product_memory.h"
#include "emulator/driver/entry_point.h"

#define STITCH_LT_API extern "C" __attribute__((visibility("default"))) lt::Status

namespace lt = stitch::emulator::lt;
using stitch::emulator::DeviceState;
using stitch::emulator::entry_point;
using stitch::emulator::MatmulDescriptor;
using stitch::emulator::MatrixLayout;
using stitch::emulator::Product;

namespace {

constexpr std::size_t kVersion = 130000;

// Reads an attribute of the size that the caller gives; false when the size is another.
template <class Value>
bool read_attribute(Value& to, const void* from, std::size_t bytes) {
  if (from == nullptr || bytes != sizeof to) return false;
  std::memcpy(&to, from, bytes);
  return true;
}

bool set(MatrixLayout& layout, lt::LayoutAttribute attribute, const void* from, std::size_t bytes) {
  switch (attribute) {
    case lt::kLayoutType:
      return read_attribute(layout.type, from, bytes);
    case lt::kLayoutOrder:
      return read_attribute(layout.order, from, bytes);
    case lt::kLayoutRows:
      return read_attribute(layout.rows, from, bytes);
    case lt::kLayoutColumns:
      return read_attribute(layout.columns, from, bytes);
    case lt::kLayoutLeadingDimension:
      return read_attribute(layout.leading_dimension, from, bytes);
    case lt::kLayoutBatchCount:
      return read_attribute(layout.batch_count, from, bytes);
    case lt::kLayoutBatchStride:
      return read_attribute(layout.batch_stride, from, bytes);
  }
  return false;
}

bool set(MatmulDescriptor& operation, lt::MatmulAttribute attribute, const void* from,
         std::size_t bytes) {
  switch (attribute) {
    case lt::kMatmulComputeType:
      return read_attribute(operation.compute, from, bytes);
    case lt::kMatmulScaleType:
      return read_attribute(operation.scale, from, bytes);
    case lt::kMatmulPointerMode:
      return read_attribute(operation.pointer_mode, from, bytes);
    case lt::kMatmulTransA:
      return read_attribute(operation.trans_a, from, bytes);
    case lt::kMatmulTransB:
      return read_attribute(operation.trans_b, from, bytes);
    case lt::kMatmulTransC:
      return read_attribute(operation.trans_c, from, bytes);
    case lt::kMatmulEpilogue:
      return read_attribute(operation.epilogue, from, bytes);
    case lt::kMatmulBiasPointer:
      return read_attribute(operation.bias, from, bytes);
    case lt::kMatmulBiasBatchStride:
      return read_attribute(operation.bias_batch_stride, from, bytes);
    case lt::kMatmulBiasDataType:
      return read_attribute(operation.bias_type, from, bytes);
  }
  return false;
}

template <class Object>
lt::Status create(Object** handle, Object initial) {
  if (handle == nullptr) return lt::kInvalidValue;
  *handle = new (std::nothrow) Object(initial);
  return *handle != nullptr ? lt::kSuccess : lt::kAllocFailed;
}

template <class Object>
lt::Status destroy(Object* handle) {
  delete handle;
  return lt::kSuccess;
}

// alpha and beta have the scale type and lie on the host.
double read_scale(lt::DataType type, const void* value) {
  return stitch::emulator::load_element(type, static_cast<const unsigned char*>(value));
}

}  // namespace

// The handle and the preferences hold nothing: the host has one algorithm.
struct StitchLtHandle {
  int version = 1;
};
struct StitchLtPreference {
  std::uint64_t max_workspace_bytes = 0;
};

extern "C" __attribute__((visibility("default"))) std::size_t cublasLtGetVersion() {
  return kVersion;
}

STITCH_LT_API cublasLtCreate(StitchLtHandle** handle) { return create(handle, StitchLtHandle()); }
STITCH_LT_API cublasLtDestroy(StitchLtHandle* handle) { return destroy(handle); }

STITCH_LT_API cublasLtMatmulDescCreate(MatmulDescriptor** operation, lt::ComputeType compute,
                                       lt::DataType scale) {
  MatmulDescriptor initial;
  initial.compute = compute;
  initial.scale = scale;
  return create(operation, initial);
}
STITCH_LT_API cublasLtMatmulDescDestroy(MatmulDescriptor* operation) { return destroy(operation); }
STITCH_LT_API cublasLtMatmulDescSetAttribute(MatmulDescriptor* operation,
                                             lt::MatmulAttribute attribute, const void* value,
                                             std::size_t bytes) {
  if (operation == nullptr) return lt::kInvalidValue;
  return set(*operation, attribute, value, bytes) ? lt::kSuccess : lt::kInvalidValue;
}

STITCH_LT_API cublasLtMatrixLayoutCreate(MatrixLayout** layout, lt::DataType type,
                                         std::uint64_t rows, std::uint64_t columns,
                                         std::int64_t leading_dimension) {
  MatrixLayout initial;
  initial.type = type;
  initial.rows = rows;
  initial.columns = columns;
  initial.leading_dimension = leading_dimension;
  return create(layout, initial);
}
STITCH_LT_API cublasLtMatrixLayoutDestroy(MatrixLayout* layout) { return destroy(layout); }
STITCH_LT_API cublasLtMatrixLayoutSetAttribute(MatrixLayout* layout, lt::LayoutAttribute attribute,
                                               const void* value, std::size_t bytes) {
  if (layout == nullptr) return lt::kInvalidValue;
  return set(*layout, attribute, value, bytes) ? lt::kSuccess : lt::kInvalidValue;
}

STITCH_LT_API cublasLtMatmulPreferenceCreate(StitchLtPreference** preference) {
  return create(preference, StitchLtPreference());
}
STITCH_LT_API cublasLtMatmulPreferenceDestroy(StitchLtPreference* preference) {
  return destroy(preference);
}
// Preferences choose between algorithms: nothing to do.
STITCH_LT_API cublasLtMatmulPreferenceSetAttribute(StitchLtPreference* preference, int,
                                                   const void* value, std::size_t) {
  return preference != nullptr && value != nullptr ? lt::kSuccess : lt::kInvalidValue;
}

STITCH_LT_API cublasLtMatmulAlgoGetHeuristic(StitchLtHandle* handle, MatmulDescriptor* operation,
                                             MatrixLayout* a, MatrixLayout* b, MatrixLayout* c,
                                             MatrixLayout* d, StitchLtPreference* preference,
                                             int wanted, lt::HeuristicResult* results, int* found) {
  if (handle == nullptr || operation == nullptr || a == nullptr || b == nullptr || c == nullptr ||
      d == nullptr || preference == nullptr || wanted < 1 || results == nullptr || found == nullptr)
    return lt::kInvalidValue;
  *found = 0;
  const lt::Status verdict = stitch::emulator::check_product(*operation, *a, *b, *c, *d);
  if (verdict != lt::kSuccess) return verdict;
  results[0] = lt::HeuristicResult{};
  results[0].state = lt::kSuccess;
  results[0].waves_count = 1.0f;
  *found = 1;
  return lt::kSuccess;
}

STITCH_LT_API cublasLtMatmul(StitchLtHandle* handle, MatmulDescriptor* operation, const void* alpha,
                             const void* a, MatrixLayout* a_layout, const void* b,
                             MatrixLayout* b_layout, const void* beta, const void* c,
                             MatrixLayout* c_layout, void* d, MatrixLayout* d_layout,
                             const lt::Algorithm*, void*, std::size_t, CUstream stream) {
  if (handle == nullptr || operation == nullptr || alpha == nullptr || beta == nullptr ||
      a_layout == nullptr || b_layout == nullptr || c_layout == nullptr || d_layout == nullptr)
    return lt::kInvalidValue;
  const lt::Status verdict =
      stitch::emulator::check_product(*operation, *a_layout, *b_layout, *c_layout, *d_layout);
  if (verdict != lt::kSuccess) return verdict;
  auto product = std::make_shared<Product>();
  product->operation = *operation;
  product->a_layout = *a_layout;
  product->b_layout = *b_layout;
  product->c_layout = *c_layout;
  product->d_layout = *d_layout;
  product->alpha = read_scale(operation->scale, alpha);
  product->beta = read_scale(operation->scale, beta);
  product->a = static_cast<const unsigned char*>(a);
  product->b = static_cast<const unsigned char*>(b);
  product->c = static_cast<const unsigned char*>(c);
  product->d = static_cast<unsigned char*>(d);
  const CUresult result = entry_point([&](DeviceState& state) {
    return submit(state, stream, CU_GRAPH_NODE_TYPE_KERNEL,
                  [&state, product] { return stitch::emulator::run_product(state, *product); });
  });
  return result == CUDA_SUCCESS ? lt::kSuccess : lt::kExecutionFailed;
}
