// One call of the stitchc program as a user makes it: arguments in, exit code and both texts out.
//
//   const StitchcRun run = run_stitchc({"check", model.string()});
//   CHECK(run.exit_code == 1);
#pragma once
#include <string>
#include <vector>

namespace stitch {

struct StitchcRun {
  int exit_code = -1;  // -1: it was ended by a signal
  std::string out;
  std::string err;
};

// `folder`: where it runs; empty: the current one.
StitchcRun run_stitchc(const std::vector<std::string>& arguments, const std::string& folder = "");

// `text` without every occurrence of `part`; messages with temporary paths become comparable.
std::string without(std::string text, const std::string& part);

}  // namespace stitch
