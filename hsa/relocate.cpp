#include "hsa/relocate.h"

#include <fmt/format.h>

#include <cstring>

#include "base/checked.h"

namespace gfxgraph::hsa {
namespace {

enum Type : uint32_t {
  kNone = 0,
  kAbs32Lo = 1,
  kAbs32Hi = 2,
  kAbs64 = 3,
  kRel32 = 4,
  kRel64 = 5,
  kAbs32 = 6,
  kRel32Lo = 10,
  kRel32Hi = 11,
  kRelative64 = 13,
};

struct Field {
  uint64_t value;
  uint32_t bytes;
};

// S: the symbol's address, P: the place's, B: the load address, A: the addend.
std::optional<Field> evaluate(uint32_t type, uint64_t symbol, uint64_t place, uint64_t load_address,
                              uint64_t addend) {
  const uint64_t absolute = symbol + addend;
  const uint64_t relative = absolute - place;
  switch (type) {
    case kAbs32Lo:
    case kAbs32: return Field{absolute & 0xffffffff, 4};
    case kAbs32Hi: return Field{absolute >> 32, 4};
    case kAbs64: return Field{absolute, 8};
    case kRel32:
    case kRel32Lo: return Field{relative & 0xffffffff, 4};
    case kRel32Hi: return Field{relative >> 32, 4};
    case kRel64: return Field{relative, 8};
    case kRelative64: return Field{load_address + addend, 8};
    default: return std::nullopt;
  }
}

}  // namespace

Result<void> apply_relocations(const codeobj::CodeObject& code, std::span<std::byte> memory,
                               uint64_t first_address, uint64_t load_address,
                               const SymbolResolver& resolve) {
  size_t number = 0;
  for (const codeobj::DynamicRelocation& relocation : code.relocations()) {
    const std::string where = fmt::format("relocation {} (type {}, address {:#x})", number++,
                                          relocation.type, relocation.address);
    if (relocation.type == kNone) continue;
    uint64_t symbol = 0;
    if (relocation.type != kRelative64 && !relocation.symbol.empty()) {
      const std::optional<uint64_t> address = resolve(relocation.symbol);
      if (!address) {
        return fail(Status::kNotFound,
                    fmt::format("{}: symbol {} is not defined", where, relocation.symbol));
      }
      symbol = *address;
    }
    const std::optional<Field> field =
        evaluate(relocation.type, symbol, load_address + relocation.address, load_address,
                 static_cast<uint64_t>(relocation.addend));
    if (!field) return fail(Status::kUnsupported, where + ": this type is not supported");
    const uint64_t offset = relocation.address - first_address;
    if (relocation.address < first_address || !range_fits(offset, field->bytes, memory.size())) {
      return fail(Status::kCorrupt, where + ": lies outside the loaded segments");
    }
    std::memcpy(memory.data() + offset, &field->value, field->bytes);
  }
  return {};
}

}  // namespace gfxgraph::hsa
