// One instruction of any format on one wave, on the handlers of every instruction set of this host:
// what the tests of scalar and memory rows stand on.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "emulator/engine/backend.h"
#include "emulator/engine/code/code_cache.h"
#include "emulator/engine/context.h"
#include "emulator/engine/gws.h"
#include "emulator/engine/wave.h"
#include "emulator/memory/memory_map.h"

namespace gfxgraph::emulator::testing {

inline uint32_t bits(float f) { return std::bit_cast<uint32_t>(f); }

inline constexpr uint64_t kRowMemoryBytes = 16384;
inline constexpr uint32_t kRowLdsBytes = 4096;
inline constexpr uint64_t kRowScratchBytes = 4096;

// Opcode of (encoding, mnemonic) in the table; ~0 when there is none.
uint32_t opcode_of(const std::string& encoding, const std::string& mnemonic);

// The instruction sets that this host has.
const std::vector<const Backend*>& row_backends();

// A wave with memory around it. Registers, memory, LDS and scratch start as zeros.
class RowHost {
 public:
  RowHost();
  Wave& wave() { return *wave_; }
  uint64_t memory_address() const { return reinterpret_cast<uint64_t>(memory_.get()); }
  uint8_t* memory() { return memory_.get(); }
  uint8_t* lds() { return lds_.get(); }
  uint8_t* scratch() { return scratch_.get(); }
  DispatchContext& context() { return context_; }

  // Runs the instruction at `words`; it must go on to the next one. Returns what went wrong, or "".
  std::string run(const Backend& backend, const std::vector<uint32_t>& words);

 private:
  std::unique_ptr<uint8_t[]> memory_;
  std::unique_ptr<uint8_t[]> lds_;
  std::unique_ptr<uint8_t[]> scratch_;
  MemoryMap map_;
  CodeSpace no_code_{CodeMemory{}};
  std::unique_ptr<CodeCache> code_cache_;
  Gws gws_;
  DispatchContext context_;
  Workgroup group_;
  std::unique_ptr<Wave> wave_;
};

}  // namespace gfxgraph::emulator::testing
