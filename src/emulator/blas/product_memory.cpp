#include "emulator/blas/product_memory.h"

#include <cblas.h>

#include <algorithm>
#include <string>
#include <thread>

#include "emulator/blas/element_conversion.h"
#include "emulator/blas/product.h"

namespace stitch::emulator {
namespace {

constexpr const char* kName = "cublasLtMatmul";

// The lines (columns, of a row-major matrix rows) of all matrices of a batch, as byte ranges.
template <class Visit>
void visit_lines(const MatrixLayout& m, const unsigned char* data, Visit visit) {
  const bool row_major = m.order == lt::kRowMajor;
  const std::size_t element = element_bytes(m.type);
  const std::size_t bytes = (row_major ? m.columns : m.rows) * element;
  const std::uint64_t lines = row_major ? m.rows : m.columns;
  const auto stride = m.leading_dimension * static_cast<std::int64_t>(element);
  const std::int64_t batches = m.batch_stride == 0 ? 1 : m.batch_count;
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    const unsigned char* const first =
        data + batch * m.batch_stride * static_cast<std::int64_t>(element);
    for (std::uint64_t line = 0; line < lines; ++line)
      visit(first + static_cast<std::int64_t>(line) * stride, bytes);
  }
}

void report(DeviceState& state, ReportKind kind, const std::string& message) {
  state.log.add({kind, kName, message, {}, {}, {}, {}});
}

// Whether a line is inside one allocation and, where it has ranges, inside one of them.
bool inside(const DeviceState& state, const unsigned char* line, std::size_t bytes) {
  const Allocation* const allocation = state.memory->find_whole(line, bytes);
  if (allocation == nullptr) return false;
  if (allocation->ranges.empty()) return true;
  const auto offset = static_cast<std::size_t>(line - allocation->begin);
  return std::any_of(
      allocation->ranges.begin(), allocation->ranges.end(), [&](const NamedRange& range) {
        return offset >= range.offset && offset + bytes <= range.offset + range.bytes;
      });
}

bool check_bounds(DeviceState& state, const MatrixLayout& m, const unsigned char* data,
                  const char* operand) {
  bool whole = true;
  visit_lines(m, data, [&](const unsigned char* line, std::size_t bytes) {
    if (!whole || inside(state, line, bytes)) return;
    whole = false;
    const Allocation* const near = state.memory->find(line);
    report(state, ReportKind::kOutOfBounds,
           std::string(operand) + " reaches outside at " +
               (near != nullptr ? near->describe(line) : "an address that is not device memory"));
  });
  return whole;
}

void check_defined(DeviceState& state, const MatrixLayout& m, const unsigned char* data,
                   const char* operand) {
  std::size_t undefined = 0;
  std::string first;
  visit_lines(m, data, [&](const unsigned char* line, std::size_t bytes) {
    const Allocation* const allocation = state.memory->find_whole(line, bytes);
    const auto offset = static_cast<std::size_t>(line - allocation->begin);
    const std::size_t here = allocation->shadow.undefined_bytes(offset, bytes);
    if (here != 0 && undefined == 0) first = allocation->describe(line);
    undefined += here;
  });
  if (undefined != 0)
    report(state, ReportKind::kUndefinedRead,
           std::string(operand) + " holds " + std::to_string(undefined) +
               " bytes that nothing has written, first in the line at " + first);
}

// One row per element of D's rows.
MatrixLayout bias_layout(const Product& p) {
  MatrixLayout layout;
  layout.type = p.operation.bias_type < 0 ? p.d_layout.type
                                          : static_cast<lt::DataType>(p.operation.bias_type);
  layout.rows = p.d_layout.rows;
  layout.columns = 1;
  layout.leading_dimension = static_cast<std::int64_t>(layout.rows);
  layout.batch_count = p.d_layout.batch_count;
  layout.batch_stride = p.operation.bias_batch_stride;
  return layout;
}

// More threads than processors only take turns; tools that run several at once share what is there.
void limit_threads() {
  static const bool kDone = [] {
    openblas_set_num_threads(static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
    return true;
  }();
  (void)kDone;
}

}  // namespace

CUresult run_product(DeviceState& state, const Product& p) {
  ++state.calls.matmuls;
  struct Read {
    const MatrixLayout layout;
    const unsigned char* data;
    const char* name;
  };
  std::vector<Read> reads = {{p.a_layout, p.a, "operand A"}, {p.b_layout, p.b, "operand B"}};
  if (p.beta != 0.0) reads.push_back({p.c_layout, p.c, "operand C"});
  if ((p.operation.epilogue & lt::kBias) != 0)
    reads.push_back({bias_layout(p), static_cast<const unsigned char*>(p.operation.bias), "bias"});

  bool whole = check_bounds(state, p.d_layout, p.d, "result D");
  for (const Read& read : reads)
    whole = check_bounds(state, read.layout, read.data, read.name) && whole;
  if (whole && state.settings.check)
    for (const Read& read : reads) check_defined(state, read.layout, read.data, read.name);
  state.keep_reports();
  if (!whole) return CUDA_ERROR_ILLEGAL_ADDRESS;

  limit_threads();
  compute_product(p);
  if (state.settings.check)
    visit_lines(p.d_layout, p.d, [&](const unsigned char* line, std::size_t bytes) {
      Allocation* const allocation = state.memory->find_whole(line, bytes);
      allocation->shadow.define(static_cast<std::size_t>(line - allocation->begin), bytes);
    });
  return CUDA_SUCCESS;
}

}  // namespace stitch::emulator
