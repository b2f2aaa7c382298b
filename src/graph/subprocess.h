// A program run to its end, with what it printed.
#pragma once
#include <string>
#include <vector>

namespace stitch {

struct ProcessResult {
  int exit_code = 0;   // 127 when the program could not be started, 128 + n when signal n ended it
  std::string output;  // standard output and standard error together
};

// Runs arguments[0], searched on PATH, without a shell and without input, in `working_folder`
// (empty = the current one).
ProcessResult run_process(const std::vector<std::string>& arguments,
                          const std::string& working_folder = {});

// The path at which a program would be found on PATH; empty when it is not there.
std::string find_program(const std::string& name);

}  // namespace stitch
