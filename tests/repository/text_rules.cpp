#include <algorithm>
#include <array>
#include <cctype>
#include <regex>
#include <string>
#include <string_view>

#include "repository/rules.h"

namespace stitch::repository {
namespace {

constexpr std::size_t kMostLines = 500;

template <std::size_t N>
bool is_one_of(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::ranges::count(words, word) > 0;
}

bool is_header(const SourceFile& file) {
  return file.extension() == ".h" || file.extension() == ".cuh";
}

bool is_code(const SourceFile& file) {
  constexpr std::array<std::string_view, 7> kExtensions = {".h",   ".cpp", ".cuh",  ".cu",
                                                           ".def", ".c",   ".cmake"};
  return is_one_of(file.extension(), kExtensions) || file.name() == "CMakeLists.txt" ||
         file.is_under("scripts") || file.is_under(".ci");
}

bool is_include_guard(const std::string& line) {
  return line == "#pragma once" || (line.starts_with("#ifndef ") && line.ends_with("_H_"));
}

// The words of the comment at the top; include guards and blank lines may stand among its lines.
std::string leading_comment(const SourceFile& file) {
  std::string comment;
  for (const std::string& line : file.lines) {
    if (line.empty() || is_include_guard(line) || line.starts_with("#define ")) continue;
    const bool is_comment =
        line.starts_with("//") || line.starts_with("/*") || line.starts_with(" *");
    if (!is_comment) break;
    comment += line.substr(2);
  }
  return comment;
}

struct ForbiddenWord {
  std::regex pattern;
  std::string reason;
};

// The patterns are written so that none matches its own line.
const std::vector<ForbiddenWord>& forbidden_words() {
  const auto flags = std::regex::ECMAScript | std::regex::optimize;
  static const std::vector<ForbiddenWord> table = {
      {std::regex(R"((^|[\s"'`=(:])/(?:home|root|Users|work|mnt)/[\w.])", flags),
       "names a path of somebody's machine"},
      {std::regex(R"(\bTODO\b(?!\([^)]+\): \w))", flags),
       "has a to-do without a reason: give it in parentheses, then a colon"},
      {std::regex(R"(\b(?:FIX[M]E|XX[X]|HA[C]K)\b)", flags),
       "marks unfinished work: finish it, or open an issue"},
      {std::regex(R"([@\\]author\b|Co-authored[-]by)", flags), "names an author: the history does"},
      {std::regex(R"(\b(?:REQUIRE|CHECK)\(true\)|\bSUCCEED\(\)|"\[[.]\]|\[!may[f]ail\])", flags),
       "is a check that cannot fail"},
  };
  return table;
}

void check_words_of_line(const SourceFile& file, std::size_t index, Violations& violations) {
  for (const ForbiddenWord& word : forbidden_words()) {
    if (std::regex_search(file.lines[index], word.pattern)) {
      violations.push_back({file.path, index + 1, word.reason});
    }
  }
}

// A loop over targets names its sources without their extension.
bool names_source(const SourceFile& build_list, std::string_view source) {
  constexpr std::string_view kExtension = ".cpp";
  const std::string_view stem = source.substr(0, source.size() - kExtension.size());
  const auto ends_word = [](std::string_view rest) {
    return rest.empty() || std::string_view(" );\"").find(rest.front()) != std::string_view::npos;
  };
  const auto names = [&](std::string_view line, std::size_t at) {
    const bool begins_word =
        at == 0 || std::string_view(" /(\"").find(line[at - 1]) != std::string_view::npos;
    const std::string_view rest = line.substr(at + stem.size());
    return begins_word && (rest.starts_with(kExtension) || ends_word(rest));
  };
  return std::ranges::any_of(build_list.lines, [&](const std::string& line) {
    std::size_t at = line.find(stem);
    while (at != std::string::npos && !names(line, at)) at = line.find(stem, at + 1);
    return at != std::string::npos;
  });
}

// Whether the CMakeLists.txt of a folder above names it, by its path from there, or a .cmake file
// by its whole path.
bool is_built(const SourceTree& tree, const SourceFile& source) {
  return std::ranges::any_of(tree, [&](const SourceFile& file) {
    if (file.extension() == ".cmake") return names_source(file, source.path);
    if (file.name() != "CMakeLists.txt") return false;
    const std::string_view folder = std::string_view(file.path).substr(0, file.path.rfind('/') + 1);
    return source.path.starts_with(folder) &&
           names_source(file, std::string_view(source.path).substr(folder.size()));
  });
}

}  // namespace

std::string to_text(const Violations& violations) {
  std::string text;
  for (const Violation& violation : violations) {
    text += violation.path + ':';
    if (violation.line > 0) text += std::to_string(violation.line) + ':';
    text += ' ' + violation.reason + '\n';
  }
  return text;
}

Violations check_lengths(const SourceTree& tree) {
  Violations violations;
  for (const SourceFile& file : tree) {
    if (is_code(file) && !file.is_under("tests/golden") && file.lines.size() > kMostLines) {
      violations.push_back({file.path, 0,
                            "has " + std::to_string(file.lines.size()) + " lines, more than " +
                                std::to_string(kMostLines) + ": split it by concept"});
    }
  }
  return violations;
}

Violations check_headers(const SourceTree& tree) {
  Violations violations;
  for (const SourceFile& file : tree) {
    if (!is_header(file) || file.is_under("tests/golden")) continue;
    if (std::ranges::none_of(file.lines, is_include_guard)) {
      violations.push_back({file.path, 0, "has no include guard: write #pragma once"});
    }
    const std::string comment = leading_comment(file);
    const auto letters =
        std::ranges::count_if(comment, [](unsigned char c) { return std::isalpha(c); });
    if (letters < 10 || comment.find('.') == std::string::npos) {
      violations.push_back({file.path, 1, "does not begin with a sentence that says what it is"});
    }
  }
  return violations;
}

Violations check_names(const SourceTree& tree) {
  constexpr std::array<std::string_view, 8> kEmptyWords = {"utils",  "util", "helpers", "helper",
                                                           "common", "misc", "manager", "managers"};
  Violations violations;
  for (const SourceFile& file : tree) {
    const std::string_view stem = file.name().substr(0, file.name().find('.'));
    const std::string_view last_word = stem.substr(stem.rfind('_') + 1);
    // "merge_common" is about common sub-expressions.
    const std::string_view subject = last_word == "common" ? stem : last_word;
    if (is_one_of(subject, kEmptyWords)) {
      violations.push_back(
          {file.path, 0, '\'' + std::string(subject) + "' says nothing: name the concept"});
    }
  }
  return violations;
}

Violations check_words(const SourceTree& tree) {
  Violations violations;
  for (const SourceFile& file : tree) {
    for (std::size_t i = 0; i < file.lines.size(); ++i) check_words_of_line(file, i, violations);
  }
  return violations;
}

Violations check_cmake(const SourceTree& tree) {
  static const std::regex glob(R"(\bfile\s*\(\s*GLOB|\baux_source_directory\b)", std::regex::icase);
  static const std::regex download(R"(\bfile\s*\(\s*DOWNLOAD|\bFetchContent|\bExternalProject)",
                                   std::regex::icase);
  Violations violations;
  for (const SourceFile& file : tree) {
    if (file.name() == "CMakeLists.txt" || file.extension() == ".cmake") {
      for (std::size_t i = 0; i < file.lines.size(); ++i) {
        if (std::regex_search(file.lines[i], glob)) {
          violations.push_back({file.path, i + 1, "collects sources by pattern: name them"});
        }
        if (std::regex_search(file.lines[i], download)) {
          violations.push_back(
              {file.path, i + 1, "downloads while configuring: scripts/setup does that"});
        }
      }
    }
    const bool is_compiled =
        file.extension() == ".cpp" && !file.is_under("tests/golden") &&
        (file.is_under("src") || file.is_under("apps") || file.is_under("tests"));
    if (is_compiled && !is_built(tree, file))
      violations.push_back({file.path, 0, "is in no CMakeLists.txt"});
  }
  return violations;
}

}  // namespace stitch::repository
