// The invariants of a launch program: every range lies inside the memory that it names.
#ifndef STITCH_RUNTIME_PROGRAM_CHECK_H_
#define STITCH_RUNTIME_PROGRAM_CHECK_H_

#include "runtime/bundle_format.h"

namespace STITCH_RUNTIME_NAMESPACE {

// Throws LauncherError with kInternal that names the architecture, the step and the argument. The
// launcher checks what it loads, the bundle writer what it is given.
void check_program(const LaunchProgram& program);

// "kernel 'k03_softmax'", "matmul 'dense_1'", "memset": how messages call a step.
std::string step_title(const Step& step);

}  // namespace STITCH_RUNTIME_NAMESPACE

#endif  // STITCH_RUNTIME_PROGRAM_CHECK_H_
