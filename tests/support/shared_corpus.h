// The corpus of models kept beside the repository; a test that needs it passes over where it is
// absent.
//
//   const auto corpus = shared_corpus();
//   if (!corpus) return;
//   import_onnx(*corpus / "small/bert_ts14_dyn/model.onnx");
#pragma once

#include <filesystem>
#include <optional>

#include "support/catch.h"

namespace stitch {

// The folder of the corpus. Where it is absent, warns that the test is skipped and gives nothing.
inline std::optional<std::filesystem::path> shared_corpus() {
  const auto folder = std::filesystem::path(STITCH_SHARED_DIR) / "corpus";
  if (std::filesystem::is_directory(folder)) return folder;
  WARN("skipped: no corpus of models at " << folder.lexically_normal());
  return std::nullopt;
}

}  // namespace stitch
