// The C++ compiler of this machine, when there is one.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace stitch {

// `c++`, `g++` or `clang++` on the search path, with `ar`.
struct HostTools {
  std::filesystem::path compiler;
  std::filesystem::path archiver;
};

// Empty when the compiler or the archiver is missing.
std::optional<HostTools> find_host_tools();

struct CommandResult {
  int exit_code = 0;
  std::string output;  // standard output and standard error
};

// Runs a program in a folder and waits for it. Throws InternalError when it cannot be started.
CommandResult run_command(const std::vector<std::string>& command,
                          const std::filesystem::path& folder);

}  // namespace stitch
