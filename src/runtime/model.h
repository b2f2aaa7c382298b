// A model on a device: code loaded, steps settled, weights in place. Immutable after construction,
// so any number of threads and contexts share it.
#ifndef STITCH_RUNTIME_MODEL_H_
#define STITCH_RUNTIME_MODEL_H_

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "runtime/bundle_format.h"
#include "runtime/device.h"
#include "runtime/driver.h"
#include "runtime/image_choice.h"
#include "runtime/loaded_code.h"
#include "runtime/matmul_plan.h"
#include "runtime/weights.h"

namespace STITCH_RUNTIME_NAMESPACE {

// The parts of a bundle that are linked into the program.
struct BundleData {
  const unsigned char* program = nullptr;  // encode_program's bytes
  std::size_t program_bytes = 0;
  const unsigned char* images = nullptr;
};

struct ModelOptions {
  int device = 0;
  std::string driver_file;        // empty: STITCH_CUDA_DRIVER, else libcuda.so.1
  bool without_barriers = false;  // take the twin of every kernel with a grid barrier
  WeightsSource weights;
};

struct BoundKernel {
  const KernelLaunch* launch = nullptr;
  CUfunction function = nullptr;
};

struct BoundMatmul {
  const MatmulCall* call = nullptr;
  MatmulAlgorithm algorithm = {};
};

using BoundStep = std::variant<BoundKernel, BoundMatmul, const Memset*>;

// Keeps the device's primary context alive.
class PrimaryContext {
 public:
  PrimaryContext(const Driver& driver, const Device& device);
  ~PrimaryContext();
  PrimaryContext(const PrimaryContext&) = delete;
  PrimaryContext& operator=(const PrimaryContext&) = delete;
  CUcontext get() const { return context_; }

 private:
  const Driver& driver_;
  CUdevice device_;
  CUcontext context_ = nullptr;
};

class Model {
 public:
  // Throws LauncherError. Loads everything that enqueue will need.
  Model(const BundleData& bundle, const ModelOptions& options);
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  const LaunchProgram& program() const { return program_; }
  const ArchitectureProgram& architecture() const { return *choice_.program; }
  const ImageChoice& choice() const { return choice_; }
  const Driver& driver() const { return driver_; }
  const Device& device() const { return device_; }
  CUcontext context() const { return context_.get(); }
  const CublasSession* cublas() const { return cublas_.get(); }  // null without matmuls
  CUdeviceptr weights() const { return weights_->address(); }

  // In launch order, twins settled.
  const std::vector<BoundStep>& steps() const { return steps_; }
  std::size_t twin_count() const { return twin_count_; }  // items that run as their twin

 private:
  void bind_item(const ProgramItem& item, bool without_barriers);
  // Appends the item's steps; false (and nothing appended) when a barrier does not fit the device.
  bool bind_if_coresident(const std::vector<Step>& steps, std::string* obstacle);
  BoundStep bind(const Step& step);
  void free_device_objects();  // with the device's context current

  LaunchProgram program_;
  Driver driver_;
  Device device_;
  ImageChoice choice_;
  PrimaryContext context_;
  std::unique_ptr<LoadedCode> code_;
  std::unique_ptr<CublasSession> cublas_;
  std::unique_ptr<Weights> weights_;
  std::vector<BoundStep> steps_;
  std::size_t twin_count_ = 0;
};

}  // namespace STITCH_RUNTIME_NAMESPACE

#endif  // STITCH_RUNTIME_MODEL_H_
