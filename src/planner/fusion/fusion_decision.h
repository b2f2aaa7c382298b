// The answer to "may these share a kernel": yes, or no with a sentence that says why.
#pragma once
#include <string>
#include <utility>

namespace stitch {

class FusionDecision {
 public:
  static FusionDecision yes() { return FusionDecision(); }
  // `reason`: one lower-case sentence without a final period.
  static FusionDecision no(std::string reason) {
    FusionDecision decision;
    decision.reason_ = std::move(reason);
    return decision;
  }
  explicit operator bool() const { return reason_.empty(); }
  const std::string& reason() const { return reason_; }

 private:
  std::string reason_;
};

}  // namespace stitch
