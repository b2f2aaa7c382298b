// Products through the stand-in for cuBLASLt, against sums in double.
#include <cmath>
#include <cstring>

#include "emulated_device.h"
#include "emulator/blas/cublaslt_abi.h"
#include "emulator/blas/descriptors.h"
#include "emulator/blas/element_conversion.h"
#include "support/catch.h"

namespace lt = stitch::emulator::lt;
using stitch::emulator::element_bytes;
using stitch::emulator::MatmulDescriptor;
using stitch::emulator::MatrixLayout;

struct StitchLtHandle;
struct StitchLtPreference;
extern "C" {
lt::Status cublasLtCreate(StitchLtHandle**);
lt::Status cublasLtDestroy(StitchLtHandle*);
lt::Status cublasLtMatmulDescCreate(MatmulDescriptor**, lt::ComputeType, lt::DataType);
lt::Status cublasLtMatmulDescDestroy(MatmulDescriptor*);
lt::Status cublasLtMatmulDescSetAttribute(MatmulDescriptor*, lt::MatmulAttribute, const void*,
                                          std::size_t);
lt::Status cublasLtMatrixLayoutCreate(MatrixLayout**, lt::DataType, std::uint64_t, std::uint64_t,
                                      std::int64_t);
lt::Status cublasLtMatrixLayoutDestroy(MatrixLayout*);
lt::Status cublasLtMatrixLayoutSetAttribute(MatrixLayout*, lt::LayoutAttribute, const void*,
                                            std::size_t);
lt::Status cublasLtMatmul(StitchLtHandle*, MatmulDescriptor*, const void*, const void*,
                          MatrixLayout*, const void*, MatrixLayout*, const void*, const void*,
                          MatrixLayout*, void*, MatrixLayout*, const lt::Algorithm*, void*,
                          std::size_t, CUstream);
}

namespace stitch::test {
namespace {

struct Operand {
  MatrixLayout layout;
  std::vector<unsigned char> bytes;

  std::size_t place(std::uint64_t row, std::uint64_t column, std::int64_t batch) const {
    const auto ld = static_cast<std::uint64_t>(layout.leading_dimension);
    const std::uint64_t inside =
        layout.order == lt::kColumnMajor ? column * ld + row : row * ld + column;
    return (static_cast<std::uint64_t>(batch * layout.batch_stride) + inside) *
           element_bytes(layout.type);
  }
  double at(std::uint64_t row, std::uint64_t column, std::int64_t batch) const {
    return emulator::load_element(layout.type, bytes.data() + place(row, column, batch));
  }
};

Operand make_operand(lt::DataType type, std::uint64_t rows, std::uint64_t columns, int order,
                     std::int32_t batches, unsigned seed) {
  constexpr std::int64_t kPadding = 4;
  Operand operand;
  operand.layout.type = type;
  operand.layout.rows = rows;
  operand.layout.columns = columns;
  operand.layout.order = order;
  const std::uint64_t inner = order == lt::kColumnMajor ? rows : columns;
  const std::uint64_t outer = order == lt::kColumnMajor ? columns : rows;
  operand.layout.leading_dimension = static_cast<std::int64_t>(inner) + kPadding;
  operand.layout.batch_count = batches;
  operand.layout.batch_stride = operand.layout.leading_dimension * static_cast<std::int64_t>(outer);
  const auto elements =
      static_cast<std::size_t>(operand.layout.batch_stride) * static_cast<std::size_t>(batches);
  operand.bytes.resize(elements * element_bytes(type));
  std::uint64_t state = seed * 0x9e3779b97f4a7c15ull + 1;
  for (std::size_t i = 0; i < elements; ++i) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    const double value = type == lt::kR8I
                             ? static_cast<double>(static_cast<std::int64_t>(state >> 57) - 64)
                             : static_cast<double>(state >> 40) / (1 << 24) - 0.5;
    emulator::store_element(type, operand.bytes.data() + i * element_bytes(type), value);
  }
  return operand;
}

struct Case {
  lt::ComputeType compute;
  lt::DataType scale, in, out;
  lt::Operation trans_a, trans_b;
  int order_a, order_b, order_d;
  std::uint32_t epilogue;
  double alpha, beta;
  double tolerance;
};

MatrixLayout* handle(MatrixLayout& layout) { return &layout; }

void run_case(const Case& c) {
  constexpr std::uint64_t kM = 24, kN = 12, kK = 32;
  constexpr std::int32_t kBatches = 3;
  const auto operand = [&](lt::Operation op, std::uint64_t rows, std::uint64_t columns, int order,
                           unsigned seed) {
    return op == lt::kNone ? make_operand(c.in, rows, columns, order, kBatches, seed)
                           : make_operand(c.in, columns, rows, order, kBatches, seed);
  };
  Operand a = operand(c.trans_a, kM, kK, c.order_a, 1);
  Operand b = operand(c.trans_b, kK, kN, c.order_b, 2);
  Operand d = make_operand(c.out, kM, kN, c.order_d, kBatches, 3);
  const Operand before = d;
  const Operand bias = make_operand(c.out, kM, 1, lt::kColumnMajor, 1, 4);

  const DeviceBuffer a_memory = DeviceBuffer::holding(a.bytes);
  const DeviceBuffer b_memory = DeviceBuffer::holding(b.bytes);
  const DeviceBuffer d_memory = DeviceBuffer::holding(d.bytes);
  const DeviceBuffer bias_memory = DeviceBuffer::holding(bias.bytes);

  StitchLtHandle* library = nullptr;
  REQUIRE(cublasLtCreate(&library) == lt::kSuccess);
  MatmulDescriptor* operation = nullptr;
  REQUIRE(cublasLtMatmulDescCreate(&operation, c.compute, c.scale) == lt::kSuccess);
  const auto set = [&](lt::MatmulAttribute attribute, const auto& value) {
    REQUIRE(cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof value) ==
            lt::kSuccess);
  };
  set(lt::kMatmulTransA, c.trans_a);
  set(lt::kMatmulTransB, c.trans_b);
  set(lt::kMatmulEpilogue, c.epilogue);
  const CUdeviceptr bias_pointer = bias_memory.pointer();
  set(lt::kMatmulBiasPointer, bias_pointer);
  unsigned char alpha[8] = {}, beta[8] = {};
  emulator::store_element(c.scale, alpha, c.alpha);
  emulator::store_element(c.scale, beta, c.beta);
  const auto pointer = [](const DeviceBuffer& buffer) {
    return reinterpret_cast<void*>(buffer.pointer());
  };
  REQUIRE(cublasLtMatmul(library, operation, alpha, pointer(a_memory), handle(a.layout),
                         pointer(b_memory), handle(b.layout), beta, pointer(d_memory),
                         handle(d.layout), pointer(d_memory), handle(d.layout), nullptr, nullptr, 0,
                         nullptr) == lt::kSuccess);
  cublasLtMatmulDescDestroy(operation);
  cublasLtDestroy(library);
  d.bytes = d_memory.read<unsigned char>();

  for (std::int64_t batch = 0; batch < kBatches; ++batch)
    for (std::uint64_t row = 0; row < kM; ++row)
      for (std::uint64_t column = 0; column < kN; ++column) {
        double sum = 0.0;
        for (std::uint64_t k = 0; k < kK; ++k)
          sum += (c.trans_a == lt::kNone ? a.at(row, k, batch) : a.at(k, row, batch)) *
                 (c.trans_b == lt::kNone ? b.at(k, column, batch) : b.at(column, k, batch));
        double expected = c.alpha * sum + c.beta * before.at(row, column, batch);
        if ((c.epilogue & lt::kBias) != 0) expected += bias.at(row, 0, 0);
        if ((c.epilogue & lt::kRelu) != 0) expected = std::fmax(expected, 0.0);
        const double found = d.at(row, column, batch);
        if (std::fabs(found - expected) > c.tolerance * std::fmax(1.0, std::fabs(expected)))
          FAIL("element " << row << ", " << column << " of batch " << batch << " is " << found
                          << " instead of " << expected);
      }
}

}  // namespace

TEST_CASE("products of every type, order and transposition agree with sums in double") {
  start({true});
  struct Types {
    lt::ComputeType compute;
    lt::DataType scale, in, out;
    double tolerance;
  };
  const Types types[] = {
      {lt::kCompute32F, lt::kR32F, lt::kR32F, lt::kR32F, 1e-6},
      {lt::kCompute32FFastTf32, lt::kR32F, lt::kR32F, lt::kR32F, 4e-3},
      {lt::kCompute64F, lt::kR64F, lt::kR64F, lt::kR64F, 1e-14},
      {lt::kCompute32F, lt::kR32F, lt::kR16F, lt::kR16F, 1e-3},
      {lt::kCompute32F, lt::kR32F, lt::kR16F, lt::kR32F, 1e-6},
      {lt::kCompute32F, lt::kR32F, lt::kR16BF, lt::kR16BF, 8e-3},
      {lt::kCompute16F, lt::kR16F, lt::kR16F, lt::kR16F, 2e-3},
  };
  for (const Types& t : types)
    for (const lt::Operation trans_a : {lt::kNone, lt::kTranspose})
      for (const lt::Operation trans_b : {lt::kNone, lt::kTranspose})
        for (const int orders : {0, 1, 2, 4, 7}) {
          INFO("types " << t.in << " to " << t.out << ", orders " << orders);
          run_case({t.compute, t.scale, t.in, t.out, trans_a, trans_b, orders & 1, orders >> 1 & 1,
                    orders >> 2 & 1, lt::kDefault, 1.0, 0.0, t.tolerance});
        }
  for (const ReportView& report : reports()) UNSCOPED_INFO(report.text);
  REQUIRE(reports().empty());
}

TEST_CASE("scales, accumulation, bias and activation are applied in this order") {
  start({true});
  run_case({lt::kCompute32F, lt::kR32F, lt::kR32F, lt::kR32F, lt::kNone, lt::kNone, 0, 0, 0,
            lt::kBias | lt::kRelu, 0.5, 2.0, 1e-6});
  run_case({lt::kCompute32F, lt::kR32F, lt::kR16F, lt::kR16F, lt::kTranspose, lt::kNone, 0, 0, 0,
            lt::kBias, 1.0, 0.0, 1e-3});
  REQUIRE(reports().empty());
}

TEST_CASE("integer products are exact") {
  start({true});
  run_case({lt::kCompute32I, lt::kR32I, lt::kR8I, lt::kR32I, lt::kTranspose, lt::kNone, 0, 0, 0,
            lt::kDefault, 1.0, 0.0, 0.0});
}

TEST_CASE("a product that reaches outside or reads undefined memory is reported") {
  start({true});
  Operand a = make_operand(lt::kR32F, 8, 8, lt::kColumnMajor, 1, 1);
  const DeviceBuffer small = DeviceBuffer::holding(std::vector<float>(10));
  const DeviceBuffer undefined(a.bytes.size()), d(a.bytes.size());
  StitchLtHandle* library = nullptr;
  MatmulDescriptor* operation = nullptr;
  REQUIRE(cublasLtCreate(&library) == lt::kSuccess);
  REQUIRE(cublasLtMatmulDescCreate(&operation, lt::kCompute32F, lt::kR32F) == lt::kSuccess);
  const float one = 1.0f, zero = 0.0f;
  const auto pointer = [](const DeviceBuffer& buffer) {
    return reinterpret_cast<void*>(buffer.pointer());
  };
  const auto multiply = [&](const DeviceBuffer& left) {
    return cublasLtMatmul(library, operation, &one, pointer(left), &a.layout, pointer(undefined),
                          &a.layout, &zero, pointer(d), &a.layout, pointer(d), &a.layout, nullptr,
                          nullptr, 0, nullptr);
  };
  CHECK(multiply(small) == lt::kExecutionFailed);
  REQUIRE(!reports().empty());
  CHECK(reports()[0].kind == "out of bounds");
  CHECK(reports()[0].text.find("operand A") != std::string::npos);
  stitch_emulator_clear_reports();
  CHECK(multiply(undefined) == lt::kSuccess);
  REQUIRE(reports().size() == 2);
  CHECK(reports()[0].kind == "undefined read");
  cublasLtMatmulDescDestroy(operation);
  cublasLtDestroy(library);
}

TEST_CASE("16-bit conversion rounds to nearest even and keeps special values") {
  const auto round_trip = [](lt::DataType type, double value) {
    unsigned char bytes[8] = {};
    emulator::store_element(type, bytes, value);
    return emulator::load_element(type, bytes);
  };
  CHECK(round_trip(lt::kR16F, 1.0 + 0x1p-11) == 1.0);             // a tie goes to even
  CHECK(round_trip(lt::kR16F, 1.0 + 0x1.8p-10) == 1.0 + 0x1p-9);  // and here upwards
  CHECK(round_trip(lt::kR16F, 65519.0) == 65504.0);
  CHECK(std::isinf(round_trip(lt::kR16F, 65520.0)));
  CHECK(round_trip(lt::kR16F, 0x1p-24) == 0x1p-24);  // the smallest subnormal
  CHECK(round_trip(lt::kR16F, 0x1p-25) == 0.0);
  CHECK(round_trip(lt::kR16F, 0x1.ffcp-15) == 0x1p-14);  // a tie goes to the smallest normal
  CHECK(std::isnan(round_trip(lt::kR16F, std::nan(""))));
  CHECK(round_trip(lt::kR16BF, 1.0 + 0x1p-8) == 1.0);
  CHECK(round_trip(lt::kR16BF, 1.0 + 0x1p-8 + 0x1p-40) == 1.0 + 0x1p-7);  // not rounded twice
  CHECK(round_trip(lt::kR16BF, -3.0) == -3.0);
}

}  // namespace stitch::test
