// Text of a kernel under construction: indented lines, and blocks whose braces close themselves.
#pragma once
#include <string>
#include <string_view>

namespace stitch {

// `text` with nothing in it that could end a line comment or carry it on: names of a model may hold
// any characters. Control characters become blanks, backslashes slashes.
std::string comment_text(std::string_view text);

class CodeWriter {
 public:
  static constexpr int kColumns = 100;

  // `depth` blocks around the text are somebody else's.
  explicit CodeWriter(int depth = 0) : depth_(depth) {}

  // Writes one line; a longer one than kColumns is continued behind a comma or an operator.
  void line(std::string_view text);
  // A comment of any length, wrapped.
  void comment(std::string_view text);
  void blank();
  // `#pragma unroll` and the like stand at the left margin.
  void pragma(std::string_view text);

  // Opens "head {"; the brace is closed when the object dies.
  class Block {
   public:
    ~Block();
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;

   private:
    friend class CodeWriter;
    Block(CodeWriter& writer, std::string_view close) : writer_(writer), close_(close) {}
    CodeWriter& writer_;
    std::string close_;
  };
  [[nodiscard]] Block block(std::string_view head, std::string_view close = "}");

  // A writer for text that will stand here, or inside of the next `deeper` blocks; then that text.
  CodeWriter apart(int deeper) const { return CodeWriter(depth_ + deeper); }
  void append(const CodeWriter& other) { text_ += other.text_; }

  const std::string& text() const { return text_; }

 private:
  std::string text_;
  int depth_;
};

}  // namespace stitch
