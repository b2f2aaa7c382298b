// Identifiers of one kernel: made from the model's names, unique, never a word of the language.
#pragma once
#include <string>
#include <string_view>
#include <unordered_set>

namespace stitch {

// "/encoder/layer.0/Softmax_output_0" -> "softmax": the last part as a lower snake case identifier;
// "" when nothing readable is left.
std::string identifier(std::string_view model_name);

class Names {
 public:
  Names();
  // `wish`, or `wish_1`, `wish_2` ... when it is taken.
  std::string take(const std::string& wish);
  bool is_free(const std::string& name) const { return !taken_.contains(name); }

 private:
  std::unordered_set<std::string> taken_;
};

}  // namespace stitch
