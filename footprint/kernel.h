// Which bytes a launch may read and write, by its kernel's code and its arguments: an abstract
// execution of all waves at once, never one execution's accesses.
//
// What it assumes, as C++ does:
// - An address that is computed from one pointer lies within the buffer that the pointer leads to.
//   A number that was read from memory and is added to a pointer is an offset there.
// - No address depends on a register that nobody wrote.
// gfxgraph check finds kernels that break these (E6, U1).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "codeobj/code_object.h"
#include "emulator/memory/memory_map.h"
#include "footprint/value.h"

namespace gfxgraph::footprint {

enum class AccessKind : uint8_t { kRead, kWrite, kAtomic };

// Bytes relative to where a pointer of the arguments leads: from each start, `width` bytes. Starts:
// `starts`, or anywhere.
struct Span {
  Range starts = kAny64;
  uint32_t width = 0;
  bool anywhere() const { return !bounded(starts); }
  bool operator==(const Span&) const = default;
};

struct PointerUse {
  uint32_t pointer = 0;  // index into KernelInput::pointers
  AccessKind kind = AccessKind::kRead;
  std::vector<Span> spans;  // at most kMostSpans
  static constexpr size_t kMostSpans = 8;
};

struct KernelFootprint {
  // Not empty: it may read and write anything, for this reason.
  std::string unknown;
  uint64_t unknown_pc = 0;
  std::vector<PointerUse> uses;  // by pointer and kind
};

// All is borrowed.
struct KernelInput {
  const emulator::RegionTable* memory = nullptr;  // with the code at its ELF addresses
  uint64_t entry = 0;
  const codeobj::KernelDescriptor* descriptor = nullptr;
  std::span<const uint8_t> kernarg;           // explicit and hidden arguments
  std::span<const uint8_t> known;             // for each byte of it: 0: its value is not known
  std::span<const uint32_t> pointers;         // offsets of 8-byte words that are pointers, rising
  std::array<uint32_t, 3> grid = {1, 1, 1};   // in work items
  std::array<uint32_t, 3> block = {1, 1, 1};  // in work items
  // Of the code object, at ELF addresses: bytes that nobody writes, neither loader nor kernels.
  struct Constant {
    uint64_t begin = 0, end = 0;
  };
  std::span<const Constant> constants;
};

KernelFootprint kernel_footprint(const KernelInput& input);

}  // namespace gfxgraph::footprint
