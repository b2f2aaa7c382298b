#include "emit_cuda/compile/cubin_resources.h"

#include <elf.h>

#include <cstring>
#include <string_view>

#include "graph/error.h"

namespace stitch {

namespace {

// Attribute numbers of .nv.info, as cuobjdump --dump-elf names them.
constexpr uint8_t kFormatSized = 4;            // EIFMT_SVAL: a 16-bit size and that many bytes
constexpr uint8_t kAttributeRegisters = 0x2f;  // EIATTR_REGCOUNT: symbol, registers
constexpr uint8_t kAttributeFrame = 0x11;      // EIATTR_FRAME_SIZE: symbol, stack bytes

template <class T>
T read_at(std::span<const std::byte> bytes, size_t offset) {
  if (offset + sizeof(T) > bytes.size()) throw InternalError("a cubin ends in the middle");
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

std::string_view text_at(std::span<const std::byte> bytes, size_t offset) {
  if (offset >= bytes.size()) throw InternalError("a cubin ends in the middle");
  const char* start = reinterpret_cast<const char*>(bytes.data()) + offset;
  return {start, strnlen(start, bytes.size() - offset)};
}

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (text.substr(0, prefix.size()) != prefix) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// Sections of an ELF file, with the symbol table that .nv.info refers to.
struct Elf {
  std::span<const std::byte> bytes;
  Elf64_Ehdr header{};

  Elf64_Shdr section(size_t index) const {
    return read_at<Elf64_Shdr>(bytes, header.e_shoff + index * sizeof(Elf64_Shdr));
  }
  std::string_view section_name(const Elf64_Shdr& section_header) const {
    return text_at(bytes, section(header.e_shstrndx).sh_offset + section_header.sh_name);
  }
  std::string_view symbol_name(uint32_t symbol) const {
    for (size_t i = 0; i < header.e_shnum; ++i) {
      const Elf64_Shdr table = section(i);
      if (table.sh_type != SHT_SYMTAB) continue;
      const auto entry = read_at<Elf64_Sym>(bytes, table.sh_offset + symbol * sizeof(Elf64_Sym));
      return text_at(bytes, section(table.sh_link).sh_offset + entry.st_name);
    }
    throw InternalError("a cubin has no symbol table");
  }
};

// The entries of the global .nv.info that name a symbol and a number.
void read_info(const Elf& elf, const Elf64_Shdr& section,
               std::map<std::string, KernelResources>& resources) {
  size_t at = section.sh_offset;
  const size_t end = section.sh_offset + section.sh_size;
  while (at + 4 <= end) {
    const auto format = read_at<uint8_t>(elf.bytes, at);
    const auto attribute = read_at<uint8_t>(elf.bytes, at + 1);
    const auto size = format == kFormatSized ? read_at<uint16_t>(elf.bytes, at + 2) : uint16_t{0};
    if (size == 8) {
      const std::string kernel(elf.symbol_name(read_at<uint32_t>(elf.bytes, at + 4)));
      const auto value = static_cast<int>(read_at<uint32_t>(elf.bytes, at + 8));
      if (attribute == kAttributeRegisters) resources[kernel].registers = value;
      if (attribute == kAttributeFrame) resources[kernel].stack_bytes = value;
    }
    at += 4u + size;
  }
}

}  // namespace

std::map<std::string, KernelResources> read_cubin_resources(std::span<const std::byte> cubin) {
  Elf elf{cubin, read_at<Elf64_Ehdr>(cubin, 0)};
  if (std::memcmp(elf.header.e_ident, ELFMAG, SELFMAG) != 0)
    throw InternalError("what NVRTC returned is not an ELF file");
  std::map<std::string, KernelResources> all;
  for (size_t i = 0; i < elf.header.e_shnum; ++i) {
    const Elf64_Shdr section = elf.section(i);
    std::string_view name = elf.section_name(section);
    if (name == ".nv.info")
      read_info(elf, section, all);
    else if (take_prefix(name, ".text."))
      all[std::string(name)].code_bytes = static_cast<int64_t>(section.sh_size);
    else if (take_prefix(name, ".nv.shared.") && name.substr(0, 8) != "reserved")
      all[std::string(name)].static_shared_bytes = static_cast<int64_t>(section.sh_size);
  }
  // Device functions that were not inlined have no .text section of a kernel's own.
  std::erase_if(all, [](const auto& entry) { return entry.second.code_bytes == 0; });
  return all;
}

void read_spills(const std::string& log, std::map<std::string, KernelResources>& resources) {
  constexpr std::string_view kEntry = "Compiling entry function '";
  constexpr std::string_view kSpill = " bytes spill stores";
  for (size_t at = log.find(kEntry); at != std::string::npos;) {
    const size_t start = at + kEntry.size();
    const std::string kernel = log.substr(start, log.find('\'', start) - start);
    at = log.find(kEntry, start);
    const size_t spill = log.find(kSpill, start);
    if (spill == std::string::npos || spill >= at) continue;
    const size_t digits = log.find_last_not_of("0123456789", spill - 1) + 1;
    resources[kernel].spill_bytes = std::stoll(log.substr(digits, spill - digits));
  }
}

}  // namespace stitch
