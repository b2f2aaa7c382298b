// A launch program: everything the launcher needs to run a model, as a value.
//
// It names tensors, device memory and the steps of one inference in launch order, once per
// architecture. It holds no device code: images and weights are byte ranges elsewhere in the
// bundle. `program_codec.h` turns it into bytes and back; docs/bundle_format.md describes both.
#ifndef STITCH_RUNTIME_BUNDLE_FORMAT_H_
#define STITCH_RUNTIME_BUNDLE_FORMAT_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "runtime/namespace.h"

namespace STITCH_RUNTIME_NAMESPACE {

// Raised by one whenever the meaning of a field changes; a launcher reads its own version only.
inline constexpr std::uint32_t kProgramFormatVersion = 2;

// The values are part of the C ABI (NAME_tensor_info::dtype) and never change.
enum class ElementType : std::uint8_t {
  kFloat32 = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kBool = 9,
  kFloat16 = 10,
  kFloat64 = 11,
  kUint32 = 12,
  kUint64 = 13,
  kBfloat16 = 16,
  kFloat8E4m3 = 17,
  kFloat8E5m2 = 19,
};

// A model input or output. Dims are bound; a scalar has none.
struct TensorInfo {
  std::string name;  // as in the model, any characters
  ElementType type = ElementType::kFloat32;
  std::vector<std::int64_t> dims;
  std::uint64_t bytes = 0;
};

enum class BufferKind : std::uint8_t { kInput, kOutput, kWorkspace, kWeights };

// A range of device memory that a step reads or writes. `index` is the number of the input, output
// or weights segment (0 for the workspace); `offset` counts from the start of that memory.
struct BufferRef {
  BufferKind kind = BufferKind::kWorkspace;
  std::uint32_t index = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

// A kernel argument passed by value: the low `bytes` (1, 2, 4 or 8) of `bits`, little endian.
struct ScalarValue {
  std::uint64_t bits = 0;
  std::uint32_t bytes = 4;
};

using KernelArgument = std::variant<BufferRef, ScalarValue>;

struct Extent3 {
  std::uint32_t x = 1;
  std::uint32_t y = 1;
  std::uint32_t z = 1;
};

// One kernel on the stream.
struct KernelLaunch {
  std::string function;    // symbol in the image, also the kernel's name in messages
  std::uint32_t unit = 0;  // which unit (translation unit) of the architecture holds it
  Extent3 grid;
  Extent3 block;
  std::uint32_t dynamic_shared_bytes = 0;
  std::uint32_t cluster_size = 1;  // blocks along x; 1 = no cluster
  bool cooperative = false;
  // Blocks that must be on the device at the same time for the kernel's barriers to make progress;
  // 0 = the kernel has none. Checked against the actual device when the model is created.
  std::uint32_t min_coresident_blocks = 0;
  std::vector<KernelArgument> arguments;
  std::vector<std::string> source_nodes;  // ONNX node names, for ranges and timings
};

enum class MatrixOrder : std::uint8_t { kRowMajor, kColumnMajor };

// How a matrix lies in memory. `leading_dimension` is the distance in elements between the starts
// of consecutive rows (row major) or columns (column major).
struct MatrixLayout {
  BufferRef buffer;
  ElementType type = ElementType::kFloat32;
  MatrixOrder order = MatrixOrder::kRowMajor;
  std::int64_t leading_dimension = 0;
};

// One batch dimension; strides in elements, 0 = the operand is broadcast along it.
struct BatchDim {
  std::int64_t count = 1;
  std::int64_t stride_a = 0;
  std::int64_t stride_b = 0;
  std::int64_t stride_d = 0;
  std::int64_t stride_c = 0;
};

enum class ComputeType : std::uint8_t { kFloat32, kTf32, kFloat16, kFloat64, kInt32 };

enum class Epilogue : std::uint8_t { kNone, kBias };

// D[m,n] = alpha * A[m,k] * B[k,n] + beta * C[m,n] (+ bias[n]) through cuBLASLt, for every index of
// the batch dimensions (outermost first; empty = one product). A transposed operand is the same
// matrix in the other order. The last batch dimension is one strided-batched call; the launcher
// loops over those before it.
struct MatmulCall {
  std::string name;  // in messages
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::vector<BatchDim> batch;
  MatrixLayout a;
  MatrixLayout b;
  MatrixLayout c;  // read where beta is not 0; of d's type and order
  MatrixLayout d;
  double alpha = 1.0;
  double beta = 0.0;
  ComputeType compute = ComputeType::kFloat32;
  Epilogue epilogue = Epilogue::kNone;
  BufferRef bias;       // n elements of d's type; read with Epilogue::kBias
  BufferRef workspace;  // scratch of the library inside the workspace; bytes 0 = none
  std::vector<std::string> source_nodes;
};

// Sets every byte of a buffer.
struct Memset {
  BufferRef buffer;
  std::uint8_t value = 0;
};

using Step = std::variant<KernelLaunch, MatmulCall, Memset>;

// Steps that belong together. `twin` computes the same without barriers over the grid and takes the
// place of `steps` when a kernel of theirs does not fit the actual device at once.
struct ProgramItem {
  std::vector<Step> steps;
  std::vector<Step> twin;
};

enum class ImageKind : std::uint8_t { kCubin, kPtx, kHost };

// Device code of one unit: a byte range of the bundle's images.
struct Image {
  ImageKind kind = ImageKind::kCubin;
  std::uint32_t unit = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

// A byte range; of the workspace for barrier counters, of weights.bin for a weights segment.
struct ByteRange {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

// The program planned for one architecture. An image kind is usable when every unit has it.
struct ArchitectureProgram {
  std::uint32_t architecture = 80;  // 80 = sm_80
  std::uint32_t unit_count = 0;
  std::vector<Image> images;
  std::uint64_t workspace_bytes = 0;
  std::uint64_t workspace_alignment = 256;
  ByteRange counters;  // zeroed by one memset at the head of enqueue; bytes 0 = no barriers
  std::vector<ProgramItem> items;
};

struct LaunchProgram {
  std::string model_name;  // the bundle's NAME, a C identifier
  std::vector<TensorInfo> inputs;
  std::vector<TensorInfo> outputs;
  std::vector<ByteRange> weights_segments;  // in weights.bin; the file is one device allocation
  std::uint64_t weights_bytes = 0;
  std::string weights_hash;  // of weights.bin; models with equal hashes can share its memory
  std::vector<ArchitectureProgram> architectures;  // ascending
};

}  // namespace STITCH_RUNTIME_NAMESPACE

#endif  // STITCH_RUNTIME_BUNDLE_FORMAT_H_
