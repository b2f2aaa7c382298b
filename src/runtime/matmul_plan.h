// One cuBLASLt product, ready to run: descriptors, and the algorithm that the library chose.
#ifndef STITCH_RUNTIME_MATMUL_PLAN_H_
#define STITCH_RUNTIME_MATMUL_PLAN_H_

#include "runtime/bundle_format.h"
#include "runtime/cublaslt.h"
#include "runtime/device_memory.h"

namespace STITCH_RUNTIME_NAMESPACE {

// A library handle, owned.
class CublasSession {
 public:
  explicit CublasSession(const Driver& driver);
  ~CublasSession();
  CublasSession(const CublasSession&) = delete;
  CublasSession& operator=(const CublasSession&) = delete;

  const CublasLt& functions() const { return functions_; }
  CublasHandle handle() const { return handle_; }

 private:
  CublasLt functions_;
  CublasHandle handle_ = nullptr;
};

// Descriptors are changed by every run (the bias pointer is part of them), so a plan belongs to one
// context; the algorithm is chosen once per model and handed on.
class MatmulPlan {
 public:
  // Without an algorithm, asks the library's heuristic for one. Throws LauncherError with kLibrary.
  // The session and the call must outlive the plan.
  MatmulPlan(const CublasSession& session, const MatmulCall& call,
             const MatmulAlgorithm* algorithm = nullptr);
  ~MatmulPlan();
  MatmulPlan(const MatmulPlan&) = delete;
  MatmulPlan& operator=(const MatmulPlan&) = delete;

  const MatmulAlgorithm& algorithm() const { return algorithm_; }

  // Launches the product on the stream: one library call for each index of the outer batch dims.
  void run(const DeviceMemory& memory, CUstream stream);

 private:
  void describe();
  void choose_algorithm();
  void release();

  const CublasSession& session_;
  const MatmulCall& call_;
  MatmulDescriptor matmul_ = nullptr;
  LayoutDescriptor left_ = nullptr;  // the library's first operand
  LayoutDescriptor right_ = nullptr;
  LayoutDescriptor addend_ = nullptr;
  LayoutDescriptor result_ = nullptr;
  MatmulAlgorithm algorithm_ = {};
};

}  // namespace STITCH_RUNTIME_NAMESPACE

#endif  // STITCH_RUNTIME_MATMUL_PLAN_H_
