// Library products of a bundle, through the launcher, against sums computed here.
#include <cstring>
#include <span>

#include "emit_cuda/bundle/write_bundle.h"
#include "runtime/runner/loaded_bundle.h"
#include "support/catch.h"
#include "temporary_folder.h"

namespace stitch {
namespace {

using namespace runtime;

// D = A B over batch dims (2, 3) with heads lying side by side in a row, as attention has them:
// A is [2, kM, 3, kK], B is [2, kN, 3, kK] (so each matrix is column major), D is [2, kM, 3, kN].
constexpr std::int64_t kOuter = 2;
constexpr std::int64_t kHeads = 3;
constexpr std::int64_t kM = 5;
constexpr std::int64_t kN = 4;
constexpr std::int64_t kK = 8;

std::vector<float> numbers(std::int64_t count, int step) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) {
    values.push_back(static_cast<float>(i * step % 23) * 0.25F - 2.0F);
  }
  return values;
}

std::uint64_t float_bytes(std::int64_t count) {
  return static_cast<std::uint64_t>(count) * sizeof(float);
}

TensorInfo vector_of(const std::string& name, std::int64_t count) {
  return {name, ElementType::kFloat32, {count}, float_bytes(count)};
}

MatmulCall heads_product() {
  MatmulCall call;
  call.name = "scores";
  call.m = kM;
  call.n = kN;
  call.k = kK;
  call.batch = {{kOuter, kM * kHeads * kK, kN * kHeads * kK, kM * kHeads * kN},
                {kHeads, kK, kK, kN}};
  call.a = {{BufferKind::kInput, 0, 0, float_bytes(kOuter * kM * kHeads * kK)},
            ElementType::kFloat32,
            MatrixOrder::kRowMajor,
            kHeads * kK};
  call.b = {{BufferKind::kInput, 1, 0, float_bytes(kOuter * kN * kHeads * kK)},
            ElementType::kFloat32,
            MatrixOrder::kColumnMajor,
            kHeads * kK};
  call.d = {{BufferKind::kOutput, 0, 0, float_bytes(kOuter * kM * kHeads * kN)},
            ElementType::kFloat32,
            MatrixOrder::kRowMajor,
            kHeads * kN};
  call.alpha = 0.5;
  call.source_nodes = {"/attention/MatMul"};
  return call;
}

BundleContents contents_of(const MatmulCall& call, std::vector<TensorInfo> inputs,
                           TensorInfo output) {
  BundleContents contents;
  contents.manifest.name = "product";
  contents.program.inputs = std::move(inputs);
  contents.program.outputs = {std::move(output)};
  ArchitectureProgram program;
  program.architecture = 80;
  program.items = {{{call}, {}}};
  contents.program.architectures = {program};
  return contents;
}

std::vector<float> run(const BundleContents& contents,
                       const std::vector<std::vector<float>>& inputs) {
  const TemporaryFolder folder;
  write_bundle(contents, folder.path() / "out");
  RunnerOptions options;
  options.driver_file = STITCH_EMULATED_DRIVER;
  options.emulator.check = true;
  LoadedBundle bundle(folder.path() / "out", options);
  std::vector<std::span<const std::byte>> bytes;
  for (const auto& input : inputs) bytes.push_back(std::as_bytes(std::span(input)));
  const auto output = bundle.run(bytes).at(0);
  std::string reports;
  for (const EmulatorReport& report : bundle.reports()) reports += report.text + "\n";
  CHECK(reports == "");
  std::vector<float> values(output.size() / sizeof(float));
  std::memcpy(values.data(), output.data(), output.size());
  return values;
}

}  // namespace

TEST_CASE("heads side by side are one strided batch for each outer index") {
  const auto a = numbers(kOuter * kM * kHeads * kK, 7);
  const auto b = numbers(kOuter * kN * kHeads * kK, 5);
  const auto d = run(contents_of(heads_product(),
                                 {vector_of("a", kOuter * kM * kHeads * kK),
                                  vector_of("b", kOuter * kN * kHeads * kK)},
                                 vector_of("d", kOuter * kM * kHeads * kN)),
                     {a, b});
  const auto at = [](const std::vector<float>& values, std::int64_t outer, std::int64_t rows,
                     std::int64_t row, std::int64_t head, std::int64_t cols, std::int64_t col) {
    return values.at(static_cast<std::size_t>(((outer * rows + row) * kHeads + head) * cols + col));
  };
  for (std::int64_t outer = 0; outer < kOuter; ++outer) {
    for (std::int64_t head = 0; head < kHeads; ++head) {
      for (std::int64_t i = 0; i < kM; ++i) {
        for (std::int64_t j = 0; j < kN; ++j) {
          float sum = 0;
          for (std::int64_t k = 0; k < kK; ++k) {
            sum += at(a, outer, kM, i, head, kK, k) * at(b, outer, kN, j, head, kK, k);
          }
          INFO(outer << ' ' << head << ' ' << i << ' ' << j);
          CHECK(at(d, outer, kM, i, head, kN, j) == 0.5F * sum);  // exact: multiples of 1/16
        }
      }
    }
  }
}

TEST_CASE("another tensor is added to a batch of products at its own strides") {
  // D [3, kM, kN] = A [3, kM, kK] B [3, kK, kN] + C, which lies as [kM, 3, kN].
  MatmulCall call;
  call.name = "residual";
  call.m = kM;
  call.n = kN;
  call.k = kK;
  call.batch = {{kHeads, kM * kK, kK * kN, kM * kN, kN}};
  const auto matrix = [](BufferKind kind, std::uint32_t index, std::int64_t count,
                         std::int64_t leading) {
    return MatrixLayout{{kind, index, 0, float_bytes(count)},
                        ElementType::kFloat32,
                        MatrixOrder::kRowMajor,
                        leading};
  };
  call.a = matrix(BufferKind::kInput, 0, kHeads * kM * kK, kK);
  call.b = matrix(BufferKind::kInput, 1, kHeads * kK * kN, kN);
  call.c = matrix(BufferKind::kInput, 2, kM * kHeads * kN, kHeads * kN);
  call.d = matrix(BufferKind::kOutput, 0, kHeads * kM * kN, kN);
  call.beta = 1;
  const auto a = numbers(kHeads * kM * kK, 7), b = numbers(kHeads * kK * kN, 5),
             c = numbers(kM * kHeads * kN, 3);
  const auto d =
      run(contents_of(call,
                      {vector_of("a", kHeads * kM * kK), vector_of("b", kHeads * kK * kN),
                       vector_of("c", kM * kHeads * kN)},
                      vector_of("d", kHeads * kM * kN)),
          {a, b, c});
  for (std::size_t head = 0; head < kHeads; ++head) {
    for (std::size_t i = 0; i < kM; ++i) {
      for (std::size_t j = 0; j < kN; ++j) {
        float sum = c[(i * kHeads + head) * kN + j];
        for (std::size_t k = 0; k < kK; ++k) {
          sum += a[(head * kM + i) * kK + k] * b[(head * kK + k) * kN + j];
        }
        INFO(head << ' ' << i << ' ' << j);
        CHECK(d.at((head * kM + i) * kN + j) == sum);  // exact: multiples of 1/16
      }
    }
  }
}

TEST_CASE("a bias is added to every row of a product") {
  const auto bias = numbers(kN, 3);
  const auto b = numbers(kK * kN, 5);
  MatmulCall call;
  call.name = "dense";
  call.m = kM;
  call.n = kN;
  call.k = kK;
  call.a = {{BufferKind::kInput, 0, 0, float_bytes(kM * kK)},
            ElementType::kFloat32,
            MatrixOrder::kRowMajor,
            kK};
  call.b = {{BufferKind::kWeights, 0, 0, float_bytes(kK * kN)},
            ElementType::kFloat32,
            MatrixOrder::kRowMajor,
            kN};
  call.d = {{BufferKind::kOutput, 0, 0, float_bytes(kM * kN)},
            ElementType::kFloat32,
            MatrixOrder::kRowMajor,
            kN};
  call.epilogue = Epilogue::kBias;
  call.bias = {BufferKind::kWeights, 1, 0, float_bytes(kN)};
  BundleContents contents = contents_of(call, {vector_of("a", kM * kK)}, vector_of("d", kM * kN));
  contents.weights = {{std::as_bytes(std::span(b)), {}}, {std::as_bytes(std::span(bias)), {}}};
  const auto a = numbers(kM * kK, 7);
  const auto d = run(contents, {a});
  for (std::size_t i = 0; i < kM; ++i) {
    for (std::size_t j = 0; j < kN; ++j) {
      float sum = bias[j];
      for (std::size_t k = 0; k < kK; ++k) sum += a[i * kK + k] * b[k * kN + j];
      CHECK(d.at(i * kN + j) == sum);
    }
  }
}

}  // namespace stitch
