// A driver library for tests of the launcher: it records calls, runs nothing, and fails on request.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace stitch {

struct MockLaunch {
  std::string kernel;
  std::uint32_t grid = 0;
  std::uint32_t block = 0;
  std::uint32_t shared_bytes = 0;
  bool cooperative = false;
  std::uint32_t cluster = 1;
  std::uint64_t first_argument = 0;
};

struct MockState {
  // What the device is.
  std::string device_name = "Tesla T4";
  int major = 7;
  int minor = 5;
  int multiprocessors = 40;
  int blocks_per_multiprocessor = 2;
  // Fails: the call of this name, with this code.
  std::string failing_call;
  int failing_code = 0;
  bool captures_nothing = false;

  // What happened.
  std::mutex mutex;
  std::vector<MockLaunch> launches;
  std::vector<std::string> loaded_images;
  std::size_t memsets = 0;
  std::size_t captured_nodes = 0;
  std::size_t graph_launches = 0;
  int live_modules = 0;
  int live_allocations = 0;
  int live_contexts = 0;
  int live_graphs = 0;
  int context_depth = 0;
  int current_calls_without_context = 0;
};

}  // namespace stitch

// Exported by the mock library. Give back to `mock_reset` between tests.
extern "C" stitch::MockState* mock_state();
extern "C" void mock_reset();
