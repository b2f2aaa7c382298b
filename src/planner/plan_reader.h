// Words, ids, lists and index expressions of the plan's text form.
#pragma once
#include <string_view>
#include <vector>

#include "graph/text_reader.h"
#include "planner/plan.h"
#include "planner/plan_words.h"

namespace stitch {

// Reads expressions into the pool of `graph`, whose atoms and reads must be known by then.
class PlanReader {
 public:
  PlanReader(std::string_view text, AccessGraph& graph) : reader_(text), graph_(graph) {}

  TextReader& text() { return reader_; }
  int64_t integer() { return reader_.read_integer(); }
  int small() { return static_cast<int>(reader_.read_integer()); }
  // "a12" for letter a.
  uint32_t id(char letter);
  template <class IdType>
  IdType read_id(char letter) {
    return IdType(static_cast<size_t>(id(letter)));
  }
  template <class IdType>
  std::vector<IdType> ids(char letter) {
    std::vector<IdType> found;
    reader_.expect('[');
    if (reader_.accept(']')) return found;
    do {
      found.push_back(read_id<IdType>(letter));
    } while (reader_.accept(','));
    reader_.expect(']');
    return found;
  }
  std::vector<int64_t> integers();
  ExprId expression();
  std::vector<ExprId> index();
  // Any number of " if e in low high".
  std::vector<Guard> guards();
  Read read();
  template <class Enum>
  Enum word() {
    const TextReader::Place place = reader_.place();
    const std::string text = reader_.read_word("a word of the plan");
    const auto names = enumerator_names(Enum{});
    for (size_t i = 0; i < names.size(); ++i) {
      if (names[i] == text) return static_cast<Enum>(i);
    }
    reader_.fail(place, "\"" + text + "\" is not known here");
  }
  void expect(std::string_view word) { reader_.expect_word(word); }
  bool accept(std::string_view word) { return reader_.accept_word(word); }

 private:
  ExprId factor();
  ExprId quotient(FactorKind kind);

  TextReader reader_;
  AccessGraph& graph_;
};

}  // namespace stitch
