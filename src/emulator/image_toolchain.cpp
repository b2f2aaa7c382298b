#include "emulator/image_toolchain.h"

#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <string_view>

#include "emulator/embedded_text.h"
#include "graph/error.h"
#include "graph/subprocess.h"

namespace stitch {
namespace fs = std::filesystem;
namespace {

const char* variant_name(ImageVariant variant) {
  switch (variant) {
    case ImageVariant::kPlain:
      return "plain";
    case ImageVariant::kChecked:
      return "checked";
  }
  return "";
}

// The text in front of every unit.
std::string prelude_text(ImageVariant variant, const std::vector<SourceText>& device_headers) {
  std::string text;
  if (variant == ImageVariant::kChecked) text += "#define STITCH_EMULATOR_CHECKED 1\n";
  text += "#include \"simt.h\"\n#include \"kernel_table.h\"\n";
  for (const SourceText& header : device_headers) text += "#include \"" + header.name + "\"\n";
  return text;
}

// FNV-1a over all that decides what the precompiled headers contain.
class ContentHash {
 public:
  void add(std::string_view text) {
    for (const char c : text) step(static_cast<unsigned char>(c));
    step(0);
  }
  std::string hex() const {
    static constexpr std::string_view kDigits = "0123456789abcdef";
    std::string digits;
    for (int shift = 60; shift >= 0; shift -= 4) digits += kDigits[state_ >> shift & 15u];
    return digits;
  }

 private:
  void step(unsigned char byte) { state_ = (state_ ^ byte) * 0x100000001b3ull; }
  std::uint64_t state_ = 0xcbf29ce484222325ull;
};

void append(std::vector<std::string>& to, const std::vector<std::string>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

// Other processes may read the folder: a file appears complete or not at all, and is never
// rewritten (compilers compare the times of precompiled headers).
void write_once(const fs::path& path, const std::string& text) {
  if (fs::exists(path)) return;
  const fs::path draft = path.string() + "." + std::to_string(getpid());
  std::ofstream(draft, std::ios::binary) << text;
  fs::rename(draft, path);
}

}  // namespace

ImageToolchain::ImageToolchain(const HostImageOptions& options)
    : compiler_(find_program(options.compiler)),
      knows_device_headers_(!options.device_headers.empty()),
      cuda_include_folder_(options.cuda_include_folder) {
  if (compiler_.empty())
    throw ModelError(
        "host images need a C++ compiler, but '" + options.compiler +
        "' is not on PATH\nhelp: install g++ or clang++, or leave out host from --arch");
  if (!fs::exists(cuda_include_folder_ / "cuda_fp16.h"))
    throw ModelError("host images need the CUDA headers, but '" + cuda_include_folder_.string() +
                     "' holds no cuda_fp16.h");
  const std::string version = run_process({compiler_, "--version"}).output;
  is_clang_ = version.find("clang") != std::string::npos;
  is_x86_64_ = run_process({compiler_, "-dumpmachine"}).output.rfind("x86_64", 0) == 0;

  ContentHash hash;
  hash.add(compiler_);
  hash.add(version);
  hash.add(cuda_include_folder_.string());
  for (const ImageVariant variant : {ImageVariant::kPlain, ImageVariant::kChecked}) {
    for (const std::string& flag : flags(variant)) hash.add(flag);
    hash.add(prelude_text(variant, options.device_headers));
  }
  for (const SourceText& header : emulator_headers()) hash.add(header.text);
  for (const SourceText& header : options.device_headers) hash.add(header.text);

  if (options.cache_folder.empty()) {
    private_folder_ = std::make_unique<PrivateFolder>();
    folder_ = private_folder_->path();
  } else {
    folder_ = fs::absolute(options.cache_folder) / ("host_image_" + hash.hex());
  }
  for (const ImageVariant variant : {ImageVariant::kPlain, ImageVariant::kChecked}) {
    fs::create_directories(folder_ / variant_name(variant));
    write_once(prelude(variant), prelude_text(variant, options.device_headers));
  }
  for (const SourceText& header : emulator_headers())
    write_once(folder_ / header.name, header.text);
  for (const SourceText& header : options.device_headers)
    write_once(folder_ / header.name, header.text);
}

fs::path ImageToolchain::prelude(ImageVariant variant) const {
  return folder_ / variant_name(variant) / "prelude.h";
}

std::vector<std::string> ImageToolchain::flags(ImageVariant variant) const {
  std::vector<std::string> flags = {
      "-std=c++17",
      "-fPIC",
      "-w",                    // the text is checked by NVRTC
      "-ffp-contract=off",     // products and sums round as written
      "-fno-strict-aliasing",  // as nvcc
      "-fno-math-errno",       // square roots are one instruction
      "-fno-exceptions",
      "-fvisibility=hidden",
      "-fvisibility-inlines-hidden",
      "-I" + folder_.string(),
      "-I" + cuda_include_folder_.string(),
      "-fdebug-prefix-map=" + folder_.string() + "=device"};  // images do not depend on the folder
  if (!is_clang_) append(flags, {"-fno-gnu-unique", "-gno-record-gcc-switches"});
  // Without the instruction, fmaf is a call: own contractions take 4 times as long.
  if (is_x86_64_) append(flags, {"-mavx2", "-mfma"});
  switch (variant) {
    case ImageVariant::kPlain:
      // Half the compile time of -O2 and as fast on kernels.
      append(flags, {"-g0", is_clang_ ? "-O2" : "-O1"});
      if (!is_clang_)
        append(flags,
               {"-ftree-slp-vectorize", "-ftree-loop-vectorize", "-fvect-cost-model=dynamic"});
      break;
    case ImageVariant::kChecked:
      append(flags, {"-O1", "-g1", "-fsanitize=thread"});
      if (is_clang_)
        append(flags, {"-mllvm", "-tsan-instrument-func-entry-exit=0"});
      else
        append(flags, {"--param", "tsan-instrument-func-entry-exit=0"});
      break;
  }
  return flags;
}

// Compilers run in the folder of the headers: the current one must not show in debug information.
void ImageToolchain::run(const std::vector<std::string>& command, const char* failure) const {
  const ProcessResult result = run_process(command, folder_.string());
  if (result.exit_code != 0) throw InternalError(std::string(failure) + "\n" + result.output);
}

void ImageToolchain::prepare(ImageVariant variant) const {
  const fs::path header = prelude(variant);
  const fs::path compiled = header.string() + (is_clang_ ? ".pch" : ".gch");
  if (fs::exists(compiled)) return;
  const fs::path draft = compiled.string() + "." + std::to_string(getpid());
  std::vector<std::string> command = {compiler_};
  append(command, flags(variant));
  append(command, {"-x", "c++-header", header.string(), "-o", draft.string()});
  run(command, "the emulator's headers do not compile with the host compiler");
  fs::rename(draft, compiled);
}

void ImageToolchain::compile(ImageVariant variant, const fs::path& source,
                             const fs::path& object) const {
  std::vector<std::string> command = {compiler_};
  append(command, flags(variant));
  append(command,
         {"-fdebug-prefix-map=" + source.parent_path().string() + "=unit", "-include",
          prelude(variant).string(), "-x", "c++", "-c", source.string(), "-o", object.string()});
  run(command, "the host compiler rejects emitted CUDA text");
}

void ImageToolchain::link(const std::vector<fs::path>& objects,
                          const fs::path& shared_object) const {
  // Not linked with -fsanitize=thread: the callbacks are in the image itself.
  std::vector<std::string> command = {compiler_, "-shared", "-Wl,--no-undefined", "-Wl,-z,now"};
  for (const fs::path& object : objects) command.push_back(object.string());
  append(command, {"-o", shared_object.string()});
  run(command, "the host compiler cannot link a host image");
}

}  // namespace stitch
