#include "runtime/program_check.h"

#include <string>

#include "runtime/launcher_error.h"

namespace STITCH_RUNTIME_NAMESPACE {
namespace {

constexpr std::uint64_t kMaxThreadsPerBlock = 1024;

// Checks the steps of one architecture's program.
class StepChecker {
 public:
  StepChecker(const LaunchProgram& program, const ArchitectureProgram& architecture)
      : program_(program), architecture_(architecture) {}

  void check(const Step& step) {
    title_ = step_title(step);
    std::visit([this](const auto& alternative) { check_step(alternative); }, step);
  }

  void check_range(const BufferRef& ref, const std::string& what) const {
    const std::uint64_t memory = memory_bytes(ref, what);
    if (ref.offset > memory || ref.bytes > memory - ref.offset) {
      fail(what + " reaches byte " + std::to_string(ref.offset + ref.bytes) + " of " +
           std::to_string(memory));
    }
  }

 private:
  void check_step(const KernelLaunch& launch) const {
    if (launch.unit >= architecture_.unit_count) {
      fail("unit " + std::to_string(launch.unit) + " of " +
           std::to_string(architecture_.unit_count));
    }
    const std::uint64_t threads = std::uint64_t{launch.block.x} * launch.block.y * launch.block.z;
    if (threads == 0 || threads > kMaxThreadsPerBlock) {
      fail("a block of " + std::to_string(threads) + " threads");
    }
    if (launch.grid.x == 0 || launch.grid.y == 0 || launch.grid.z == 0) fail("an empty grid");
    if (launch.cluster_size == 0 || launch.grid.x % launch.cluster_size != 0) {
      fail("a grid that is no multiple of the cluster of " + std::to_string(launch.cluster_size));
    }
    std::size_t number = 0;
    for (const KernelArgument& argument : launch.arguments) {
      const std::string what = "argument " + std::to_string(number++);
      if (const auto* ref = std::get_if<BufferRef>(&argument)) {
        check_range(*ref, what);
      } else if (const std::uint32_t bytes = std::get<ScalarValue>(argument).bytes;
                 bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8) {
        fail(what + " is a scalar of " + std::to_string(bytes) + " bytes");
      }
    }
  }

  void check_step(const MatmulCall& call) const {
    if (call.m <= 0 || call.n <= 0 || call.k <= 0) fail("an empty matrix");
    check_range(call.a.buffer, "operand a");
    check_range(call.b.buffer, "operand b");
    check_range(call.d.buffer, "result d");
    check_range(call.workspace, "workspace");
    if (call.beta != 0.0) {
      check_range(call.c.buffer, "operand c");
      if (call.c.order != call.d.order || call.c.type != call.d.type) {
        fail("operand c is not stored as the result is");
      }
    }
    if (call.epilogue == Epilogue::kNone) return;
    check_range(call.bias, "bias");
    if (call.d.order == MatrixOrder::kColumnMajor) fail("a bias needs a row-major result");
  }

  void check_step(const Memset& memset) const { check_range(memset.buffer, "its buffer"); }

  std::uint64_t memory_bytes(const BufferRef& ref, const std::string& what) const {
    switch (ref.kind) {
      case BufferKind::kInput:
        if (ref.index < program_.inputs.size()) return program_.inputs[ref.index].bytes;
        break;
      case BufferKind::kOutput:
        if (ref.index < program_.outputs.size()) return program_.outputs[ref.index].bytes;
        break;
      case BufferKind::kWorkspace:
        return architecture_.workspace_bytes;
      case BufferKind::kWeights:
        if (ref.index < program_.weights_segments.size()) {
          return program_.weights_segments[ref.index].bytes;
        }
        break;
    }
    fail(what + " names buffer " + std::to_string(ref.index) + " that does not exist");
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw LauncherError(Status::kInternal, "launch program of sm_" +
                                               std::to_string(architecture_.architecture) + ", " +
                                               title_ + ": " + what);
  }

  const LaunchProgram& program_;
  const ArchitectureProgram& architecture_;
  std::string title_ = "barrier counters";
};

void check_architecture(const LaunchProgram& program, const ArchitectureProgram& architecture) {
  StepChecker checker(program, architecture);
  checker.check_range(BufferRef{BufferKind::kWorkspace, 0, architecture.counters.offset,
                                architecture.counters.bytes},
                      "range");
  for (const ProgramItem& item : architecture.items) {
    for (const Step& step : item.steps) checker.check(step);
    for (const Step& step : item.twin) checker.check(step);
  }
}

}  // namespace

void check_program(const LaunchProgram& program) {
  for (const ByteRange& segment : program.weights_segments) {
    if (segment.offset > program.weights_bytes ||
        segment.bytes > program.weights_bytes - segment.offset) {
      throw LauncherError(Status::kInternal, "launch program: a weights segment reaches byte " +
                                                 std::to_string(segment.offset + segment.bytes) +
                                                 " of " + std::to_string(program.weights_bytes));
    }
  }
  for (const ArchitectureProgram& architecture : program.architectures) {
    check_architecture(program, architecture);
  }
}

std::string step_title(const Step& step) {
  struct Title {
    std::string operator()(const KernelLaunch& launch) const {
      return "kernel '" + launch.function + "'";
    }
    std::string operator()(const MatmulCall& call) const { return "matmul '" + call.name + "'"; }
    std::string operator()(const Memset&) const { return "memset"; }
  };
  return std::visit(Title{}, step);
}

}  // namespace STITCH_RUNTIME_NAMESPACE
