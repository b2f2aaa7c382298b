// Printing and parsing of dims.
#include <cctype>

#include "graph/dim_expression.h"
#include "graph/error.h"

namespace stitch {
namespace {

bool is_word_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
}

bool is_plain_symbol(const std::string& name) {
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0) return false;
  if (name == "floor" || name == "mod" || name == "min" || name == "max") return false;
  for (const char c : name) {
    if (!is_word_character(c)) return false;
  }
  return true;
}

std::string quote(const std::string& name) {
  std::string text = "'";
  for (const char c : name) {
    if (c == '\'' || c == '\\') text += '\\';
    text += c;
  }
  return text + "'";
}

bool is_single_factor(const Dim& dim) {
  const DimSum sum = Dim::Expression::sum_of(dim);
  return sum.terms.empty() ? sum.constant >= 0
                           : sum.terms.size() == 1 && sum.constant == 0 &&
                                 sum.terms[0].coefficient == 1 && sum.terms[0].atoms.size() == 1;
}

std::string text_of_factor(const Dim& dim) {
  return is_single_factor(dim) ? dim.to_string() : "(" + dim.to_string() + ")";
}

}  // namespace

std::string text_of(const DimAtom& atom) {
  const auto call = [&](const char* function) {
    return std::string(function) + "(" + atom.a.to_string() + "," + atom.b.to_string() + ")";
  };
  switch (atom.kind) {
    case DimAtomKind::kSymbol:
      return is_plain_symbol(atom.name) ? atom.name : quote(atom.name);
    case DimAtomKind::kFloorDiv:
      return "floor(" + text_of_factor(atom.a) + "/" + text_of_factor(atom.b) + ")";
    case DimAtomKind::kMod:
      return call("mod");
    case DimAtomKind::kMin:
      return call("min");
    case DimAtomKind::kMax:
      return call("max");
  }
  throw InternalError("a dim atom has no kind");
}

std::string text_of(const DimSum& sum) {
  std::string text;
  for (const DimTerm& term : sum.terms) {
    std::string product;
    if (term.coefficient == -1) {
      product = "-";
    } else if (term.coefficient != 1) {
      product = std::to_string(term.coefficient) + "*";
    }
    for (size_t i = 0; i < term.atoms.size(); ++i) {
      if (i > 0) product += '*';
      product += term.atoms[i]->text;
    }
    if (!text.empty() && product[0] != '-') text += '+';
    text += product;
  }
  if (sum.constant > 0) text += '+';
  if (sum.constant != 0) text += std::to_string(sum.constant);
  return text;
}

namespace {

// sum := ["-"] product (("+" | "-") product)*; product := factor ("*" factor)*
class DimParser {
 public:
  explicit DimParser(std::string_view text) : text_(text) {}

  Dim parse() {
    const Dim result = parse_sum();
    if (position_ != text_.size()) fail("the end");
    return result;
  }

 private:
  Dim parse_sum() {
    Dim result = accept('-') ? Dim(-1) * parse_product() : parse_product();
    while (position_ < text_.size()) {
      if (accept('+')) {
        result = result + parse_product();
      } else if (accept('-')) {
        result = result - parse_product();
      } else {
        break;
      }
    }
    return result;
  }

  Dim parse_product() {
    Dim result = parse_factor();
    while (accept('*')) result = result * parse_factor();
    return result;
  }

  Dim parse_factor() {
    if (accept('(')) {
      const Dim result = parse_sum();
      expect(')');
      return result;
    }
    if (accept('\'')) return Dim::symbol(parse_quoted());
    const size_t begin = position_;
    while (position_ < text_.size() && is_word_character(text_[position_])) ++position_;
    const std::string word(text_.substr(begin, position_ - begin));
    if (word.empty()) fail("a number, a symbol or a parenthesis");
    if (std::isdigit(static_cast<unsigned char>(word[0])) != 0) return parse_number(word);
    if (is_plain_symbol(word)) return Dim::symbol(word);
    expect('(');
    const Dim a = word == "floor" ? parse_product() : parse_sum();
    expect(word == "floor" ? '/' : ',');
    const Dim b = word == "floor" ? parse_product() : parse_sum();
    expect(')');
    if (word == "floor") return floordiv(a, b);
    if (word == "mod") return mod(a, b);
    return word == "min" ? min(a, b) : max(a, b);
  }

  Dim parse_number(const std::string& word) {
    int64_t value = 0;
    for (const char c : word) {
      if (std::isdigit(static_cast<unsigned char>(c)) == 0) fail("a number");
      value = checked_add(checked_multiply(value, 10), c - '0');
    }
    return value;
  }

  std::string parse_quoted() {
    std::string name;
    while (position_ < text_.size() && text_[position_] != '\'') {
      if (text_[position_] == '\\' && position_ + 1 < text_.size()) ++position_;
      name += text_[position_++];
    }
    expect('\'');
    return name;
  }

  bool accept(char c) {
    if (position_ == text_.size() || text_[position_] != c) return false;
    ++position_;
    return true;
  }

  void expect(char c) {
    if (!accept(c)) fail("'" + std::string(1, c) + "'");
  }

  [[noreturn]] void fail(const std::string& expected) const {
    throw ModelError("the extent \"" + std::string(text_) + "\" is not an expression, expected " +
                     expected + " at character " + std::to_string(position_ + 1));
  }

  std::string_view text_;
  size_t position_ = 0;
};

}  // namespace

Dim parse_dim(std::string_view text) { return DimParser(text).parse(); }

}  // namespace stitch
