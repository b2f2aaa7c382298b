#include "planner/plan_reader.h"

#include <algorithm>
#include <cctype>

namespace stitch {
namespace {

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
  const TextReader::Place place = reader_.place();
  if (reader_.peek() == 'r') {
    const ReadId read = read_id<ReadId>('r');
    if (read.index >= graph_.reads.size()) reader_.fail(place, "a read that no line defines");
    return graph_.pool.of(read, graph_.pool.read_range(read));
  }
  const AtomId atom = read_id<AtomId>('a');
  if (atom.index >= graph_.pool.atom_count()) reader_.fail(place, "an atom that no line defines");
  return graph_.pool.of(atom);
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
    piece.source = read_id<AccessValueId>('v');
    piece.index = index();
    piece.guards = guards();
    found.pieces.push_back(std::move(piece));
  } while (reader_.accept('|'));
  return found;
}

}  // namespace stitch
