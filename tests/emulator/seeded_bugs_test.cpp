// Every kind of defect is reported, with kernel, source line, block and thread, in every schedule.
#include <algorithm>

#include "emulated_device.h"
#include "kernel_files.h"
#include "support/catch.h"

namespace stitch::test {
namespace {

constexpr unsigned kBlock = 64;

const SourceText& source() {
  static const SourceText kSource = kernel_file("seeded_bugs.cu");
  return kSource;
}

const LoadedKernels& kernels() {
  static const LoadedKernels kLoaded(std::vector<SourceText>{source()});
  return kLoaded;
}

std::vector<std::string> marked(const std::string& mark, const std::string& kernel) {
  return marked_lines(source(), mark, kernel);
}

// Lines inside device functions are reported as "seeded_bugs.cu:12 (function, file.cuh:3)".
bool names_line(const std::string& reported, const std::vector<std::string>& lines) {
  return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
    return reported == line || reported.starts_with(line + " ");
  });
}

struct Expected {
  const char* kind;
  const char* kernel;
  const char* message;  // part of the text
};

// Runs a kernel in three schedules; each time the first report must be the expected one.
template <class Run>
void expect_report(const Expected& expected, Run run) {
  auto lines = marked("here", expected.kernel);
  for (const std::string& line : marked("either", expected.kernel)) lines.push_back(line);
  for (const auto order :
       {STITCH_EMULATOR_ASCENDING, STITCH_EMULATOR_DESCENDING, STITCH_EMULATOR_RANDOM}) {
    start({true, false, order, 3, 0});
    run();
    const auto found = reports();
    INFO(expected.kernel << " in order " << order);
    for (const ReportView& report : found) UNSCOPED_INFO(report.text);
    REQUIRE(!found.empty());
    const auto match = std::find_if(found.begin(), found.end(), [&](const ReportView& report) {
      return report.kind == expected.kind && report.kernel == expected.kernel &&
             report.text.find(expected.message) != std::string::npos;
    });
    REQUIRE(match != found.end());
    // Of a race either party may come second.
    const auto others = marked("other", expected.kernel);
    CHECK((names_line(match->line, lines) || names_line(match->line, others)));
    if (!others.empty())
      CHECK((names_line(match->other_line, others) || names_line(match->other_line, lines)));
    CHECK(match->block >= 0);
    CHECK(match->thread >= 0);
    CHECK(match->text.find("thread " + std::to_string(match->thread)) != std::string::npos);
  }
}

std::vector<float> some_values(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i % 13);
  return values;
}

// Runs a kernel whose arguments are the output and nothing else.
CUresult run_alone(const char* name, unsigned grid = 1, unsigned cluster = 1) {
  const DeviceBuffer y(grid * kBlock * sizeof(float));
  return kernels().run(name, {grid, kBlock, kBlock * 4, cluster}, y.pointer());
}

}  // namespace

TEST_CASE("a missing block barrier is a race") {
  expect_report({"race", "missing_barrier", "shared memory"}, [] { run_alone("missing_barrier"); });
}

TEST_CASE("a reduction slot used twice without a barrier is a race") {
  expect_report({"race", "slot_reused", "still reads"}, [] {
    const DeviceBuffer x = DeviceBuffer::holding(some_values(kBlock));
    const DeviceBuffer y(kBlock * sizeof(float));
    kernels().run("slot_reused", {1, kBlock, 64}, x.pointer(), y.pointer());
  });
}

TEST_CASE("two blocks that write one element race") {
  expect_report({"race", "two_writers", "write to memory that another thread writes"},
                [] { run_alone("two_writers", 4); });
}

TEST_CASE("an atomic addition races with a plain store") {
  expect_report({"race", "atomic_and_plain", "another thread writes"},
                [] { run_alone("atomic_and_plain"); });
}

TEST_CASE("a read behind the end of a buffer is out of bounds") {
  expect_report({"out of bounds", "reads_beyond", "read of 4 bytes"}, [] {
    const DeviceBuffer x = DeviceBuffer::holding(some_values(100));
    const DeviceBuffer y(100 * sizeof(float));
    CHECK(kernels().run("reads_beyond", {2, kBlock}, x.pointer(), y.pointer(), 100) ==
          CUDA_ERROR_LAUNCH_FAILED);
  });
}

TEST_CASE("a write behind the end of a buffer is out of bounds and does not happen") {
  expect_report({"out of bounds", "writes_beyond", "write of 4 bytes"}, [] {
    const DeviceBuffer x = DeviceBuffer::holding(some_values(100));
    const DeviceBuffer y(100 * sizeof(float));
    CHECK(kernels().run("writes_beyond", {2, kBlock}, x.pointer(), y.pointer(), 100) ==
          CUDA_ERROR_LAUNCH_FAILED);
  });
}

TEST_CASE("a write behind a value inside a workspace is out of bounds") {
  expect_report({"out of bounds", "writes_beyond", "behind the end of scores"}, [] {
    const DeviceBuffer x = DeviceBuffer::holding(some_values(100));
    const DeviceBuffer workspace(4096);
    const auto* const begin = reinterpret_cast<const void*>(workspace.pointer());
    const auto* const next = reinterpret_cast<const void*>(workspace.pointer() + 512);
    REQUIRE(stitch_emulator_register_range(begin, 400, "scores", STITCH_EMULATOR_ROLE_SCRATCH) ==
            0);
    REQUIRE(stitch_emulator_register_range(next, 512, "hidden", STITCH_EMULATOR_ROLE_SCRATCH) == 0);
    kernels().run("writes_beyond", {2, kBlock}, x.pointer(), workspace.pointer(), 100);
  });
}

TEST_CASE("an access behind the end of shared memory is out of bounds") {
  expect_report({"out of bounds", "beyond_shared", "shared memory+256 (of 256 bytes)"},
                [] { run_alone("beyond_shared"); });
}

TEST_CASE("a read of shared memory that nobody has written is reported") {
  expect_report({"undefined read", "undefined_shared", "shared memory"},
                [] { run_alone("undefined_shared"); });
}

TEST_CASE("a read of scratch that nobody has written is reported") {
  expect_report({"undefined read", "undefined_scratch", "allocation"}, [] {
    const DeviceBuffer scratch(kBlock * sizeof(float)), y(kBlock * sizeof(float));
    kernels().run("undefined_scratch", {1, kBlock}, scratch.pointer(), y.pointer());
  });
}

TEST_CASE("scratch of an earlier run is undefined once it is discarded") {
  expect_report({"undefined read", "undefined_scratch", "allocation"}, [] {
    const DeviceBuffer scratch = DeviceBuffer::holding(some_values(kBlock));
    const DeviceBuffer y(kBlock * sizeof(float));
    kernels().run("undefined_scratch", {1, kBlock}, scratch.pointer(), y.pointer());
    REQUIRE(reports().empty());
    REQUIRE(stitch_emulator_discard(reinterpret_cast<const void*>(scratch.pointer()), 16) == 0);
    kernels().run("undefined_scratch", {1, kBlock}, scratch.pointer(), y.pointer());
  });
}

TEST_CASE("threads at different barriers are divergent") {
  expect_report({"barrier divergence", "divergent_barriers", "different barriers"},
                [] { run_alone("divergent_barriers"); });
}

TEST_CASE("a barrier after some threads have exited is divergent") {
  expect_report({"barrier divergence", "exit_before_barrier", "exit"},
                [] { run_alone("exit_before_barrier"); });
}

TEST_CASE("a shuffle of part of a warp is a wrong mask") {
  expect_report({"warp mask", "partial_mask", "0x0000ffff"}, [] { run_alone("partial_mask"); });
}

TEST_CASE("a shuffle that names an exited lane is a wrong mask") {
  expect_report({"warp mask", "mask_of_exited_lanes", ""},
                [] { run_alone("mask_of_exited_lanes"); });
}

TEST_CASE("lanes that meet at a shuffle and at a vote are reported") {
  expect_report({"warp mask", "shuffle_against_vote", "different places"},
                [] { run_alone("shuffle_against_vote"); });
}

TEST_CASE("a grid barrier that waits for too many blocks hangs") {
  expect_report({"deadlock", "barrier_hangs", "never completes"}, [] {
    const DeviceBuffer y(4 * kBlock * sizeof(float));
    const DeviceBuffer counter = DeviceBuffer::holding(std::vector<unsigned>{0});
    CHECK(kernels().run("barrier_hangs", {4, kBlock, 0, 1, true}, y.pointer(), counter.pointer()) ==
          CUDA_ERROR_LAUNCH_FAILED);
  });
}

TEST_CASE("a grid barrier with a wrong count is a race") {
  expect_report({"race", "barrier_counts_wrong", ""}, [] {
    const DeviceBuffer scratch(4 * sizeof(float)), y(4 * kBlock * sizeof(float));
    const DeviceBuffer counter = DeviceBuffer::holding(std::vector<unsigned>{0});
    kernels().run("barrier_counts_wrong", {4, kBlock, 0, 1, true}, scratch.pointer(), y.pointer(),
                  counter.pointer());
  });
}

TEST_CASE("writes of other threads are not released by the leader without a barrier") {
  expect_report({"race", "leader_releases_too_little", ""}, [] {
    const DeviceBuffer scratch(4 * kBlock * sizeof(float)), y(4 * kBlock * sizeof(float));
    const DeviceBuffer counter = DeviceBuffer::holding(std::vector<unsigned>{0});
    kernels().run("leader_releases_too_little", {4, kBlock, 0, 1, true}, scratch.pointer(),
                  y.pointer(), counter.pointer());
  });
}

TEST_CASE("a ticket with a wrong count reads what is not there yet") {
  expect_report({"undefined read", "ticket_counts_wrong", "allocation"}, [] {
    const DeviceBuffer scratch(4 * sizeof(float)), y(4 * sizeof(float));
    const DeviceBuffer counter = DeviceBuffer::holding(std::vector<unsigned>{0});
    kernels().run("ticket_counts_wrong", {4, kBlock, 16}, scratch.pointer(), y.pointer(),
                  counter.pointer());
  });
}

TEST_CASE("threads that wait for each other at a barrier and a shuffle are a deadlock") {
  expect_report({"deadlock", "deadlocks", "different places"}, [] { run_alone("deadlocks"); });
}

TEST_CASE("a vector access at an odd address is misaligned") {
  expect_report({"misaligned access", "misaligned_vector", "16 bytes"}, [] {
    const DeviceBuffer x = DeviceBuffer::holding(some_values(4 * kBlock + 4));
    const DeviceBuffer y(4 * kBlock * sizeof(float));
    kernels().run("misaligned_vector", {1, kBlock}, x.pointer(), y.pointer());
  });
}

TEST_CASE("shared memory of a block that has left its cluster is not to be read") {
  start({true, false, STITCH_EMULATOR_ASCENDING, 0, 0});
  run_alone("leaves_cluster", 2, 2);
  const auto found = reports();
  for (const ReportView& report : found) UNSCOPED_INFO(report.text);
  REQUIRE(!found.empty());
  CHECK(found[0].kind == "cluster exit");
  CHECK(names_line(found[0].line, marked("here", "leaves_cluster")));
  CHECK(found[0].block == 1);
}

TEST_CASE("shared memory of a cluster needs a cluster barrier") {
  start({true, false, STITCH_EMULATOR_ASCENDING, 0, 0});
  run_alone("cluster_without_barrier", 2, 2);
  const auto found = reports();
  for (const ReportView& report : found) UNSCOPED_INFO(report.text);
  REQUIRE(!found.empty());
  CHECK((found[0].kind == "race" || found[0].kind == "undefined read"));
  CHECK(names_line(found[0].line, marked("here", "cluster_without_barrier")));
}

TEST_CASE("an output that is not written whole is reported") {
  start({true});
  const DeviceBuffer y(kBlock * sizeof(float));
  const auto* const begin = reinterpret_cast<const void*>(y.pointer());
  REQUIRE(stitch_emulator_register_range(begin, y.bytes(), "logits", STITCH_EMULATOR_ROLE_OUTPUT) ==
          0);
  REQUIRE_DRIVER(kernels().run("forgets_the_last_row", {1, kBlock}, y.pointer(), 64));
  REQUIRE(reports().empty());
  stitch_emulator_check_outputs();
  REQUIRE(reports().size() == 1);
  CHECK(reports()[0].text ==
        "unwritten output: 4 of 256 bytes of output logits were never written");
}

TEST_CASE("memory that is still allocated at the end is a leak") {
  start({true});
  stitch_emulator_check_leaks();
  REQUIRE(reports().empty());
  const DeviceBuffer kept(100);
  stitch_emulator_check_leaks();
  REQUIRE(reports().size() == 1);
  CHECK(reports()[0].kind == "leak");
}

TEST_CASE("a write around an allocation shows when it is freed, even without checks") {
  start({});
  {
    const DeviceBuffer x = DeviceBuffer::holding(some_values(100));
    const DeviceBuffer y(100 * sizeof(float));
    REQUIRE_DRIVER(kernels().run("writes_beyond", {2, kBlock}, x.pointer(), y.pointer(), 100));
  }
  REQUIRE(reports().size() == 1);
  CHECK(reports()[0].kind == "guard overwritten");
}

TEST_CASE("counting alone looks for accesses out of bounds, not for races") {
  start({.check = false, .count = true});
  run_alone("missing_barrier");
  CHECK(reports().empty());
  const auto counters = counters_of("missing_barrier");
  CHECK(counters.store_sectors == kBlock * sizeof(float) / 32);
  CHECK(counters.distinct_store_bytes == kBlock * sizeof(float));
  CHECK(counters.read_back_bytes == 0);
  const DeviceBuffer x = DeviceBuffer::holding(some_values(100));
  const DeviceBuffer y(100 * sizeof(float));
  CHECK(kernels().run("reads_beyond", {2, kBlock}, x.pointer(), y.pointer(), 100) ==
        CUDA_ERROR_LAUNCH_FAILED);
  REQUIRE(reports().size() == 1);
  CHECK(reports()[0].kind == "out of bounds");
}

}  // namespace stitch::test
