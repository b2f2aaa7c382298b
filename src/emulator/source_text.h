// A named piece of program text.
#pragma once
#include <string>

namespace stitch {

struct SourceText {
  std::string name;  // file name, as in #include and in messages
  std::string text;
};

}  // namespace stitch
