#include "emulator/device/source_lines.h"

#include <dlfcn.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <sstream>
#include <vector>

#include "graph/subprocess.h"

namespace stitch::emulator {
namespace {

struct Answers {
  std::mutex mutex;
  std::map<const void*, SourceLine> lines;
};

Answers& answers() {
  static Answers kept;
  return kept;
}

struct Frame {
  std::string function;
  std::string line;
};

std::string file_and_line(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  return name.substr(0, name.find(' '));  // drops " (discriminator 2)"
}

// "auto stitch_pack_word<float, 4>(float const*)" becomes "stitch_pack_word".
std::string bare_name(const std::string& function) {
  std::string name = function.substr(0, function.find_first_of("(<"));
  const std::size_t before = name.find_last_of(" :");
  return before == std::string::npos ? name : name.substr(before + 1);
}

// Innermost first.
std::vector<Frame> frames_of(const void* site) {
  Dl_info info{};
  if (dladdr(site, &info) == 0 || info.dli_fname == nullptr) return {};
  // The site is a return address: the call is before it.
  const auto offset =
      reinterpret_cast<std::uintptr_t>(site) - reinterpret_cast<std::uintptr_t>(info.dli_fbase) - 1;
  std::ostringstream address;
  address << "0x" << std::hex << offset;
  const ProcessResult result =
      run_process({"addr2line", "-i", "-f", "-C", "-e", info.dli_fname, address.str()});
  if (result.exit_code != 0) return {};
  std::vector<Frame> frames;
  std::istringstream output(result.output);
  Frame frame;
  while (std::getline(output, frame.function) && std::getline(output, frame.line)) {
    if (frame.line.empty() || frame.line.front() == '?') continue;
    frame.line = file_and_line(frame.line);
    frames.push_back(frame);
  }
  return frames;
}

SourceLine describe(const std::vector<Frame>& frames) {
  if (frames.empty()) return {};
  SourceLine line{frames.back().line};
  if (frames.size() > 1)
    line.text += " (" + bare_name(frames.front().function) + ", " + frames.front().line + ")";
  return line;
}

}  // namespace

const SourceLine& source_line(const void* site) {
  Answers& kept = answers();
  const std::lock_guard lock(kept.mutex);
  const auto found = kept.lines.find(site);
  if (found != kept.lines.end()) return found->second;
  return kept.lines[site] = site != nullptr ? describe(frames_of(site)) : SourceLine();
}

void forget_source_lines() {
  Answers& kept = answers();
  const std::lock_guard lock(kept.mutex);
  kept.lines.clear();
}

}  // namespace stitch::emulator
