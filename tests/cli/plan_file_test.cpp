// Plans as files: written, read back instead of planning, and refused where they are of something
// else or make no sense. And the plan in which one kernel alone is stitched.
#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "sample_models.h"
#include "stitchc_run.h"
#include "support/catch.h"

namespace stitch {

namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

std::string text_of(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

// The first `from` of the plan replaced, written beside it.
std::string edited(const std::string& plan, const std::string& from, const std::string& to) {
  std::string text = text_of(plan);
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  text.replace(at, from.size(), to);
  const std::string file = plan + ".edited";
  std::ofstream(file, std::ios::binary) << text;
  return file;
}

std::string written_plan(const SoftmaxModel& model) {
  const std::string plan = model.beside("softmax.plan");
  const StitchcRun run =
      run_stitchc({"plan", model.file(), "--dim=batch=3", "--write", plan, "--json"});
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  return plan;
}

StitchcRun plan_with(const SoftmaxModel& model, const std::string& plan) {
  return run_stitchc({"plan", model.file(), "--dim=batch=3", "--plan", plan, "--text"});
}

// y = Softmax(Softmax(x) w) with names: a kernel, a product, a kernel.
std::string two_softmaxes(const TemporaryFolder& folder) {
  ModelBuilder model;
  model.input("x", DType::kF32, {"4", "8"})
      .initializer("w", f32({8, 8}, std::vector<double>(64, 0.25)))
      .node("Softmax", {"x"}, {"p"}, {}, {.name = "first"})
      .node("MatMul", {"p", "w"}, {"h"}, {}, {.name = "project"})
      .node("Softmax", {"h"}, {"y"}, {}, {.name = "second"})
      .output("y");
  return model.save(folder.path() / "model.onnx").string();
}

int64_t kernels_of(const std::string& file, const std::vector<std::string>& flags) {
  std::vector<std::string> arguments = {"plan", file, "--json"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  const StitchcRun run = run_stitchc(arguments);
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  return Json::parse(run.out)["kernels"];
}

}  // namespace

TEST_CASE("a plan that was written is read back and compiled to the same sources") {
  const SoftmaxModel model;
  const std::string plan = written_plan(model);
  const StitchcRun read = plan_with(model, plan);
  INFO(read.err);
  REQUIRE(read.exit_code == 0);
  CHECK(read.out == text_of(plan) + "\n");

  const std::string planned = model.beside("planned"), from_file = model.beside("from_file");
  REQUIRE(run_stitchc({"compile", model.file(), "--dim=batch=3", "-o", planned}).exit_code == 0);
  REQUIRE(run_stitchc({"compile", model.file(), "--dim=batch=3", "-o", from_file, "--plan", plan})
              .exit_code == 0);
  const Json a = Json::parse(text_of(planned + "/manifest.json"));
  Json b = Json::parse(text_of(from_file + "/manifest.json"));
  CHECK(b["architectures"] == a["architectures"]);
  const std::string source = "/src/kernels/sm_80/k00_mul_softmax.cu";
  REQUIRE(fs::exists(planned + source));
  CHECK(text_of(from_file + source) == text_of(planned + source));
  CHECK(text_of(from_file + "/images/program.bin") == text_of(planned + "/images/program.bin"));
}

TEST_CASE("verify runs the edited plan of a file") {
  const SoftmaxModel model;
  const std::string plan = written_plan(model);
  const std::string renamed = edited(plan, "kernel \"k00_", "kernel \"mine_");
  const StitchcRun run = run_stitchc({"verify", model.folder().string(), "--plan", renamed});
  INFO(run.err);
  CHECK(run.exit_code == 0);
  CHECK(run.out.find("Passed.") != std::string::npos);
}

TEST_CASE("a plan of another model, architecture or device is refused") {
  const SoftmaxModel model;
  const std::string plan = written_plan(model);
  const StitchcRun dims = run_stitchc({"plan", model.file(), "--dim=batch=4", "--plan", plan});
  CHECK(dims.exit_code == 1);
  CHECK(dims.err.find("is of another model, of other dims, or of another version") !=
        std::string::npos);
  CHECK(dims.err.find("softmax.plan': plan 1:") != std::string::npos);

  const TemporaryFolder folder;
  CHECK(run_stitchc({"plan", two_softmaxes(folder), "--plan", plan}).exit_code == 1);

  const StitchcRun arch =
      run_stitchc({"plan", model.file(), "--dim=batch=3", "--arch", "sm_90", "--plan", plan});
  CHECK(arch.exit_code == 1);
  CHECK(without(arch.err, model.root())
            .find("error: 'softmax.plan' is a plan for sm_80, and --arch "
                  "asks for sm_90\nhelp: pass --arch sm_80\n") != std::string::npos);
  const StitchcRun more =
      run_stitchc({"plan", model.file(), "--dim=batch=3", "--arch", "sm_80,sm_90", "--plan", plan});
  CHECK(more.exit_code == 1);
  CHECK(more.err.find("--arch asks for sm_90, and no file of --plan is for it") !=
        std::string::npos);
  const StitchcRun absent = plan_with(model, model.beside("absent.plan"));
  CHECK(absent.exit_code == 1);
  CHECK(absent.err.find("cannot read") != std::string::npos);
}

TEST_CASE("nonsense in a plan is named with its place") {
  const SoftmaxModel model;
  const std::string plan = written_plan(model);
  struct Edit {
    std::string from, to, message;
  };
  const std::vector<Edit> edits = {
      {"kernel \"", "colonel \"", "expected the end, found 'colonel'"},
      {"row_threads ", "row_threads x", "expected an integer"},
      {"row_threads ", "row_threads 99999999999", "the number is too large"},
      {"row_threads ", "row_threads -", "a mapping with a number below 1"},
      {" grid ", " grid -", "a mapping with a number below 1"},
      {"nodes [n", "nodes [n9999", "no line before this one defines n9999"},
      {"shared ", "shared 99999999", "bytes of shared memory"},
      {"stage none row", "stage none paraboloid", "\"paraboloid\" is not known here"},
      {"atom a", "atom a5000000", "no plan with so many lines"},
  };
  for (const Edit& edit : edits) {
    INFO(edit.from << " -> " << edit.to);
    const StitchcRun run = plan_with(model, edited(plan, edit.from, edit.to));
    INFO(run.err);
    CHECK(run.exit_code == 1);
    CHECK(run.err.find(edit.message) != std::string::npos);
    CHECK(run.err.find("softmax.plan.edited'") != std::string::npos);
  }
}

TEST_CASE("every problem of a plan is listed with the line of its kernel") {
  const SoftmaxModel model;
  const std::string plan = edited(written_plan(model), "shared ", "shared 99999999");
  const StitchcRun run = plan_with(model, plan);
  CHECK(run.exit_code == 1);
  const std::string text = text_of(plan);
  const auto line =
      1 + std::count(text.begin(), text.begin() + static_cast<long>(text.find("kernel \"")), '\n');
  CHECK(run.err.find("1 problem in '") != std::string::npos);
  CHECK(run.err.find("\n  line " + std::to_string(line) + ": kernel k00_") != std::string::npos);
}

TEST_CASE("a text cut anywhere is refused and never read past its end") {
  const SoftmaxModel model;
  const std::string plan = written_plan(model);
  const std::string text = text_of(plan);
  const std::string cut = model.beside("cut.plan");
  for (size_t length = 0; length + 2 < text.size(); length += text.size() / 12 + 1) {
    std::ofstream(cut, std::ios::binary | std::ios::trunc) << text.substr(0, length);
    INFO(length);
    CHECK(plan_with(model, cut).exit_code == 1);
  }
}

TEST_CASE("a plan file excludes the flags that would plan") {
  const SoftmaxModel model;
  const std::string plan = written_plan(model);
  CHECK(run_stitchc({"plan", model.file(), "--dim=batch=3", "--plan", plan, "--fusion", "none"})
            .exit_code == 1);
  const StitchcRun two = run_stitchc({"plan", model.file(), "--dim=batch=3", "--arch",
                                      "sm_80,sm_90", "--write", model.beside("two.plan")});
  CHECK(two.exit_code == 1);
  CHECK(two.err.find("--write takes the plan of one architecture") != std::string::npos);
}

TEST_CASE("--only-kernel stitches the region of one kernel and nothing else") {
  const TemporaryFolder folder;
  const std::string file = two_softmaxes(folder);
  const int64_t whole = kernels_of(file, {});
  const int64_t none = kernels_of(file, {"--max-fusions", "0"});
  REQUIRE(whole == 2);
  REQUIRE(none > 4);
  // Both regions are equal softmaxes, so either saves the same number of kernels.
  const int64_t first = kernels_of(file, {"--only-kernel", "k00_softmax"});
  const int64_t second = kernels_of(file, {"--only-kernel", "2"});
  CHECK(first > whole);
  CHECK(second > whole);
  CHECK((none - first) + (none - second) == none - whole);
  CHECK(kernels_of(file, {"--only-kernel", "k02"}) == second);

  const StitchcRun run = run_stitchc({"verify", file, "--only-kernel", "k02"});
  INFO(run.err);
  CHECK(run.exit_code == 0);
}

TEST_CASE("--only-kernel names the nearest kernel where there is none") {
  const TemporaryFolder folder;
  const std::string file = two_softmaxes(folder);
  const StitchcRun run = run_stitchc({"plan", file, "--only-kernel", "k00_softmx"});
  CHECK(run.exit_code == 1);
  CHECK(run.err.find("error: --only-kernel k00_softmx: the plan for sm_80 has no such kernel\n"
                     "help: did you mean 'k00_softmax'?\n") != std::string::npos);
  const StitchcRun product =
      run_stitchc({"plan", file, "--contractions", "own", "--only-kernel", "1"});
  CHECK(product.exit_code == 1);
  CHECK(product.err.find("is a contraction, in which nothing is stitched") != std::string::npos);
}

}  // namespace stitch
