#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "frontend/einsum.h"
#include "graph/error.h"

namespace stitch {
namespace {

constexpr size_t kMostEllipsisAxes = 10;  // they are labelled by digits

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

// The labels of one operand; "..." becomes as many digits as there are axes left.
std::string labels_of(const std::string& term, size_t ellipsis_axes) {
  const size_t dots = term.find("...");
  std::string labels = term;
  if (dots != std::string::npos) {
    std::string digits;
    for (size_t i = ellipsis_axes; i > 0; --i) digits += static_cast<char>('0' + (i - 1));
    labels = term.substr(0, dots) + digits + term.substr(dots + 3);
  }
  for (const char c : labels) {
    const bool digit = dots != std::string::npos && c >= '0' && c <= '9';
    if (!is_letter(c) && !digit) throw ModelError(fmt::format("'{}' in the term '{}'", c, term));
  }
  return labels;
}

size_t ellipsis_axes(const std::string& term, size_t rank) {
  const size_t dots = term.find("...");
  const size_t letters = dots == std::string::npos ? term.size() : term.size() - 3;
  if (letters > rank || (dots == std::string::npos && letters != rank)) {
    throw ModelError(fmt::format("the term '{}' for an operand of rank {}", term, rank));
  }
  if (rank - letters > kMostEllipsisAxes) throw ModelError("an ellipsis of more than 10 axes");
  return rank - letters;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

}  // namespace

EinsumEquation parse_einsum(const std::string& equation, const std::vector<size_t>& ranks) {
  std::string text;
  for (const char c : equation) {
    if (c != ' ') text += c;
  }
  const size_t arrow = text.find("->");
  const std::vector<std::string> terms = split(text.substr(0, arrow), ',');
  if (terms.size() != ranks.size()) {
    throw ModelError(fmt::format("the equation '{}' has {} terms for {} operands", equation,
                                 terms.size(), ranks.size()));
  }
  EinsumEquation result;
  size_t widest = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    const size_t axes = ellipsis_axes(terms[i], ranks[i]);
    widest = std::max(widest, axes);
    result.operands.push_back(labels_of(terms[i], axes));
  }
  std::map<char, int> occurrences;
  for (const std::string& labels : result.operands) {
    for (const char label : labels) ++occurrences[label];
  }
  if (arrow != std::string::npos) {
    result.result = labels_of(text.substr(arrow + 2), widest);
  } else {
    for (size_t i = widest; i > 0; --i) result.result += static_cast<char>('0' + (i - 1));
    for (const auto& [label, count] : occurrences) {  // the map is sorted by character code
      if (is_letter(label) && count == 1) result.result += label;
    }
  }
  std::string seen;
  for (const char label : result.result) {
    if (!occurrences.contains(label)) {
      throw ModelError(fmt::format("the result label '{}' is in no operand", label));
    }
    if (seen.find(label) != std::string::npos) {
      throw ModelError(fmt::format("the result label '{}' is given twice", label));
    }
    seen += label;
  }
  return result;
}

}  // namespace stitch
