// What the process returns: who has to act (architecture.md 6).
#pragma once

namespace stitch {

enum ExitCode : int {
  kDone = 0,
  kModelProblem = 1,   // the user's model or flags; a verify that does not pass
  kDeviceProblem = 2,  // NVRTC, the driver, a missing host compiler
  kOurBug = 70,
};

}  // namespace stitch
