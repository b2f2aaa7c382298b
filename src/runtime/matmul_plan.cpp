#include "runtime/matmul_plan.h"

#include "runtime/launcher_error.h"
#include "runtime/matmul_problem.h"

namespace STITCH_RUNTIME_NAMESPACE {
namespace {

constexpr char kWhatPrefix[] = "preparing matmul '";

void* device_pointer(CUdeviceptr address) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}

LayoutDescriptor create_layout(const CublasLt& library, const LibraryMatrix& matrix,
                               const LibraryProblem& problem, const std::string& what) {
  LayoutDescriptor layout = nullptr;
  library.check(
      library.layout_create(&layout, matrix.type, static_cast<std::uint64_t>(matrix.rows),
                            static_cast<std::uint64_t>(matrix.cols), matrix.leading_dimension),
      "cublasLtMatrixLayoutCreate", what);
  if (problem.batch_count == 1) return layout;
  // The library's batch count is a 32-bit integer.
  const auto count = static_cast<std::int32_t>(problem.batch_count);
  library.check(library.layout_set(layout, kLayoutBatchCount, &count, sizeof(count)),
                "cublasLtMatrixLayoutSetAttribute", what);
  library.check(library.layout_set(layout, kLayoutBatchStride, &matrix.batch_stride,
                                   sizeof(matrix.batch_stride)),
                "cublasLtMatrixLayoutSetAttribute", what);
  return layout;
}

// Owns a preference descriptor while an algorithm is chosen.
class Preference {
 public:
  Preference(const CublasLt& library, const std::string& what) : library_(library), what_(what) {
    library_.check(library_.preference_create(&descriptor_), "cublasLtMatmulPreferenceCreate",
                   what_);
  }
  ~Preference() { library_.preference_destroy(descriptor_); }
  Preference(const Preference&) = delete;
  Preference& operator=(const Preference&) = delete;

  template <typename Value>
  void set(PreferenceAttribute attribute, Value value) {
    library_.check(library_.preference_set(descriptor_, attribute, &value, sizeof(value)),
                   "cublasLtMatmulPreferenceSetAttribute", what_);
  }
  PreferenceDescriptor get() const { return descriptor_; }

 private:
  const CublasLt& library_;
  const std::string& what_;
  PreferenceDescriptor descriptor_ = nullptr;
};

// alpha or beta in the type that the library reads it in.
union Scale {
  float as_float;
  double as_double;
  std::int32_t as_int;
  std::uint16_t as_half;
};

// Scale factors of 16-bit computation: the values that plans use are exact in half precision.
std::uint16_t half_bits(double value, const std::string& name) {
  if (value == 0.0) return 0x0000;
  if (value == 1.0) return 0x3c00;
  throw LauncherError(Status::kInternal,
                      "matmul '" + name + "': 16-bit computation takes scales of 0 and 1 only");
}

Scale scale_of(double value, const MatmulCall& call) {
  Scale scale = {};
  switch (call.compute) {
    case ComputeType::kFloat32:
    case ComputeType::kTf32:
      scale.as_float = static_cast<float>(value);
      break;
    case ComputeType::kFloat64:
      scale.as_double = value;
      break;
    case ComputeType::kInt32:
      scale.as_int = static_cast<std::int32_t>(value);
      break;
    case ComputeType::kFloat16:
      scale.as_half = half_bits(value, call.name);
      break;
  }
  return scale;
}

}  // namespace

CublasSession::CublasSession(const Driver& driver) : functions_(CublasLt::open(driver)) {
  functions_.check(functions_.create(&handle_), "cublasLtCreate",
                   "starting cuBLASLt '" + functions_.file + "'");
}

CublasSession::~CublasSession() { functions_.destroy(handle_); }

MatmulPlan::MatmulPlan(const CublasSession& session, const MatmulCall& call,
                       const MatmulAlgorithm* algorithm)
    : session_(session), call_(call) {
  try {
    describe();
    if (algorithm != nullptr) {
      algorithm_ = *algorithm;
    } else {
      choose_algorithm();
    }
  } catch (...) {
    release();
    throw;
  }
}

MatmulPlan::~MatmulPlan() { release(); }

void MatmulPlan::run(const DeviceMemory& memory, CUstream stream) {
  const CublasLt& library = session_.functions();
  const LibraryProblem problem = library_problem(call_);
  if (call_.epilogue == Epilogue::kBias) {
    const void* bias = device_pointer(memory.address(call_.bias));
    library.check(library.matmul_set(matmul_, kMatmulBiasPointer, &bias, sizeof(bias)),
                  "cublasLtMatmulDescSetAttribute", step_name(call_));
  }
  const Scale alpha = scale_of(call_.alpha, call_);
  const Scale beta = scale_of(call_.beta, call_);
  void* workspace =
      call_.workspace.bytes == 0 ? nullptr : device_pointer(memory.address(call_.workspace));
  const std::int64_t calls = library_call_count(call_);
  for (std::int64_t number = 0; number < calls; ++number) {
    const OuterOffsets offsets = outer_offsets(call_, number);
    const void* a = device_pointer(memory.address(call_.a.buffer) + offsets.a);
    const void* b = device_pointer(memory.address(call_.b.buffer) + offsets.b);
    void* d = device_pointer(memory.address(call_.d.buffer) + offsets.d);
    const void* c =
        call_.beta == 0.0 ? d : device_pointer(memory.address(call_.c.buffer) + offsets.c);
    library.check(library.matmul(session_.handle(), matmul_, &alpha, problem.swapped ? b : a, left_,
                                 problem.swapped ? a : b, right_, &beta, c, addend_, d, result_,
                                 &algorithm_, workspace, call_.workspace.bytes, stream),
                  "cublasLtMatmul", step_name(call_));
  }
}

void MatmulPlan::describe() {
  const CublasLt& library = session_.functions();
  const LibraryProblem problem = library_problem(call_);
  const std::string what = kWhatPrefix + call_.name + "'";
  library.check(library.matmul_create(&matmul_, problem.compute, problem.scale),
                "cublasLtMatmulDescCreate", what);
  const auto set = [&](MatmulAttribute attribute, int value) {
    library.check(library.matmul_set(matmul_, attribute, &value, sizeof(value)),
                  "cublasLtMatmulDescSetAttribute", what);
  };
  set(kMatmulTransA, problem.left.operation);
  set(kMatmulTransB, problem.right.operation);
  if (call_.epilogue == Epilogue::kBias) set(kMatmulEpilogue, kEpilogueBias);
  left_ = create_layout(library, problem.left, problem, what);
  right_ = create_layout(library, problem.right, problem, what);
  addend_ = create_layout(library, problem.addend, problem, what);
  result_ = create_layout(library, problem.result, problem, what);
}

void MatmulPlan::choose_algorithm() {
  const CublasLt& library = session_.functions();
  const LibraryProblem problem = library_problem(call_);
  const std::string what = kWhatPrefix + call_.name + "'";
  Preference preference(library, what);
  preference.set<std::uint64_t>(kMaxWorkspaceBytes, call_.workspace.bytes);
  preference.set<std::uint32_t>(kMinAlignmentA, problem.left.alignment);
  preference.set<std::uint32_t>(kMinAlignmentB, problem.right.alignment);
  preference.set<std::uint32_t>(kMinAlignmentC, problem.addend.alignment);
  preference.set<std::uint32_t>(kMinAlignmentD, problem.result.alignment);
  HeuristicResult result = {};
  int found = 0;
  const CublasStatus status = library.heuristic(session_.handle(), matmul_, left_, right_, addend_,
                                                result_, preference.get(), 1, &result, &found);
  if (status == 0 && found > 0 && result.state == 0) {
    algorithm_ = result.algorithm;
    return;
  }
  throw LauncherError(Status::kLibrary, "cuBLASLt '" + library.file + "' has no algorithm for " +
                                            problem_text(call_) + " (cuBLAS status " +
                                            std::to_string(status) +
                                            ")\nhelp: compile the model with --contractions own");
}

void MatmulPlan::release() {
  const CublasLt& library = session_.functions();
  for (LayoutDescriptor* layout : {&left_, &right_, &addend_, &result_}) {
    if (*layout != nullptr) library.layout_destroy(*layout);
    *layout = nullptr;
  }
  if (matmul_ != nullptr) library.matmul_destroy(matmul_);
  matmul_ = nullptr;
}

}  // namespace STITCH_RUNTIME_NAMESPACE
