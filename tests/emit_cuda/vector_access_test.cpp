// Accesses to global memory in the PTX of the golden kernels: as wide as the plan says.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "emit_cuda/compile/nvrtc.h"
#include "emit_cuda/device_files.h"
#include "emit_cuda/emit_kernel.h"
#include "graph/error.h"
#include "graph/text_form.h"
#include "planner/make_plan.h"
#include "support/catch.h"

using namespace stitch;

namespace {

std::optional<Nvrtc> nvrtc_here() {
  try {
    return Nvrtc::open(default_nvrtc_location());
  } catch (const DeviceError& error) {
    WARN("skipped: " << error.what());
    return std::nullopt;
  }
}

// Instructions that load from or store to global memory, of 16 bytes and of fewer.
struct GlobalAccesses {
  int wide_loads = 0, narrow_loads = 0, wide_stores = 0, narrow_stores = 0;
};

// Bytes of one access: "ld.global.nc.v4.f32" has 4 times 4.
int access_bytes(const std::string& instruction) {
  const int count = instruction.find(".v4") != std::string::npos   ? 4
                    : instruction.find(".v2") != std::string::npos ? 2
                                                                   : 1;
  const size_t bits = instruction.find_last_not_of("0123456789");
  return count * std::stoi(instruction.substr(bits + 1)) / 8;
}

GlobalAccesses accesses_in(const std::string& ptx) {
  GlobalAccesses found;
  std::istringstream lines(ptx);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string instruction;
    if (!(words >> instruction) || instruction[0] == '@') words >> instruction;
    const bool load = instruction.rfind("ld.global", 0) == 0;
    if (!load && instruction.rfind("st.global", 0) != 0) continue;
    const bool wide = access_bytes(instruction) == 16;
    ++(load   ? wide ? found.wide_loads : found.narrow_loads
       : wide ? found.wide_stores
              : found.narrow_stores);
  }
  return found;
}

// The widest vector of a kernel, in elements.
int planned_vector(const Kernel& kernel) {
  int vector = 1;
  for (const Part& part : kernel.parts)
    for (const Stage& stage : part.stages) {
      if (stage.mapping.lanes_along_rows)  // neighbouring rows are the vector
        vector = std::max(vector, stage.mapping.rows_per_thread);
      for (const Group& group : stage.groups) vector = std::max(vector, group.mapping.vector);
    }
  return vector;
}

struct Golden {
  int vector = 1;  // as planned
  GlobalAccesses accesses;
};

// The only kernel of a graph of tests/golden, for sm_80.
Golden compiled_golden(const std::string& name, const Nvrtc& nvrtc) {
  std::ostringstream text;
  text << std::ifstream(std::filesystem::path(STITCH_SOURCE_DIR) / "tests/golden" /
                        (name + ".graph"))
              .rdbuf();
  const Graph graph = parse_graph(text.str());
  PlanOptions options;
  options.architecture = "sm_80";
  const Plan plan = make_plan(graph, options);
  const std::vector<KernelSource> kernels = emit_kernels(plan);
  REQUIRE(kernels.size() == 1);
  NvrtcInput input{name, kernels.front().text, options.architecture, {}, true};
  for (const DeviceFile& file : device_files())
    input.headers.push_back({std::string(file.name), std::string(file.text)});
  return {planned_vector(std::get<Kernel>(plan.steps.front())),
          accesses_in(nvrtc.compile(input).ptx)};
}

}  // namespace

TEST_CASE("a row of floats is loaded and stored by 16 bytes only") {
  const std::optional<Nvrtc> nvrtc = nvrtc_here();
  if (!nvrtc) return;
  const auto [vector, accesses] = compiled_golden("softmax", *nvrtc);
  CHECK(vector == 4);
  CHECK(accesses.wide_loads == 8);  // 1024 columns over 32 threads of 4
  CHECK(accesses.wide_stores == 8);
  CHECK(accesses.narrow_loads == 0);
  CHECK(accesses.narrow_stores == 0);
}

TEST_CASE("every operand of a stitched norm takes one load of 16 bytes, every output one store") {
  const std::optional<Nvrtc> nvrtc = nvrtc_here();
  if (!nvrtc) return;
  const auto [vector, accesses] = compiled_golden("layer_norm_gelu", *nvrtc);
  CHECK(vector == 4);
  CHECK(accesses.wide_loads == 4);   // dense, residual, weight, bias
  CHECK(accesses.wide_stores == 2);  // hidden, activated
  CHECK(accesses.narrow_loads == 0);
  CHECK(accesses.narrow_stores == 0);
}

TEST_CASE("both sides of a transposition of halves are 16 bytes wide") {
  const std::optional<Nvrtc> nvrtc = nvrtc_here();
  if (!nvrtc) return;
  const auto [vector, accesses] = compiled_golden("key_transposed", *nvrtc);
  CHECK(vector == 8);
  CHECK(accesses.wide_loads == 2);  // a tile of 4096 over 256 threads of 8
  CHECK(accesses.wide_stores == 2);
  CHECK(accesses.narrow_loads == 2);  // the bias, which is one value for each column of a tile
  CHECK(accesses.narrow_stores == 0);
}

TEST_CASE("rows that are gathered move by 16 bytes, their index alone") {
  const std::optional<Nvrtc> nvrtc = nvrtc_here();
  if (!nvrtc) return;
  const auto [vector, accesses] = compiled_golden("embedding", *nvrtc);
  CHECK(vector == 4);
  CHECK(accesses.wide_loads == 2);  // prompt and table
  CHECK(accesses.wide_stores == 1);
  CHECK(accesses.narrow_loads == 1);
  CHECK(accesses.narrow_stores == 0);
}

TEST_CASE("no access is wider than the plan says") {
  const std::optional<Nvrtc> nvrtc = nvrtc_here();
  if (!nvrtc) return;
  const auto [vector, accesses] = compiled_golden("bias_gradient", *nvrtc);
  CHECK(vector == 2);
  CHECK(accesses.wide_loads == 0);
  CHECK(accesses.narrow_loads > 0);
  CHECK(accesses.wide_stores == 0);
  CHECK(accesses.narrow_stores == 2);  // of partial sums, and of the mean
}
