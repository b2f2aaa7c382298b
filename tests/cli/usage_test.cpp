// What a mistyped command line gives: exit code 1, what is wrong, and the nearest name.
#include "sample_models.h"
#include "stitchc_run.h"
#include "support/catch.h"

namespace stitch {

namespace {

const char* const kSeeHelp =
    "help: 'stitchc --help' and 'stitchc COMMAND --help' show every flag\n";

struct Mistake {
  std::vector<std::string> arguments;
  std::string message;
};

}  // namespace

TEST_CASE("help shows examples and exit codes, for each command too") {
  const StitchcRun help = run_stitchc({"--help"});
  CHECK(help.exit_code == 0);
  CHECK(help.out.find("Examples:\n  stitchc check model.onnx\n") != std::string::npos);
  CHECK(help.out.find("Exit codes: 0 done, 1 the model or the flags, 2 NVRTC or the device") !=
        std::string::npos);
  for (const char* command : {"compile", "check", "plan", "inspect", "run", "verify", "profile"}) {
    INFO(command);
    const StitchcRun run = run_stitchc({command, "--help"});
    CHECK(run.exit_code == 0);
    CHECK(run.out.find("Example") != std::string::npos);
    CHECK(run.out.find(std::string("  stitchc ") + command) != std::string::npos);
  }
}

TEST_CASE("an unknown command or flag names the nearest one") {
  const std::vector<Mistake> mistakes = {
      {{}, "error: a subcommand is required\n"},
      {{"frobnicate"}, "error: there is no command 'frobnicate'\n"},
      {{"compil", "m.onnx"},
       "error: there is no command 'compil'\nhelp: did you mean 'stitchc compile'?\n"},
      {{"plan", "m.onnx", "--fuson", "none"},
       "error: the following arguments were not expected: none --fuson\n"
       "help: did you mean '--fusion'?\n"},
      {{"compile", "m.onnx"}, "error: --output is required\n"},
      {{"verify"}, "error: target is required\n"},
      {{"compile", "m.onnx", "-o", "b", "--jobs", "-1"},
       "error: --jobs: Value -1 not in range 1 to 1024\n"},
      {{"compile", "m.onnx", "-o", "b", "--cuda", "/nowhere"},
       "error: --cuda: Directory does not exist: /nowhere\n"},
  };
  for (const Mistake& mistake : mistakes) {
    const StitchcRun run = run_stitchc(mistake.arguments);
    CHECK(run.exit_code == 1);
    CHECK(run.out == "");
    CHECK(run.err == mistake.message + kSeeHelp);
  }
}

TEST_CASE("a value that a flag does not take is refused with those that it takes") {
  const SoftmaxModel model;
  const std::string devices =
      "note: known are v100 (sm_70), t4 (sm_75), a100 (sm_80), a10 (sm_86), l4 (sm_89), "
      "h100 (sm_90), h200 (sm_90), b200 (sm_100)\n";
  const std::vector<Mistake> mistakes = {
      {{"--fusion", "stich"},
       "error: --fusion stich: expected one of none, xla, fusionstitching, astitch, stitch\nhelp: "
       "did you mean 'stitch'?\n"},
      {{"--contractions", "libary"},
       "error: --contractions libary: expected one of library, own\n"
       "help: did you mean 'library'?\n"},
      {{"--arch", "h100"},
       "error: --arch h100: expected sm_75, sm_80, sm_86, sm_89, sm_90, sm_100 or host\n"},
      {{"--arch", "host"},
       "error: --arch host needs an architecture beside it, whose plan it runs\n"},
      {{"--arch", "sm_81"},
       "error: there is no device model for the architecture \"sm_81\"\n" + devices},
      {{"--target", "h10"}, "error: there is no device model for the target \"h10\"\n" + devices},
      {{"--dim", "batch"}, "error: --dim batch: expected NAME=VALUE\n"},
      {{"--dim", "batch=x"}, "error: --dim batch=x: 'x' is not an extent\n"},
      {{"--dim", "batch=-1"}, "error: --dim batch=-1: '-1' is not an extent\n"},
      {{"--dim", "batch=99999999999999999999"},
       "error: --dim batch=99999999999999999999: '99999999999999999999' is not an extent\n"},
      {{"--dim", "bach=3"},
       "error: no input has the dimension 'bach', which is bound to 3\n"
       "help: did you mean 'batch'?\n"},
      {{"--bind", "scores=nofile.npy"}, "error: cannot read 'nofile.npy': no such file\n"},
  };
  for (const Mistake& mistake : mistakes) {
    std::vector<std::string> arguments = {"plan", model.file(), "--dim", "batch=3"};
    arguments.insert(arguments.end(), mistake.arguments.begin(), mistake.arguments.end());
    const StitchcRun run = run_stitchc(arguments);
    CHECK(run.exit_code == 1);
    CHECK(run.out == "");
    const size_t at = run.err.find("error: ");
    REQUIRE(at != std::string::npos);
    CHECK(run.err.substr(at) == mistake.message);
  }
}

}  // namespace stitch
