#include "sample_program.h"

#include <dlfcn.h>

#include <stdexcept>

#include "runtime/program_codec.h"

namespace stitch {
namespace {

using namespace runtime;

KernelLaunch kernel(const std::string& name) {
  KernelLaunch launch;
  launch.function = name;
  launch.grid.x = 4;
  launch.block.x = 64;
  launch.arguments = {BufferRef{BufferKind::kInput, 0, 0, 256},
                      BufferRef{BufferKind::kOutput, 0, 0, 256}, ScalarValue{7, 4}};
  launch.source_nodes = {"/" + name + "/Add"};
  return launch;
}

ArchitectureProgram sample_architecture(std::uint32_t architecture) {
  ArchitectureProgram program;
  program.architecture = architecture;
  program.unit_count = 1;
  program.workspace_bytes = 256;
  program.counters = {128, 64};
  KernelLaunch second = kernel("second");
  second.grid.x = 100;
  second.cooperative = true;
  second.min_coresident_blocks = 100;
  program.items = {{{kernel("first")}, {}}, {{second}, {kernel("twin_a"), kernel("twin_b")}}};
  return program;
}

void* mock_symbol(const char* name) {
  void* library = dlopen(STITCH_MOCK_DRIVER, RTLD_NOW | RTLD_LOCAL);
  void* symbol = library == nullptr ? nullptr : dlsym(library, name);
  if (symbol == nullptr) throw std::runtime_error("the mock driver cannot be opened");
  return symbol;
}

}  // namespace

LaunchProgram sample_program() {
  LaunchProgram program;
  program.model_name = "sample";
  program.inputs = {{"x", ElementType::kFloat32, {4, 16}, 256}};
  program.outputs = {{"y", ElementType::kFloat32, {64}, 256}};
  program.architectures = {sample_architecture(80), sample_architecture(90)};
  program.architectures[0].images = {{ImageKind::kCubin, 0, 0, 8}, {ImageKind::kPtx, 0, 16, 8}};
  program.architectures[1].images = {{ImageKind::kCubin, 0, 32, 8}};
  return program;
}

MockBundle::MockBundle(const LaunchProgram& program) : program_(encode_program(program)) {
  for (const char* image : {"cubin 80", "ptx 80", "cubin 90"}) {
    std::string padded = image;
    padded.resize(16, '\0');
    images_ += padded;
  }
}

LinkedBundle MockBundle::linked() const {
  const auto* begin = reinterpret_cast<const unsigned char*>(program_.data());
  return {begin, begin + program_.size(), reinterpret_cast<const unsigned char*>(images_.data())};
}

AbiOptions mock_options() {
  AbiOptions options = {};
  options.struct_size = sizeof(options);
  options.driver_file = STITCH_MOCK_DRIVER;
  return options;
}

MockState& fresh_mock() {
  reinterpret_cast<decltype(&mock_reset)>(mock_symbol("mock_reset"))();
  MockState& state = *reinterpret_cast<decltype(&mock_state)>(mock_symbol("mock_state"))();
  state.device_name = "NVIDIA A100-SXM4-80GB";
  state.major = 8;
  state.minor = 0;
  state.multiprocessors = 108;
  return state;
}

std::string last_failure() {
  std::int32_t status = 0;
  const std::string text = last_error(&status);
  return std::to_string(status) + ": " + text;
}

MockModel::MockModel(const MockBundle& bundle, const AbiOptions& options) {
  status_ = create_model(bundle.linked(), &options, &model_);
  if (status_ == 0) status_ = create_context(model_, &context_);
}

MockModel::~MockModel() {
  destroy_context(context_);
  destroy_model(model_);
}

std::int32_t MockModel::enqueue() {
  SampleBuffers buffers;
  return runtime::enqueue(context_, nullptr, buffers.inputs, buffers.outputs, buffers.workspace,
                          sizeof(buffers.workspace));
}

}  // namespace stitch
