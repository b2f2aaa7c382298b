// Registers, spills and shared memory of kernels, read back from what the assembler made.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace stitch {

struct KernelResources {
  int registers = 0;        // per thread
  int64_t stack_bytes = 0;  // per thread: local arrays and spilled registers
  int64_t spill_bytes = 0;  // per thread, stored; known only from the compiler's log
  int64_t static_shared_bytes = 0;
  int64_t code_bytes = 0;
};

// By kernel name, from the ELF sections and .nv.info of a cubin. InternalError when it is no cubin.
std::map<std::string, KernelResources> read_cubin_resources(std::span<const std::byte> cubin);

// Adds the spill stores that `-Xptxas -v` wrote into the log.
void read_spills(const std::string& log, std::map<std::string, KernelResources>& resources);

}  // namespace stitch
