// TfIdfVectorizer on integers: counts of n-grams.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "frontend/node_context.h"
#include "frontend/operator_table.h"
#include "graph/error.h"

namespace stitch {
namespace {

struct NGram {
  std::vector<int64_t> tokens;
  int64_t column = 0;
  double weight = 1;
};

// The pool lists all n-grams of length 1, then 2 ...; ngram_counts says where each length starts.
std::vector<NGram> pool_of(NodeContext& n) {
  const std::vector<int64_t> pool = n.integers("pool_int64s");
  const std::vector<int64_t> starts = n.integers("ngram_counts");
  const std::vector<int64_t> columns = n.integers("ngram_indexes");
  const std::vector<double> weights = n.numbers("weights");
  if (n.has_attribute("pool_strings")) throw ModelError("string elements are not supported");
  std::vector<NGram> grams;
  const auto size = static_cast<int64_t>(pool.size());
  for (size_t length = 1; length <= starts.size(); ++length) {
    const int64_t end = length < starts.size() ? starts[length] : size;
    const auto step = static_cast<int64_t>(length);
    for (int64_t at = starts[length - 1]; at + step <= end; at += step) {
      if (at < 0 || end > size || grams.size() >= columns.size()) {
        throw ModelError("ngram_counts and ngram_indexes do not fit the pool");
      }
      NGram gram;
      gram.tokens.assign(pool.begin() + at, pool.begin() + at + step);
      gram.column = columns[grams.size()];
      if (grams.size() < weights.size()) gram.weight = weights[grams.size()];
      grams.push_back(std::move(gram));
    }
  }
  return grams;
}

// How often an n-gram occurs in each row of [rows, length] with every distance up to the skips:
// shifted comparisons, combined and summed.
ValueId occurrences(PrimitiveBuilder& b, ValueId x, const NGram& gram, int64_t max_skip) {
  const int64_t length = b.dim(x, 1).constant();
  const auto count = static_cast<int64_t>(gram.tokens.size());
  std::optional<ValueId> sum;
  for (int64_t skip = 0; skip <= (count > 1 ? max_skip : 0); ++skip) {
    const int64_t starts = length - (count - 1) * (skip + 1);
    if (starts <= 0) break;
    std::optional<ValueId> match;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t at = i * (skip + 1);
      const ValueId token = b.scalar_integer(b.dtype(x), gram.tokens[static_cast<size_t>(i)]);
      const ValueId same =
          b.compare(CompareKind::kEq, b.slice_axis(x, 1, Dim(at), Dim(at + starts)), token);
      match = match ? b.bitwise(BitwiseKind::kAnd, *match, same) : same;
    }
    const ValueId found = b.reduce(ReduceKind::kSum, b.cast(*match, DType::kF32), {1}, true);
    sum = sum ? b.add(*sum, found) : found;
  }
  return sum ? *sum : b.filled(DType::kF32, 0, {b.dim(x, 0), Dim(1)});
}

void lower_tf_idf(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const std::string mode = n.text("mode", "");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF") {
    throw ModelError(fmt::format("mode '{}' is not TF, IDF or TFIDF", mode));
  }
  const auto shortest = static_cast<size_t>(n.required_integer("min_gram_length"));
  const auto longest = static_cast<size_t>(n.required_integer("max_gram_length"));
  const bool one_row = n.rank(0) == 1;
  if (!one_row && n.rank(0) != 2) throw ModelError(fmt::format("input 0 has rank {}", n.rank(0)));
  const ValueId x = one_row ? b.insert_axis(n.input(0), 0) : n.input(0);
  int64_t columns = 0;
  for (const int64_t column : n.integers("ngram_indexes")) {
    if (column < 0 || column > (1 << 20)) throw ModelError(fmt::format("column {}", column));
    columns = std::max(columns, column + 1);
  }
  std::vector<std::optional<ValueId>> counts(static_cast<size_t>(columns));
  for (const NGram& gram : pool_of(n)) {
    if (gram.tokens.size() < shortest || gram.tokens.size() > longest) continue;
    ValueId count = occurrences(b, x, gram, n.required_integer("max_skip_count"));
    if (mode == "IDF") count = b.binary(Op::k_min, count, 1.0);
    if (mode != "TF" && gram.weight != 1) count = b.mul(count, gram.weight);
    auto& cell = counts[static_cast<size_t>(gram.column)];
    cell = cell ? b.add(*cell, count) : count;
  }
  if (counts.empty()) throw ModelError("it has no n-grams");
  std::vector<ValueId> parts;
  for (const auto& count : counts) {
    parts.push_back(count ? *count : b.filled(DType::kF32, 0, {b.dim(x, 0), Dim(1)}));
  }
  const ValueId table = b.concat(parts, 1);
  n.output(0, one_row ? b.drop_axis(table, 0) : table);
}

constexpr OperatorRow kRows[] = {
    {"TfIdfVectorizer", 9, lower_tf_idf},
};

}  // namespace

std::span<const OperatorRow> text_operators() { return kRows; }

}  // namespace stitch
