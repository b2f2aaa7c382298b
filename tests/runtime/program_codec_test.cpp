#include "runtime/program_codec.h"

#include "runtime/launcher_error.h"
#include "runtime/program_check.h"
#include "sample_program.h"
#include "support/catch.h"

namespace stitch {
namespace {

using namespace runtime;

// Every kind of step, argument and list.
LaunchProgram rich_program() {
  LaunchProgram program = sample_program();
  program.weights_segments = {{0, 1024}, {1024, 64}};
  program.weights_bytes = 4096;
  program.weights_hash = "0f";
  MatmulCall call;
  call.name = "dense";
  call.m = 4;
  call.n = 16;
  call.k = 8;
  call.batch = {{2, 1, 2, 3, 4}, {5, 0, 7, 9, 11}};
  call.a = {{BufferKind::kInput, 0, 0, 128}, ElementType::kFloat16, MatrixOrder::kColumnMajor, 4};
  call.b = {{BufferKind::kWeights, 0, 16, 256}, ElementType::kFloat16, MatrixOrder::kRowMajor, 16};
  call.c = {{BufferKind::kWorkspace, 0, 0, 128}, ElementType::kFloat16, MatrixOrder::kRowMajor, 16};
  call.d = {{BufferKind::kOutput, 0, 0, 128}, ElementType::kFloat16, MatrixOrder::kRowMajor, 16};
  call.beta = 1;
  call.alpha = 0.125;
  call.compute = ComputeType::kTf32;
  call.epilogue = Epilogue::kBias;
  call.bias = {BufferKind::kWeights, 1, 0, 32};
  call.source_nodes = {"/dense/MatMul", "/dense/Add"};
  program.architectures[0].items.push_back(
      {{call, Memset{{BufferKind::kWorkspace, 0, 0, 64}, 0xff}}, {}});
  return program;
}

std::string failure(const std::string& bytes) {
  try {
    decode_program(bytes.data(), bytes.size());
  } catch (const LauncherError& error) {
    CHECK(error.status() == Status::kInternal);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a launch program survives the way through bytes") {
  const std::string bytes = encode_program(rich_program());
  const LaunchProgram decoded = decode_program(bytes.data(), bytes.size());
  CHECK(encode_program(decoded) == bytes);
  CHECK(decoded.inputs[0].dims == std::vector<std::int64_t>{4, 16});
  REQUIRE(decoded.architectures.size() == 2);
  const auto& items = decoded.architectures[0].items;
  REQUIRE(items.size() == 3);
  CHECK(items[1].twin.size() == 2);
  const auto& call = std::get<MatmulCall>(items[2].steps[0]);
  CHECK(call.alpha == 0.125);
  CHECK(call.batch[1].stride_d == 9);
  CHECK(call.batch[1].stride_c == 11);
  CHECK(call.c.leading_dimension == 16);
  CHECK(call.a.order == MatrixOrder::kColumnMajor);
  CHECK(call.bias.index == 1);
  CHECK(call.source_nodes[1] == "/dense/Add");
  CHECK(std::get<Memset>(items[2].steps[1]).value == 0xff);
  const auto& launch = std::get<KernelLaunch>(items[0].steps[0]);
  CHECK(std::get<ScalarValue>(launch.arguments[2]).bits == 7);
}

TEST_CASE("bytes cut short at any place are refused") {
  const std::string bytes = encode_program(rich_program());
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    INFO("length " << length);
    CHECK(failure(bytes.substr(0, length)) != "");
  }
  CHECK(failure(bytes + "x") == "launch program: bytes left over");
}

TEST_CASE("bytes of something else are refused") {
  std::string bytes = encode_program(sample_program());
  CHECK(failure("GIF89a..............") == "launch program: not one");
  bytes[8] = 9;
  CHECK(failure(bytes) == "launch program: format version 9, this launcher reads 2");
}

TEST_CASE("a program that leaves its memory is refused with the place") {
  LaunchProgram program = rich_program();
  const auto failure_of = [&program] {
    try {
      check_program(program);
    } catch (const LauncherError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  auto& first = std::get<KernelLaunch>(program.architectures[0].items[0].steps[0]);
  REQUIRE(failure_of() == "");

  SECTION("an argument") {
    first.arguments[1] = BufferRef{BufferKind::kOutput, 0, 4, 256};
    CHECK(failure_of() ==
          "launch program of sm_80, kernel 'first': argument 1 reaches byte 260 of 256");
  }
  SECTION("an offset that would wrap around") {
    first.arguments[1] = BufferRef{BufferKind::kOutput, 0, ~std::uint64_t{0}, 2};
    CHECK(failure_of() ==
          "launch program of sm_80, kernel 'first': argument 1 reaches byte 1 of 256");
  }
  SECTION("a buffer that does not exist") {
    first.arguments[0] = BufferRef{BufferKind::kInput, 3, 0, 4};
    CHECK(failure_of() ==
          "launch program of sm_80, kernel 'first': argument 0 names buffer 3 that does not exist");
  }
  SECTION("a scalar") {
    first.arguments[2] = ScalarValue{0, 3};
    CHECK(failure_of() ==
          "launch program of sm_80, kernel 'first': argument 2 is a scalar of 3 bytes");
  }
  SECTION("geometry") {
    first.block.y = 64;
    CHECK(failure_of() == "launch program of sm_80, kernel 'first': a block of 4096 threads");
    first.block = {32, 1, 1};
    first.cluster_size = 3;
    CHECK(failure_of() ==
          "launch program of sm_80, kernel 'first': a grid that is no multiple of the cluster of "
          "3");
  }
  SECTION("a unit") {
    first.unit = 1;
    CHECK(failure_of() == "launch program of sm_80, kernel 'first': unit 1 of 1");
  }
  SECTION("a bias on a column-major result") {
    auto& call = std::get<MatmulCall>(program.architectures[0].items[2].steps[0]);
    call.c.order = call.d.order = MatrixOrder::kColumnMajor;
    CHECK(failure_of() ==
          "launch program of sm_80, matmul 'dense': a bias needs a row-major result");
  }
  SECTION("what is added in another order than the result") {
    std::get<MatmulCall>(program.architectures[0].items[2].steps[0]).c.order =
        MatrixOrder::kColumnMajor;
    CHECK(failure_of() ==
          "launch program of sm_80, matmul 'dense': operand c is not stored as the result is");
  }
  SECTION("barrier counters") {
    program.architectures[1].counters = {200, 100};
    CHECK(failure_of() ==
          "launch program of sm_90, barrier counters: range reaches byte 300 of 256");
  }
  SECTION("weights") {
    program.weights_bytes = 1000;
    CHECK(failure_of() == "launch program: a weights segment reaches byte 1024 of 1000");
  }
}

}  // namespace stitch
