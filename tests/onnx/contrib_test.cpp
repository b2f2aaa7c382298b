// Operators of com.microsoft against outputs of onnxruntime (contrib/write_models.py).
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "onnx/model_runner.h"
#include "support/catch.h"

namespace stitch {

TEST_CASE("operators of com.microsoft give the outputs of onnxruntime") {
  std::vector<std::filesystem::path> folders;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(STITCH_SOURCE_DIR) +
                                                               "/tests/onnx/contrib")) {
    if (entry.is_directory()) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  REQUIRE(!folders.empty());
  for (const auto& folder : folders) {
    RunOptions options;
    options.tolerance.f32 = 1e-5;
    // onnxruntime adds zero points before it rounds: a tie falls the other way.
    options.tolerance.quanta = 1;
    std::string faults;
    try {
      faults = fmt::format("{}", fmt::join(run_model(folder, options), "; "));
    } catch (const std::exception& error) {
      faults = error.what();
    }
    INFO(folder.filename().string());
    CHECK(faults == "");
  }
}

}  // namespace stitch
