// create, enqueue, destroy: what reaches the driver.
#include <cstring>
#include <thread>
#include <vector>

#include "sample_program.h"
#include "support/catch.h"

namespace stitch {
namespace {

std::vector<std::string> names_of(const std::vector<MockLaunch>& launches) {
  std::vector<std::string> names;
  for (const MockLaunch& launch : launches) names.push_back(launch.kernel);
  return names;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("one inference is one memset of the counters and the kernels in order") {
  MockState& mock = fresh_mock();
  const MockBundle bundle(sample_program());
  {
    MockModel model(bundle, mock_options());
    REQUIRE(model.status() == 0);
    CHECK(mock.loaded_images == Names{"cubin 80"});
    CHECK(mock.launches.empty());
    SampleBuffers buffers;
    REQUIRE(runtime::enqueue(model.context(), nullptr, buffers.inputs, buffers.outputs,
                             buffers.workspace, sizeof(buffers.workspace)) == 0);
    CHECK(names_of(mock.launches) == Names{"first", "second"});
    CHECK(mock.memsets == 1);
    CHECK_FALSE(mock.launches[0].cooperative);
    CHECK(mock.launches[1].cooperative);
    CHECK(mock.launches[1].grid == 100);
    CHECK(mock.launches[0].first_argument == reinterpret_cast<std::uintptr_t>(buffers.input));
  }
  CHECK(mock.live_modules == 0);
  CHECK(mock.live_contexts == 0);
  CHECK(mock.live_allocations == 0);
  CHECK(mock.current_calls_without_context == 0);
}

TEST_CASE("a grid barrier that does not fit the device is replaced by its twin") {
  MockState& mock = fresh_mock();
  mock.multiprocessors = 30;  // 2 blocks on each: 60 of 100
  const MockBundle bundle(sample_program());
  MockModel model(bundle, mock_options());
  REQUIRE(model.status() == 0);
  REQUIRE(model.enqueue() == 0);
  CHECK(names_of(mock.launches) == Names{"first", "twin_a", "twin_b"});
  runtime::AbiModelInfo info = {};
  info.struct_size = sizeof(info);
  REQUIRE(runtime::model_info(model.model(), &info) == 0);
  CHECK(info.twin_count == 1);
  CHECK(info.step_count == 3);
}

TEST_CASE("the caller may ask for no grid barriers") {
  MockState& mock = fresh_mock();
  const MockBundle bundle(sample_program());
  runtime::AbiOptions options = mock_options();
  options.flags = runtime::kFlagWithoutBarriers;
  MockModel model(bundle, options);
  REQUIRE(model.enqueue() == 0);
  CHECK(names_of(mock.launches) == Names{"first", "twin_a", "twin_b"});
}

TEST_CASE("a barrier that does not fit and has no twin is an error with numbers") {
  MockState& mock = fresh_mock();
  mock.multiprocessors = 30;
  runtime::LaunchProgram program = sample_program();
  program.architectures[0].items[1].twin.clear();
  const MockBundle bundle(program);
  const MockModel model(bundle, mock_options());
  CHECK(last_failure() ==
        "9: kernel 'second' needs 100 blocks on the device at once, NVIDIA A100-SXM4-80GB holds "
        "60\nnote: the bundle has no form of these kernels without a grid barrier");
  CHECK(mock.live_modules == 0);
  CHECK(mock.live_contexts == 0);
}

TEST_CASE("clusters and large shared memory reach the driver") {
  MockState& mock = fresh_mock();
  runtime::LaunchProgram program = sample_program();
  auto& first = std::get<runtime::KernelLaunch>(program.architectures[0].items[0].steps[0]);
  first.cluster_size = 4;
  first.dynamic_shared_bytes = 100 * 1024;
  const MockBundle bundle(program);
  MockModel model(bundle, mock_options());
  REQUIRE(model.enqueue() == 0);
  CHECK(mock.launches[0].cluster == 4);
  CHECK(mock.launches[0].shared_bytes == 100 * 1024);
}

TEST_CASE("threads share a model, each with its context") {
  MockState& mock = fresh_mock();
  const MockBundle bundle(sample_program());
  const MockModel model(bundle, mock_options());
  constexpr int kThreads = 8;
  constexpr int kRuns = 50;
  std::vector<std::thread> threads;
  std::vector<int> failures(kThreads, 0);
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&model, &failures, thread] {
      runtime::ContextHandle* context = nullptr;
      if (runtime::create_context(model.model(), &context) != 0) ++failures[thread];
      SampleBuffers buffers;
      for (int run = 0; run < kRuns; ++run) {
        if (runtime::enqueue(context, nullptr, buffers.inputs, buffers.outputs, buffers.workspace,
                             sizeof(buffers.workspace)) != 0) {
          ++failures[thread];
        }
      }
      runtime::destroy_context(context);
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(failures == std::vector<int>(kThreads, 0));
  CHECK(mock.launches.size() == 2 * kThreads * kRuns);
}

TEST_CASE("a captured inference is counted and replayed") {
  MockState& mock = fresh_mock();
  const MockBundle bundle(sample_program());
  MockModel model(bundle, mock_options());
  SampleBuffers buffers;
  runtime::GraphHandle* graph = nullptr;
  std::size_t nodes = 0;
  const auto capture = [&] {
    return runtime::capture(model.context(), buffers.inputs, buffers.outputs, buffers.workspace,
                            sizeof(buffers.workspace), &graph, &nodes);
  };
  SECTION("all nodes are there") {
    REQUIRE(capture() == 0);
    CHECK(nodes == 3);
    REQUIRE(runtime::launch_graph(graph, nullptr) == 0);
    REQUIRE(runtime::launch_graph(graph, nullptr) == 0);
    CHECK(mock.graph_launches == 2);
    runtime::destroy_graph(graph);
  }
  SECTION("an empty graph is an error") {
    mock.captures_nothing = true;
    REQUIRE(capture() == 5);
    CHECK(last_failure() == "5: capturing the inference: the graph has 0 nodes, 3 were enqueued");
    CHECK(graph == nullptr);
  }
  SECTION("a launch that fails ends the capture") {
    mock.failing_call = "cuLaunchKernelEx";
    mock.failing_code = 1;
    REQUIRE(capture() == 5);
    CHECK(last_failure() ==
          "5: launching kernel 'first': cuLaunchKernelEx failed with unknown error (1)");
  }
  CHECK(mock.live_graphs == 0);
}

TEST_CASE("ranges around every step carry the names of its ONNX nodes") {
  fresh_mock();
  const MockBundle bundle(sample_program());
  static std::vector<std::string> events;
  events.clear();
  runtime::AbiOptions options = mock_options();
  options.range_push = [](const char* name) {
    events.emplace_back(name);
    return 0;
  };
  options.range_pop = [] {
    events.emplace_back("pop");
    return 0;
  };
  MockModel model(bundle, options);
  REQUIRE(model.enqueue() == 0);
  CHECK(events == Names{"first: /first/Add", "pop", "second: /second/Add", "pop"});
}

}  // namespace stitch
