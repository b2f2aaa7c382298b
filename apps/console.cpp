#include "console.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

namespace stitch {

namespace {
constexpr int kBarWidth = 24;
}

Console::Console(ConsoleOptions options)
    : options_(options), terminal_(isatty(STDERR_FILENO) != 0) {}

void Console::clear_live_line() {
  if (live_) fmt::print(stderr, "\r\033[K");
  live_ = false;
}

void Console::stage(const std::string& name, const std::string& text) {
  clear_live_line();
  if (!options_.quiet) fmt::print(stderr, "{:<10}{}\n", name, text);
}

void Console::progress(const std::string& name, int done, int all, const std::string& text) {
  if (!terminal_ || options_.quiet) return;
  const int filled = all == 0 ? 0 : done * kBarWidth / all;
  fmt::print(stderr, "\r{:<10}[{}{}]  {}/{}  {}\033[K", name,
             std::string(static_cast<size_t>(filled), '#'),
             std::string(static_cast<size_t>(kBarWidth - filled), '-'), done, all, text);
  std::fflush(stderr);
  live_ = true;
}

void Console::note(const std::string& text) {
  clear_live_line();
  if (!options_.quiet) fmt::print(stderr, "note: {}\n", text);
}

void Console::line(const std::string& text) {
  clear_live_line();
  if (!options_.quiet && !options_.json) fmt::print("{}\n", text);
}

void Console::json(const std::string& text) {
  clear_live_line();
  fmt::print("{}\n", text);
}

std::string with_thousands(long long number) {
  std::string digits = std::to_string(std::abs(number));
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<size_t>(at), ",");
  return number < 0 ? "-" + digits : digits;
}

std::string readable_bytes(long long bytes) {
  const auto value = static_cast<double>(bytes);
  if (bytes >= 1'000'000) return fmt::format("{:.1f} MB", value / 1e6);
  if (bytes >= 1'000) return fmt::format("{:.1f} kB", value / 1e3);
  return fmt::format("{} B", bytes);
}

}  // namespace stitch
