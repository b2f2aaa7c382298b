// The C++ compiler of this machine, when there is one.
#pragma once
#include <filesystem>
#include <optional>

namespace stitch {

// `c++`, `g++` or `clang++` on the search path, with `ar`.
struct HostTools {
  std::filesystem::path compiler;
  std::filesystem::path archiver;
};

// Empty when the compiler or the archiver is missing.
std::optional<HostTools> find_host_tools();

}  // namespace stitch
