// The words, numbers, types and tensors of the text form, read one after another with their places.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "graph/dim.h"
#include "graph/error.h"
#include "graph/graph.h"
#include "graph/tensor.h"

namespace stitch {

// A ModelError that already says line and column.
class TextError : public ModelError {
 public:
  explicit TextError(const std::string& message) : ModelError(message) {}
};

// Skips blanks and comments before each item; TextError where the text is not as expected.
class TextReader {
 public:
  struct Place {
    size_t position = 0;
  };

  // `what` begins the messages: "graph text 2:6: ...".
  explicit TextReader(std::string_view text, std::string_view what = "graph text")
      : text_(text), what_(what) {}

  Place place();
  char peek();  // the next character, 0 at the end
  bool accept(char c);
  // As accept, but skips blanks of this line only: the comment behind a node must stay unread.
  bool accept_on_line(char c);
  void expect(char c);
  void expect_end();
  bool accept_word(std::string_view word);
  void expect_word(std::string_view word);
  std::string read_word(const char* what);
  std::string read_string();
  std::string read_value_id();  // "%12" gives "12"
  int64_t read_integer();
  DType read_dtype();
  Dim read_dim();
  // "f32[2] [0.5, 1]", "i64[] 3", "f32[8,8] splat 0".
  Tensor read_tensor();
  // The comment behind a node, when it has the form "name (Op), name (Op)"; else none.
  std::vector<SourceNode> read_sources();

  [[noreturn]] void fail(Place place, const std::string& message) const;

 private:
  void skip_blanks();
  std::string read_plain_word();
  void read_element(Tensor& tensor, int64_t index);
  [[noreturn]] void fail_expecting(const std::string& what);

  std::string_view text_;
  std::string_view what_;
  size_t position_ = 0;
};

}  // namespace stitch
