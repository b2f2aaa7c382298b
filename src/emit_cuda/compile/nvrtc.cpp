#include "emit_cuda/compile/nvrtc.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <nvrtc.h>

#include <algorithm>
#include <sstream>

#include "graph/error.h"

namespace stitch {
namespace fs = std::filesystem;

namespace {

constexpr const char* kLibraryNames[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};

// `nvrtcX` as a pointer of its own type, or DeviceError naming the missing symbol.
template <class Function>
Function* find_symbol(void* handle, const char* name, Function*) {
  void* symbol = dlsym(handle, name);
  if (symbol == nullptr)
    throw DeviceError(
        fmt::format("libnvrtc has no function '{}'\nhelp: NVRTC 12.0 or later is "
                    "needed",
                    name));
  return reinterpret_cast<Function*>(symbol);
}

// The text with line numbers; around the lines that the log names, when it names any.
std::string numbered(const std::string& text) {
  std::istringstream in(text);
  std::string line, out;
  for (int number = 1; std::getline(in, line); ++number)
    out += fmt::format("{:5} | {}\n", number, line);
  return out;
}

}  // namespace

struct Nvrtc::Library {
  void* handle = nullptr;
  std::string include_option;
  decltype(&::nvrtcVersion) version = nullptr;
  decltype(&::nvrtcGetNumSupportedArchs) architecture_count = nullptr;
  decltype(&::nvrtcGetSupportedArchs) architectures = nullptr;
  decltype(&::nvrtcCreateProgram) create = nullptr;
  decltype(&::nvrtcDestroyProgram) destroy = nullptr;
  decltype(&::nvrtcCompileProgram) compile = nullptr;
  decltype(&::nvrtcGetProgramLogSize) log_size = nullptr;
  decltype(&::nvrtcGetProgramLog) log = nullptr;
  decltype(&::nvrtcGetCUBINSize) cubin_size = nullptr;
  decltype(&::nvrtcGetCUBIN) cubin = nullptr;
  decltype(&::nvrtcGetPTXSize) ptx_size = nullptr;
  decltype(&::nvrtcGetPTX) ptx = nullptr;
  decltype(&::nvrtcGetErrorString) error_string = nullptr;
};

NvrtcLocation default_nvrtc_location(const fs::path& cuda_home) {
  NvrtcLocation location;
  if (!cuda_home.empty()) {
    location.library_dirs = {cuda_home / "lib64", cuda_home / "lib"};
    location.include_dirs = {cuda_home / "include"};
  }
  location.library_dirs.emplace_back(STITCH_NVRTC_LIBRARY_DIR);
  location.include_dirs.emplace_back(STITCH_CUDA_INCLUDE_DIR);
  return location;
}

Nvrtc::Nvrtc(std::unique_ptr<Library> library) : library_(std::move(library)) {}
Nvrtc::Nvrtc(Nvrtc&&) noexcept = default;
// The library stays loaded: NVRTC keeps state in thread-local storage that must outlive its
// threads.
Nvrtc::~Nvrtc() = default;

namespace {

// NVRTC opens libnvrtc-builtins by its bare name when it compiles. The libraries of the PyPI wheel
// carry no path to each other: what is loaded already is found by that name.
void load_builtins_beside(const fs::path& folder) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("libnvrtc-builtins.so")) {
      dlopen(entry.path().c_str(), RTLD_NOW | RTLD_LOCAL);
    }
  }
}

}  // namespace

Nvrtc Nvrtc::open(const NvrtcLocation& location) {
  auto library = std::make_unique<Library>();
  std::string looked;
  std::vector<fs::path> places = location.library_dirs;
  places.emplace_back();  // the system loader's own search
  for (const fs::path& place : places) {
    for (const char* name : kLibraryNames) {
      const std::string path = (place / name).string();
      if (library->handle != nullptr) break;
      library->handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (library->handle != nullptr) load_builtins_beside(place);
    }
    looked += fmt::format("\nnote: looked {}",
                          place.empty() ? "where the system loader looks" : "in " + place.string());
  }
  if (library->handle == nullptr)
    throw DeviceError("cannot open libnvrtc" + looked +
                      "\nhelp: install a CUDA toolkit or the nvidia-cuda-nvrtc wheel, and name its "
                      "folder with --cuda");
  const auto include =
      std::find_if(location.include_dirs.begin(), location.include_dirs.end(),
                   [](const fs::path& dir) { return fs::exists(dir / "cuda_fp16.h"); });
  if (include == location.include_dirs.end())
    throw DeviceError(
        "cannot find the CUDA header cuda_fp16.h\nhelp: name the folder of a CUDA toolkit with "
        "--cuda");
  library->include_option = "-I" + include->string();
  const auto bind = [&](auto& pointer, const char* name) {
    pointer = find_symbol(library->handle, name, pointer);
  };
  bind(library->version, "nvrtcVersion");
  bind(library->architecture_count, "nvrtcGetNumSupportedArchs");
  bind(library->architectures, "nvrtcGetSupportedArchs");
  bind(library->create, "nvrtcCreateProgram");
  bind(library->destroy, "nvrtcDestroyProgram");
  bind(library->compile, "nvrtcCompileProgram");
  bind(library->log_size, "nvrtcGetProgramLogSize");
  bind(library->log, "nvrtcGetProgramLog");
  bind(library->cubin_size, "nvrtcGetCUBINSize");
  bind(library->cubin, "nvrtcGetCUBIN");
  bind(library->ptx_size, "nvrtcGetPTXSize");
  bind(library->ptx, "nvrtcGetPTX");
  bind(library->error_string, "nvrtcGetErrorString");
  return Nvrtc(std::move(library));
}

std::string Nvrtc::version() const {
  int major = 0, minor = 0;
  library_->version(&major, &minor);
  return fmt::format("{}.{}", major, minor);
}

std::vector<std::string> Nvrtc::architectures() const {
  int count = 0;
  library_->architecture_count(&count);
  std::vector<int> numbers(static_cast<size_t>(count));
  library_->architectures(numbers.data());
  std::vector<std::string> names;
  for (int number : numbers) names.push_back(fmt::format("sm_{}", number));
  return names;
}

NvrtcOutput Nvrtc::compile(const NvrtcInput& input) const {
  std::vector<const char*> header_texts, header_names;
  for (const VirtualHeader& header : input.headers) {
    header_texts.push_back(header.text.c_str());
    header_names.push_back(header.name.c_str());
  }
  nvrtcProgram program = nullptr;
  nvrtcResult result = library_->create(&program, input.text.c_str(), input.name.c_str(),
                                        static_cast<int>(header_texts.size()), header_texts.data(),
                                        header_names.data());
  if (result != NVRTC_SUCCESS)
    throw DeviceError(fmt::format("nvrtcCreateProgram failed for '{}': {}", input.name,
                                  library_->error_string(result)));
  // --minimal leaves out the headers that NVRTC would add by itself; -v puts registers and spills
  // into the log.
  const std::string architecture = "-arch=" + input.architecture;
  const std::vector<const char*> options = {architecture.c_str(),
                                            library_->include_option.c_str(),
                                            "--std=c++17",
                                            "--minimal",
                                            "--modify-stack-limit=false",
                                            "-Xptxas",
                                            "-v"};
  result = library_->compile(program, static_cast<int>(options.size()), options.data());
  NvrtcOutput output;
  size_t size = 0;
  library_->log_size(program, &size);
  output.log.resize(size);
  library_->log(program, output.log.data());
  while (!output.log.empty() && output.log.back() == '\0') output.log.pop_back();
  if (result != NVRTC_SUCCESS) {
    library_->destroy(&program);
    throw DeviceError(fmt::format("nvrtcCompileProgram failed for '{}' ({}): {}\n{}\n{}",
                                  input.name, input.architecture, library_->error_string(result),
                                  output.log, numbered(input.text)));
  }
  library_->cubin_size(program, &size);
  output.cubin.resize(size);
  library_->cubin(program, reinterpret_cast<char*>(output.cubin.data()));
  if (input.wants_ptx) {
    library_->ptx_size(program, &size);
    output.ptx.resize(size);
    library_->ptx(program, output.ptx.data());
  }
  library_->destroy(&program);
  return output;
}

}  // namespace stitch
