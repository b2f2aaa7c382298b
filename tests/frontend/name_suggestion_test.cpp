#include "frontend/name_suggestion.h"

#include <vector>

#include "support/catch.h"

namespace stitch {

TEST_CASE("the nearest name is the one with the fewest edits") {
  const std::vector<std::string> names = {"Relu", "Selu", "Softmax"};
  CHECK(nearest_name("Rellu", names) == "Relu");
  CHECK(nearest_name("SoftMax", names) == "Softmax");
}

TEST_CASE("a name that is nothing like the others has no nearest one") {
  const std::vector<std::string> names = {"Relu", "Selu"};
  CHECK(nearest_name("Convolution", names) == std::nullopt);
  CHECK(nearest_name("x", {}) == std::nullopt);
}

}  // namespace stitch
