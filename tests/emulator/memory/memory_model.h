// What memory instructions do, written a second time lane by lane from the RDNA2 ISA guide: data
// types, sign extension, 16-bit halves, atomics. Addresses are the caller's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace gfxgraph::emulator::spec {

enum class AccessType { kLoad, kStore, kAtomic };

struct MemorySpec {
  AccessType type = AccessType::kLoad;
  unsigned bytes = 4;     // of an element
  bool sign = false;      // narrow loads
  bool d16 = false;       // narrow loads that keep the other half
  bool upper = false;     // d16_hi: the register's upper half
  unsigned parts = 1;     // DS: elements of a two-address form
  unsigned scale = 1;     // DS two-address: offsets count this many elements
  std::string operation;  // atomics: add, smin, ...
  bool returns = true;    // DS atomics: the form with a result
  unsigned data_dwords() const { return bytes < 4 ? 1 : bytes / 4; }
};

// Null for instructions that are no plain load, store or atomic.
std::optional<MemorySpec> memory_spec(const std::string& mnemonic);

// A narrow load's register: `value` as it stands in memory.
uint32_t narrow_result(const MemorySpec& spec, uint32_t value, uint32_t old);

// The new contents of memory. `data` is the first data operand, `second` the other one: FLAT and
// MUBUF compare with the second and store the first, DS the other way round.
uint64_t atomic_result(const MemorySpec& spec, uint64_t old, uint64_t data, uint64_t second);

// The test that runs this memory mnemonic, or null.
const char* how_memory_tested(const std::string& mnemonic);

}  // namespace gfxgraph::emulator::spec
