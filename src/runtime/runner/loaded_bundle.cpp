#include "runtime/runner/loaded_bundle.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>

#include "runtime/device.h"
#include "runtime/driver.h"
#include "runtime/launcher_error.h"
#include "runtime/model.h"
#include "runtime/program_codec.h"
#include "runtime/runner/bundle_library.h"
#include "runtime/runner/device_buffer.h"

namespace stitch::runtime {
namespace {

namespace fs = std::filesystem;

// The launch program also lies beside the library: it says how the workspace is divided, which the
// emulator's checks need and the C API does not tell.
LaunchProgram read_program(const fs::path& folder) {
  const fs::path path = folder / "images" / "program.bin";
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw LauncherError(Status::kInternal, "'" + folder.string() + "' is no bundle: it has no " +
                                               "images/program.bin");
  }
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return decode_program(bytes.data(), bytes.size());
}

std::string driver_file(const RunnerOptions& options) {
  if (!options.driver_file.empty()) return options.driver_file;
  const char* from_environment = std::getenv("STITCH_CUDA_DRIVER");
  return from_environment == nullptr ? "" : from_environment;
}

// Chooses the emulated device before anything initialises the driver.
EmulatorControl prepared_emulator(const RunnerOptions& options) {
  EmulatorControl emulator(driver_file(options));
  if (!emulator.available()) return emulator;
  if (!options.emulator.architecture.empty()) {
    emulator.select_device(options.emulator.architecture);
  }
  emulator.configure(options.emulator);
  return emulator;
}

class LoadedModel {
 public:
  LoadedModel(const BundleLibrary& library, const fs::path& folder, const RunnerOptions& options)
      : library_(library) {
    const std::string bundle_dir = folder.string();
    const std::string driver = driver_file(options);
    AbiOptions abi = {};
    abi.struct_size = sizeof(abi);
    abi.device = options.device;
    abi.flags = (options.without_barriers ? kFlagWithoutBarriers : 0) |
                (options.verify_weights ? kFlagVerifyWeights : 0);
    abi.bundle_dir = bundle_dir.c_str();
    abi.driver_file = driver.empty() ? nullptr : driver.c_str();
    library_.check(library_.create(&abi, &model_));
    const std::int32_t status = library_.context_create(model_, &context_);
    if (status != 0) library_.destroy(model_);
    library_.check(status);
  }
  ~LoadedModel() {
    library_.context_destroy(context_);
    library_.destroy(model_);
  }
  LoadedModel(const LoadedModel&) = delete;
  LoadedModel& operator=(const LoadedModel&) = delete;

  const void* model() const { return model_; }
  void* context() const { return context_; }

  AbiModelInfo info() const {
    AbiModelInfo info = {};
    info.struct_size = sizeof(info);
    library_.check(library_.model_get_info(model_, &info));
    return info;
  }

 private:
  const BundleLibrary& library_;
  void* model_ = nullptr;
  void* context_ = nullptr;
};

TensorInfo tensor_from(const AbiTensorInfo& info) {
  TensorInfo tensor;
  tensor.name = info.name;
  tensor.type = static_cast<ElementType>(info.dtype);
  tensor.dims.assign(info.dims, info.dims + info.rank);
  tensor.bytes = info.bytes;
  return tensor;
}

}  // namespace

struct LoadedBundle::State {
  State(const fs::path& folder, const RunnerOptions& options)
      : settings(options.emulator),
        program(read_program(folder)),
        emulator(prepared_emulator(options)),
        library(folder / "lib" / ("lib" + program.model_name + ".so"), program.model_name),
        loaded(library, folder, options),
        driver(Driver::open(driver_file(options))),
        primary_context(driver, Device::open(driver, options.device)),
        current(driver, primary_context.get()) {
    read_signature();
    allocate_buffers();
    if (checks()) register_ranges();
  }

  void read_signature() {
    const AbiModelInfo model = loaded.info();
    info.name = program.model_name;
    info.architecture = static_cast<std::uint32_t>(model.architecture);
    info.image_kind = static_cast<ImageKind>(model.image_kind);
    info.emulated = model.emulated != 0;
    info.device_name = model.device_name;
    info.step_count = model.step_count;
    info.twin_count = model.twin_count;
    AbiTensorInfo tensor = {};
    tensor.struct_size = sizeof(tensor);
    for (std::size_t number = 0; number < library.input_count(); ++number) {
      library.check(library.input_info(loaded.model(), number, &tensor));
      inputs.push_back(tensor_from(tensor));
    }
    for (std::size_t number = 0; number < library.output_count(); ++number) {
      library.check(library.output_info(loaded.model(), number, &tensor));
      outputs.push_back(tensor_from(tensor));
    }
  }

  void allocate_buffers() {
    const auto allocate = [this](const std::vector<TensorInfo>& tensors, const std::string& role,
                                 std::vector<DeviceBuffer>& buffers, auto& pointers) {
      for (const TensorInfo& tensor : tensors) {
        buffers.emplace_back(driver, tensor.bytes, role + " '" + tensor.name + "'");
        pointers.push_back(buffers.back().pointer());
      }
    };
    allocate(inputs, "input", input_buffers, input_pointers);
    allocate(outputs, "output", output_buffers, output_pointers);
    std::size_t bytes = 0;
    library.check(library.workspace_size(loaded.model(), nullptr, &bytes, nullptr));
    workspace.emplace(driver, bytes, "the workspace");
  }

  // Whether the emulator watches memory: then it is told what lies where.
  bool checks() const { return emulator.available() && (settings.check || settings.count); }

  // Tells the emulator what lies where, so that kernels must stay inside the values they name.
  void register_ranges() {
    for (std::size_t number = 0; number < inputs.size(); ++number) {
      emulator.register_range(input_buffers[number].address(), input_buffers[number].bytes(),
                              inputs[number].name, EmulatorControl::Role::kInput);
    }
    for (std::size_t number = 0; number < outputs.size(); ++number) {
      emulator.register_range(output_buffers[number].address(), output_buffers[number].bytes(),
                              outputs[number].name, EmulatorControl::Role::kOutput);
    }
    const CUdeviceptr weights = reinterpret_cast<std::uintptr_t>(loaded.info().weights);
    for (std::size_t number = 0; number < program.weights_segments.size(); ++number) {
      const ByteRange& segment = program.weights_segments[number];
      emulator.register_range(weights + segment.offset, segment.bytes,
                              "weights " + std::to_string(number), EmulatorControl::Role::kWeights);
    }
    for (const ArchitectureProgram& architecture : program.architectures) {
      if (architecture.architecture == info.architecture) register_workspace(architecture);
    }
  }

  void register_workspace(const ArchitectureProgram& architecture) {
    emulator.register_range(workspace->address() + architecture.counters.offset,
                            architecture.counters.bytes, "barrier counters",
                            EmulatorControl::Role::kCounters);
    for (const ProgramItem& item : architecture.items) {
      for (const Step& step : item.steps) register_step(step);
      for (const Step& step : item.twin) register_step(step);
    }
  }

  void register_step(const Step& step) {
    if (const auto* launch = std::get_if<KernelLaunch>(&step)) {
      for (const KernelArgument& argument : launch->arguments) {
        if (const auto* ref = std::get_if<BufferRef>(&argument)) {
          register_scratch(*ref, launch->function);
        }
      }
    } else if (const auto* call = std::get_if<MatmulCall>(&step)) {
      for (const BufferRef& ref : {call->a.buffer, call->b.buffer, call->c.buffer, call->d.buffer,
                                   call->bias, call->workspace}) {
        register_scratch(ref, call->name);
      }
    }
  }

  void register_scratch(const BufferRef& ref, const std::string& user) {
    if (ref.kind != BufferKind::kWorkspace) return;
    emulator.register_range(workspace->address() + ref.offset, ref.bytes,
                            "workspace at " + std::to_string(ref.offset) + " of " + user,
                            EmulatorControl::Role::kScratch);
  }

  void copy_in(const std::vector<std::span<const std::byte>>& values) {
    if (values.size() != inputs.size()) {
      throw LauncherError(Status::kInvalidArgument,
                          "the model has " + std::to_string(inputs.size()) +
                              " inputs, given were " + std::to_string(values.size()));
    }
    for (std::size_t number = 0; number < values.size(); ++number) {
      const TensorInfo& input = inputs[number];
      if (values[number].size() != input.bytes) {
        throw LauncherError(Status::kInvalidArgument,
                            "input '" + input.name + "' has " + std::to_string(input.bytes) +
                                " bytes, given were " + std::to_string(values[number].size()));
      }
      if (input.bytes == 0) continue;
      driver.check(driver.copy_to_device(input_buffers[number].address(), values[number].data(),
                                         input.bytes),
                   "cuMemcpyHtoD", "copying input '" + input.name + "'");
    }
  }

  // Nothing of the last inference may help this one.
  void discard_results() {
    if (!checks()) return;
    emulator.discard(workspace->address(), workspace->bytes());
    for (const DeviceBuffer& output : output_buffers) {
      emulator.discard(output.address(), output.bytes());
    }
  }

  void wait() {
    driver.require(driver.stream_synchronize, "cuStreamSynchronize");
    driver.check(driver.stream_synchronize(nullptr), "cuStreamSynchronize", "running the model");
    if (checks()) emulator.check_outputs();
  }

  std::vector<std::vector<std::byte>> copy_out() {
    driver.require(driver.copy_to_host, "cuMemcpyDtoH_v2");
    std::vector<std::vector<std::byte>> values;
    for (std::size_t number = 0; number < outputs.size(); ++number) {
      values.emplace_back(outputs[number].bytes);
      if (values.back().empty()) continue;
      driver.check(driver.copy_to_host(values.back().data(), output_buffers[number].address(),
                                       values.back().size()),
                   "cuMemcpyDtoH", "copying output '" + outputs[number].name + "'");
    }
    return values;
  }

  EmulatorSettings settings;
  LaunchProgram program;
  EmulatorControl emulator;
  BundleLibrary library;
  LoadedModel loaded;
  Driver driver;
  PrimaryContext primary_context;
  CurrentContext current;
  LoadedInfo info;
  std::vector<TensorInfo> inputs;
  std::vector<TensorInfo> outputs;
  std::vector<DeviceBuffer> input_buffers;
  std::vector<DeviceBuffer> output_buffers;
  std::vector<const void*> input_pointers;
  std::vector<void*> output_pointers;
  std::optional<DeviceBuffer> workspace;
};

LoadedBundle::LoadedBundle(const fs::path& folder, const RunnerOptions& options)
    : state_(std::make_unique<State>(folder, options)) {}

LoadedBundle::~LoadedBundle() = default;

const LoadedInfo& LoadedBundle::info() const { return state_->info; }

const std::vector<TensorInfo>& LoadedBundle::inputs() const { return state_->inputs; }

const std::vector<TensorInfo>& LoadedBundle::outputs() const { return state_->outputs; }

std::vector<std::vector<std::byte>> LoadedBundle::run(
    const std::vector<std::span<const std::byte>>& inputs) {
  State& state = *state_;
  state.copy_in(inputs);
  state.discard_results();
  if (state.emulator.available()) state.emulator.reset_counters();
  state.library.check(state.library.enqueue(
      state.loaded.context(), nullptr, state.input_pointers.data(), state.output_pointers.data(),
      state.workspace->pointer(), state.workspace->bytes()));
  state.wait();
  return state.copy_out();
}

std::vector<std::vector<std::byte>> LoadedBundle::run_captured(
    const std::vector<std::span<const std::byte>>& inputs, int replays) {
  State& state = *state_;
  state.copy_in(inputs);
  void* graph = nullptr;
  std::size_t nodes = 0;
  state.library.check(state.library.capture(
      state.loaded.context(), state.input_pointers.data(), state.output_pointers.data(),
      state.workspace->pointer(), state.workspace->bytes(), &graph, &nodes));
  std::int32_t status = 0;
  for (int replay = 0; replay < replays && status == 0; ++replay) {
    state.discard_results();
    status = state.library.graph_launch(graph, nullptr);
    if (status == 0) state.wait();
  }
  state.library.graph_destroy(graph);
  state.library.check(status);
  return state.copy_out();
}

std::vector<StepTime> LoadedBundle::time_steps() {
  State& state = *state_;
  std::vector<StepTime> times;
  const AbiTimingCallback append = [](const AbiStepTiming* timing, void* user) {
    StepTime time;
    time.kernel = timing->kernel;
    time.nodes.assign(timing->nodes, timing->nodes + timing->node_count);
    time.microseconds = timing->microseconds;
    static_cast<std::vector<StepTime>*>(user)->push_back(std::move(time));
  };
  state.library.check(state.library.enqueue_timed(
      state.loaded.context(), nullptr, state.input_pointers.data(), state.output_pointers.data(),
      state.workspace->pointer(), state.workspace->bytes(), append, &times));
  return times;
}

std::vector<ProgramKernels> LoadedBundle::program_kernels() const {
  const auto functions = [](const std::vector<Step>& steps) {
    std::vector<std::string> names;
    for (const Step& step : steps) {
      if (const auto* launch = std::get_if<KernelLaunch>(&step)) names.push_back(launch->function);
    }
    return names;
  };
  std::vector<ProgramKernels> kernels;
  for (const ArchitectureProgram& architecture : state_->program.architectures) {
    if (architecture.architecture != state_->info.architecture) continue;
    for (const ProgramItem& item : architecture.items) {
      kernels.push_back({functions(item.steps), functions(item.twin)});
    }
  }
  return kernels;
}

std::vector<LaunchCounts> LoadedBundle::launch_counts() const {
  return state_->emulator.available() && state_->settings.count ? state_->emulator.launch_counts()
                                                                : std::vector<LaunchCounts>{};
}

std::vector<EmulatorReport> LoadedBundle::reports() const {
  return state_->checks() ? state_->emulator.reports() : std::vector<EmulatorReport>{};
}

std::vector<EmulatorReport> leaked_memory(const RunnerOptions& options) {
  const EmulatorControl emulator(driver_file(options));
  return emulator.available() ? emulator.leaks() : std::vector<EmulatorReport>{};
}

}  // namespace stitch::runtime
