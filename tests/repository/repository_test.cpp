#include <algorithm>
#include <string_view>

#include "repository/rules.h"
#include "repository/source_tree.h"
#include "support/catch.h"

namespace stitch::repository {
namespace {

const SourceTree& this_repository() {
  static const SourceTree tree = read_source_tree(STITCH_SOURCE_DIR);
  return tree;
}

void expect_none(const Violations& violations) {
  INFO(to_text(violations));
  CHECK(violations.empty());
}

}  // namespace

TEST_CASE("the repository is read from its root") {
  const auto& tree = this_repository();
  const auto has = [&](std::string_view path) {
    return std::ranges::any_of(tree, [&](const SourceFile& file) { return file.path == path; });
  };
  CHECK(has("CMakeLists.txt"));
  CHECK(has("src/graph/graph.h"));
  CHECK(has("tests/repository/rules.h"));
}

TEST_CASE("each folder includes only what its layer may use") {
  expect_none(check_includes(this_repository()));
}

TEST_CASE("no source is longer than 500 lines") { expect_none(check_lengths(this_repository())); }

TEST_CASE("every header begins with a sentence that says what it is") {
  expect_none(check_headers(this_repository()));
}

TEST_CASE("every file is named after a concept") { expect_none(check_names(this_repository())); }

TEST_CASE("the text speaks of the project only") { expect_none(check_words(this_repository())); }

TEST_CASE("CMake names every source") { expect_none(check_cmake(this_repository())); }

TEST_CASE("links in Markdown lead somewhere") { expect_none(check_links(this_repository())); }

}  // namespace stitch::repository
