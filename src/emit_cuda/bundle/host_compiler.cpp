#include "emit_cuda/bundle/host_compiler.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "graph/error.h"

extern char** environ;

namespace stitch {
namespace {

namespace fs = std::filesystem;

std::optional<fs::path> find_program(std::string_view name) {
  const char* search_path = std::getenv("PATH");
  std::string_view folders = search_path == nullptr ? "" : search_path;
  while (!folders.empty()) {
    const std::size_t end = folders.find(':');
    const fs::path candidate = fs::path(folders.substr(0, end)) / name;
    if (access(candidate.c_str(), X_OK) == 0 && !fs::is_directory(candidate)) return candidate;
    if (end == std::string_view::npos) break;
    folders.remove_prefix(end + 1);
  }
  return std::nullopt;
}

[[noreturn]] void fail(std::string_view what, const std::vector<std::string>& command, int error) {
  throw InternalError(
      fmt::format("{} '{}': {}", what, fmt::join(command, " "), std::strerror(error)));
}

std::string read_all(int file) {
  std::string text;
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t got = ::read(file, buffer.data(), buffer.size());
    if (got > 0) {
      text.append(buffer.data(), static_cast<std::size_t>(got));
    } else if (got == 0 || errno != EINTR) {
      return text;
    }
  }
}

}  // namespace

std::optional<HostTools> find_host_tools() {
  const auto archiver = find_program("ar");
  for (const std::string_view name : {"c++", "g++", "clang++"}) {
    const auto compiler = find_program(name);
    if (compiler && archiver) return HostTools{*compiler, *archiver};
  }
  return std::nullopt;
}

CommandResult run_command(const std::vector<std::string>& command, const fs::path& folder) {
  std::array<int, 2> pipe_ends;
  if (pipe2(pipe_ends.data(), O_CLOEXEC) != 0) fail("cannot run", command, errno);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDERR_FILENO);
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));  // posix_spawn does not write to it
  }
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int error = posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(pipe_ends[1]);
  if (error != 0) {
    ::close(pipe_ends[0]);
    fail("cannot run", command, error);
  }
  CommandResult result;
  result.output = read_all(pipe_ends[0]);
  ::close(pipe_ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace stitch
