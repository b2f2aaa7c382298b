#include "runtime/weights.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "runtime/content_hash.h"
#include "runtime/launcher_error.h"

namespace STITCH_RUNTIME_NAMESPACE {
namespace {

constexpr char kFileName[] = "/weights.bin";

// A file mapped for reading.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) fail(path);
    struct stat status = {};
    if (fstat(file, &status) == 0) bytes_ = static_cast<std::size_t>(status.st_size);
    if (bytes_ > 0) data_ = mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE, file, 0);
    ::close(file);
    if (data_ == MAP_FAILED) fail(path);
  }
  ~MappedFile() {
    if (data_ != nullptr) munmap(data_, bytes_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  [[noreturn]] static void fail(const std::string& path) {
    throw LauncherError(Status::kWeights, "cannot read '" + path + "': " + std::strerror(errno));
  }

  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// The folders where weights.bin may be when the caller does not say: that of the shared library or
// program that this code is part of, and the one above it (the library lies in BUNDLE/lib).
std::vector<std::string> folders_beside_this_code() {
  Dl_info info = {};
  if (dladdr(reinterpret_cast<const void*>(&kFileName), &info) == 0 || info.dli_fname == nullptr) {
    return {"."};
  }
  const std::string file = info.dli_fname;
  const std::size_t slash = file.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : file.substr(0, slash);
  return {folder, folder + "/.."};
}

std::string weights_file(const std::string& bundle_dir) {
  if (!bundle_dir.empty()) return bundle_dir + kFileName;
  const std::vector<std::string> folders = folders_beside_this_code();
  for (const std::string& folder : folders) {
    if (access((folder + kFileName).c_str(), R_OK) == 0) return folder + kFileName;
  }
  throw LauncherError(Status::kWeights, "no weights.bin in '" + folders.front() +
                                            "' or above it\nhelp: set bundle_dir in the options");
}

void check_caller_memory(const LaunchProgram& program, const WeightsSource& source) {
  if (source.device_bytes < program.weights_bytes) {
    throw LauncherError(Status::kWeights,
                        "the weights given hold " + std::to_string(source.device_bytes) +
                            " bytes, the model's have " + std::to_string(program.weights_bytes));
  }
  if (!source.device_hash.empty() && source.device_hash != program.weights_hash) {
    throw LauncherError(Status::kWeights, "the weights given have the hash " + source.device_hash +
                                              ", the model's have " + program.weights_hash);
  }
}

void check_file(const LaunchProgram& program, const std::string& path, const MappedFile& file,
                bool verify) {
  if (file.bytes() != program.weights_bytes) {
    throw LauncherError(Status::kWeights, "'" + path + "' has " + std::to_string(file.bytes()) +
                                              " bytes, the model's weights have " +
                                              std::to_string(program.weights_bytes));
  }
  if (!verify) return;
  const std::string hash = content_hash(file.data(), file.bytes());
  if (hash != program.weights_hash) {
    throw LauncherError(Status::kWeights, "'" + path + "' has the hash " + hash +
                                              ", the model's weights have " + program.weights_hash);
  }
}

}  // namespace

Weights::Weights(const Driver& driver, const LaunchProgram& program, const WeightsSource& source)
    : driver_(driver) {
  if (program.weights_bytes == 0) return;
  if (source.device_address != 0) {
    check_caller_memory(program, source);
    address_ = source.device_address;
    return;
  }
  const std::string path = weights_file(source.bundle_dir);
  const MappedFile file(path);
  check_file(program, path, file, source.verify);
  const std::string what = "uploading " + std::to_string(file.bytes()) + " bytes of weights";
  driver.check(driver.memory_allocate(&address_, file.bytes()), "cuMemAlloc", what);
  const CUresult copied = driver.copy_to_device(address_, file.data(), file.bytes());
  if (copied != kCudaSuccess) driver.memory_free(address_);
  driver.check(copied, "cuMemcpyHtoD", what);
  owned_ = true;
}

Weights::~Weights() {
  if (owned_) driver_.memory_free(address_);
}

}  // namespace STITCH_RUNTIME_NAMESPACE
