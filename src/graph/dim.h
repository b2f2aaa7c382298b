// A tensor extent: a constant, or an integer expression over named symbols ("batch", "seq").
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stitch {

// Values of symbols, from `--dim name=value` or from the inputs of a data set.
using DimBindings = std::map<std::string, int64_t>;

// Immutable; sums of products are kept in one normal form, so that batch*seq equals seq*batch.
// Symbols are at least 0. Constants take no allocation.
class Dim {
 public:
  Dim() : constant_(0) {}
  Dim(int64_t constant) : constant_(constant) {}  // NOLINT: extents are written as numbers
  static Dim symbol(const std::string& name);

  bool is_constant() const { return expression_ == nullptr; }
  // The value of a constant; InternalError names the expression otherwise.
  int64_t constant() const;
  // The constant after all symbols have been replaced; a Dim still symbolic where some are unbound.
  Dim bind(const DimBindings& bindings) const;
  // Names of the symbols that occur, sorted.
  std::vector<std::string> symbols() const;
  // "128", "batch*seq", "floor(seq/2)+1".
  std::string to_string() const;

  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  // Rounds towards minus infinity; the divisor is not zero.
  friend Dim floordiv(const Dim& a, const Dim& b);
  friend Dim mod(const Dim& a, const Dim& b);  // a - floordiv(a, b) * b
  friend Dim min(const Dim& a, const Dim& b);
  friend Dim max(const Dim& a, const Dim& b);
  // Equal in normal form; two different expressions may still have equal values.
  friend bool operator==(const Dim& a, const Dim& b);

  struct Expression;

 private:
  explicit Dim(std::shared_ptr<const Expression> expression);
  int64_t constant_ = 0;
  std::shared_ptr<const Expression> expression_;  // null for constants
};

// The tightest bounds that interval arithmetic over "every symbol is at least 0" finds; none where
// it finds no bound. lower_bound(a - b) >= 0 proves a >= b.
std::optional<int64_t> lower_bound(const Dim& dim);
std::optional<int64_t> upper_bound(const Dim& dim);
// Reads what to_string prints; ModelError otherwise.
Dim parse_dim(std::string_view text);

using Shape = std::vector<Dim>;

Dim element_count(const Shape& shape);
// Extents as numbers; InternalError when one is symbolic.
std::vector<int64_t> constant_extents(const Shape& shape);
bool is_constant(const Shape& shape);
// "[8,128,768]".
std::string to_string(const Shape& shape);

}  // namespace stitch
