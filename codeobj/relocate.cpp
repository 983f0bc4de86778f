#include "codeobj/relocate.h"

#include <fmt/format.h>
#include <llvm/BinaryFormat/ELF.h>

#include <cstring>
#include <unordered_map>

#include "base/checked.h"

namespace gfxgraph::codeobj {
namespace {

struct Field {
  uint64_t value = 0;
  uint32_t bytes = 0;
};

// Letters as in AMDGPUUsage: S symbol address, A addend, P address of the relocated place, B load
// address.
std::optional<Field> relocated(uint32_t type, uint64_t s, uint64_t a, uint64_t p, uint64_t b) {
  switch (type) {
    case llvm::ELF::R_AMDGPU_ABS32:
    case llvm::ELF::R_AMDGPU_ABS32_LO: return Field{s + a, 4};
    case llvm::ELF::R_AMDGPU_ABS32_HI: return Field{(s + a) >> 32, 4};
    case llvm::ELF::R_AMDGPU_ABS64: return Field{s + a, 8};
    case llvm::ELF::R_AMDGPU_REL32:
    case llvm::ELF::R_AMDGPU_REL32_LO: return Field{s + a - p, 4};
    case llvm::ELF::R_AMDGPU_REL32_HI: return Field{(s + a - p) >> 32, 4};
    case llvm::ELF::R_AMDGPU_REL64: return Field{s + a - p, 8};
    case llvm::ELF::R_AMDGPU_RELATIVE64: return Field{b + a, 8};
    default: return std::nullopt;
  }
}

}  // namespace

uint32_t relocation_bytes(uint32_t type) {
  if (type == llvm::ELF::R_AMDGPU_NONE) return 0;
  const std::optional<Field> field = relocated(type, 0, 0, 0, 0);
  return field ? field->bytes : 1;
}

Result<void> load_segments(const CodeObject& code, std::span<std::byte> memory,
                           uint64_t load_address, const SymbolResolver& resolve) {
  const uint64_t first = code.segments().front().address;
  for (const Segment& segment : code.segments()) {
    if (!range_fits(segment.address - first, segment.memory_bytes, memory.size())) {
      return fail(Status::kInvalidArgument,
                  fmt::format("a code object of {} bytes does not fit into {} bytes",
                              code.load_size_bytes(), memory.size()));
    }
    if (segment.file_bytes == 0) continue;
    std::memcpy(memory.data() + (segment.address - first),
                code.bytes().data() + segment.file_offset, segment.file_bytes);
  }
  std::unordered_map<std::string_view, uint64_t> defined;
  if (!code.relocations().empty()) {
    for (const Symbol& symbol : code.symbols()) {
      if (!symbol.undefined) defined.emplace(symbol.name, load_address + symbol.address);
    }
  }
  for (const DynamicRelocation& relocation : code.relocations()) {
    if (relocation.type == llvm::ELF::R_AMDGPU_NONE) continue;
    uint64_t symbol = 0;
    if (relocation.type != llvm::ELF::R_AMDGPU_RELATIVE64) {
      if (relocation.symbol.empty()) {
        return fail(Status::kUnsupported,
                    fmt::format("relocation at {:#x}: type {} (r_info) has no symbol",
                                relocation.address, relocation.type));
      }
      const auto found = defined.find(relocation.symbol);
      const std::optional<uint64_t> address =
          found != defined.end() ? std::optional(found->second) : resolve(relocation.symbol);
      if (!address) {
        return fail(Status::kNotFound, fmt::format("relocation at {:#x}: symbol {} is not defined",
                                                   relocation.address, relocation.symbol));
      }
      symbol = *address;
    }
    const std::optional<Field> field =
        relocated(relocation.type, symbol, static_cast<uint64_t>(relocation.addend),
                  load_address + relocation.address, load_address);
    if (!field) {
      return fail(Status::kUnsupported,
                  fmt::format("relocation at {:#x}: type {} (r_info) is not supported",
                              relocation.address, relocation.type));
    }
    if (!range_fits(relocation.address - first, field->bytes, memory.size())) {
      return fail(Status::kCorrupt, fmt::format("relocation at {:#x} lies outside the loaded bytes",
                                                relocation.address));
    }
    std::memcpy(memory.data() + (relocation.address - first), &field->value, field->bytes);
  }
  return {};
}

}  // namespace gfxgraph::codeobj
