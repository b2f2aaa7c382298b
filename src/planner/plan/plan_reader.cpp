#include "planner/plan/plan_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <climits>

namespace stitch {
namespace {

// Ids are those of the planner, which numbers what it tried and dropped too.
constexpr uint32_t kLargestId = 1 << 22;
constexpr std::string_view kQuotients[] = {"div", "mod", "min", "max"};
constexpr FactorKind kQuotientKinds[] = {FactorKind::kFloorDiv, FactorKind::kMod, FactorKind::kMin,
                                         FactorKind::kMax};

bool is_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
  });
}

}  // namespace

uint32_t PlanReader::id(char letter) {
  const TextReader::Place place = reader_.place();
  const std::string word = reader_.read_word("an id");
  constexpr size_t kMostDigits = 9;
  if (word.empty() || word[0] != letter || !is_digits(std::string_view(word).substr(1)) ||
      word.size() > kMostDigits + 1) {
    reader_.fail(place, std::string("expected an id that begins with ") + letter);
  }
  return static_cast<uint32_t>(std::stoul(word.substr(1)));
}

uint32_t PlanReader::define(char letter) {
  const TextReader::Place place = reader_.place();
  const uint32_t index = id(letter);
  if (index > kLargestId) reader_.fail(place, "there is no plan with so many lines");
  std::vector<bool>& defined = defined_[letter];
  if (index >= defined.size()) defined.resize(index + 1);
  if (defined[index]) reader_.fail(place, fmt::format("{}{} is there already", letter, index));
  defined[index] = true;
  return index;
}

uint32_t PlanReader::known(char letter) {
  const TextReader::Place place = reader_.place();
  const uint32_t index = id(letter);
  if (!is_known(letter, index)) {
    reader_.fail(place, fmt::format("no line before this one defines {}{}", letter, index));
  }
  return index;
}

bool PlanReader::is_known(char letter, uint32_t index) const {
  const auto found = defined_.find(letter);
  return found != defined_.end() && index < found->second.size() && found->second[index];
}

int PlanReader::small() {
  const TextReader::Place place = reader_.place();
  const int64_t value = integer();
  if (value < INT_MIN || value > INT_MAX) reader_.fail(place, "the number is too large");
  return static_cast<int>(value);
}

std::vector<int64_t> PlanReader::integers() {
  std::vector<int64_t> found;
  reader_.expect('[');
  if (reader_.accept(']')) return found;
  do {
    found.push_back(integer());
  } while (reader_.accept(','));
  reader_.expect(']');
  return found;
}

// integer [* factor] { + integer [* factor] }
ExprId PlanReader::expression() {
  if (accept("none")) return ExprId();
  ExprId sum = graph_.pool.constant(0);
  do {
    const int64_t coefficient = integer();
    const ExprId term = reader_.accept('*') ? graph_.pool.scale(factor(), coefficient)
                                            : graph_.pool.constant(coefficient);
    sum = graph_.pool.add(sum, term);
  } while (reader_.accept('+'));
  return sum;
}

ExprId PlanReader::factor() {
  for (size_t i = 0; i < std::size(kQuotients); ++i) {
    if (accept(kQuotients[i])) return quotient(kQuotientKinds[i]);
  }
  if (reader_.peek() == 'r') {
    const ReadId read = known_id<ReadId>('r');
    return graph_.pool.of(read, graph_.pool.read_range(read));
  }
  return graph_.pool.of(known_id<AtomId>('a'));
}

ExprId PlanReader::quotient(FactorKind kind) {
  reader_.expect('(');
  const ExprId inner = expression();
  reader_.expect(',');
  const TextReader::Place place = reader_.place();
  const int64_t operand = integer();
  reader_.expect(')');
  const bool divides = kind == FactorKind::kFloorDiv || kind == FactorKind::kMod;
  if (divides && operand <= 0) reader_.fail(place, "a divisor must be positive");
  switch (kind) {
    case FactorKind::kFloorDiv:
      return graph_.pool.floordiv(inner, operand);
    case FactorKind::kMod:
      return graph_.pool.mod(inner, operand);
    case FactorKind::kMin:
      return graph_.pool.min(inner, operand);
    case FactorKind::kMax:
      return graph_.pool.max(inner, operand);
    case FactorKind::kAtom:
    case FactorKind::kRead:
      break;
  }
  throw InternalError("a factor of the text form has no kind");
}

std::vector<ExprId> PlanReader::index() {
  std::vector<ExprId> found;
  reader_.expect('[');
  if (reader_.accept(']')) return found;
  do {
    found.push_back(expression());
  } while (reader_.accept(','));
  reader_.expect(']');
  return found;
}

std::vector<Guard> PlanReader::guards() {
  std::vector<Guard> found;
  while (accept("if")) {
    Guard guard;
    guard.expr = expression();
    expect("in");
    guard.low = integer();
    guard.high = integer();
    found.push_back(guard);
  }
  return found;
}

Read PlanReader::read() {
  Read found;
  do {
    Piece piece;
    const TextReader::Place place = reader_.place();
    piece.source = known_id<AccessValueId>('v');
    piece.index = index();
    const size_t rank = graph_.value(piece.source).dims.size();
    if (piece.index.size() != rank) {
      reader_.fail(place, fmt::format("v{} has {} dims and is read at {} indices",
                                      piece.source.index, rank, piece.index.size()));
    }
    piece.guards = guards();
    found.pieces.push_back(std::move(piece));
  } while (reader_.accept('|'));
  return found;
}

}  // namespace stitch
