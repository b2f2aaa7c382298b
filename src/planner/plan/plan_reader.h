// Words, ids, lists and index expressions of the plan's text form.
#pragma once
#include <map>
#include <string_view>
#include <vector>

#include "graph/text_reader.h"
#include "planner/plan/plan.h"
#include "planner/plan/plan_words.h"

namespace stitch {

// Reads expressions into the pool of `graph`, whose atoms and reads must be known by then.
class PlanReader {
 public:
  PlanReader(std::string_view text, AccessGraph& graph) : reader_(text, "plan"), graph_(graph) {}

  TextReader& text() { return reader_; }
  int64_t integer() { return reader_.read_integer(); }
  int small();
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
  // The id that a line defines; from there on others may refer to it.
  template <class IdType>
  IdType defined_id(char letter) {
    return IdType(static_cast<size_t>(define(letter)));
  }
  // A reference; an id that no line has defined is refused at its place.
  template <class IdType>
  IdType known_id(char letter) {
    return IdType(static_cast<size_t>(known(letter)));
  }
  template <class IdType>
  std::vector<IdType> known_ids(char letter) {
    std::vector<IdType> found;
    reader_.expect('[');
    if (reader_.accept(']')) return found;
    do {
      found.push_back(known_id<IdType>(letter));
    } while (reader_.accept(','));
    reader_.expect(']');
    return found;
  }
  bool is_known(char letter, uint32_t index) const;
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
  uint32_t define(char letter);
  uint32_t known(char letter);
  ExprId factor();
  ExprId quotient(FactorKind kind);

  TextReader reader_;
  AccessGraph& graph_;
  std::map<char, std::vector<bool>> defined_;  // by letter and index
};

}  // namespace stitch
