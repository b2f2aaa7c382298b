#include "runtime/model.h"

#include <algorithm>

#include "runtime/launcher_error.h"
#include "runtime/program_check.h"
#include "runtime/program_codec.h"

namespace STITCH_RUNTIME_NAMESPACE {
namespace {

LaunchProgram checked_program(const BundleData& bundle) {
  LaunchProgram program = decode_program(bundle.program, bundle.program_bytes);
  check_program(program);
  return program;
}

bool has_barrier(const std::vector<Step>& steps) {
  return std::any_of(steps.begin(), steps.end(), [](const Step& step) {
    const auto* launch = std::get_if<KernelLaunch>(&step);
    return launch != nullptr && launch->min_coresident_blocks > 0;
  });
}

}  // namespace

PrimaryContext::PrimaryContext(const Driver& driver, const Device& device)
    : driver_(driver), device_(device.handle) {
  driver_.check(driver_.primary_context_retain(&context_, device_), "cuDevicePrimaryCtxRetain",
                "starting device " + std::to_string(device.ordinal) + " (" + device.name + ")");
}

PrimaryContext::~PrimaryContext() { driver_.primary_context_release(device_); }

Model::Model(const BundleData& bundle, const ModelOptions& options)
    : program_(checked_program(bundle)),
      driver_(Driver::open(options.driver_file)),
      device_(Device::open(driver_, options.device)),
      choice_(choose_image(program_, device_)),
      context_(driver_, device_) {
  const CurrentContext current(driver_, context_.get());
  try {
    code_ = std::make_unique<LoadedCode>(driver_, choice_, bundle.images);
    for (const ProgramItem& item : architecture().items) {
      bind_item(item, options.without_barriers);
    }
    weights_ = std::make_unique<Weights>(driver_, program_, options.weights);
  } catch (...) {
    free_device_objects();
    throw;
  }
}

Model::~Model() {
  try {
    const CurrentContext current(driver_, context_.get());
    free_device_objects();
  } catch (const LauncherError&) {
    // The driver is shutting down; it frees what the process held.
  }
}

void Model::free_device_objects() {
  weights_.reset();
  cublas_.reset();
  code_.reset();
}

void Model::bind_item(const ProgramItem& item, bool without_barriers) {
  std::string obstacle;
  if (without_barriers && has_barrier(item.steps)) {
    obstacle = "the options ask for no grid barriers";
  } else if (bind_if_coresident(item.steps, &obstacle)) {
    return;
  }
  if (item.twin.empty()) {
    throw LauncherError(Status::kNotCoresident,
                        obstacle +
                            "\nnote: the bundle has no form of these kernels without a "
                            "grid barrier");
  }
  if (!bind_if_coresident(item.twin, &obstacle)) {
    throw LauncherError(Status::kNotCoresident, obstacle);
  }
  ++twin_count_;
}

bool Model::bind_if_coresident(const std::vector<Step>& steps, std::string* obstacle) {
  std::vector<BoundStep> bound;
  for (const Step& step : steps) {
    bound.push_back(bind(step));
    const auto* kernel = std::get_if<BoundKernel>(&bound.back());
    if (kernel == nullptr || kernel->launch->min_coresident_blocks == 0) continue;
    const std::uint64_t fitting =
        coresident_blocks(driver_, device_, *kernel->launch, kernel->function);
    if (fitting < kernel->launch->min_coresident_blocks) {
      *obstacle =
          step_title(step) + " needs " + std::to_string(kernel->launch->min_coresident_blocks) +
          " blocks on the device at once, " + device_.name + " holds " + std::to_string(fitting);
      return false;
    }
  }
  steps_.insert(steps_.end(), bound.begin(), bound.end());
  return true;
}

BoundStep Model::bind(const Step& step) {
  if (const auto* launch = std::get_if<KernelLaunch>(&step)) {
    return BoundKernel{launch, code_->load_function(*launch)};
  }
  if (const auto* call = std::get_if<MatmulCall>(&step)) {
    if (cublas_ == nullptr) cublas_ = std::make_unique<CublasSession>(driver_);
    return BoundMatmul{call, MatmulPlan(*cublas_, *call).algorithm()};
  }
  return std::get_if<Memset>(&step);
}

}  // namespace STITCH_RUNTIME_NAMESPACE
