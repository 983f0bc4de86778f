// Decoded instructions by device address. Code is decoded when it is first reached, never linearly,
// and only where the code space (code_space.h) has code.
//
// A code range is divided into chunks of kChunkInsts dwords; a chunk holds an Inst slot per dword,
// so that stepping and most jumps are pointer arithmetic. A slot not reached yet has a handler that
// decodes it and runs it again; the slots after a chunk's end have one that crosses into the next
// chunk.
#pragma once

#include <array>
#include <cstdint>

#include "emulator/decode/inst.h"
#include "emulator/engine/backend.h"
#include "emulator/engine/code/code_space.h"
#include "emulator/engine/observer.h"
#include "emulator/memory/memory_map.h"

namespace gfxgraph::emulator {

// Thread-safe. Insts belong to the range that they are decoded from: pointers to them are valid
// while the caller has a CodeSpace::Hold.
class CodeCache {
 public:
  // Code is decoded for one wave size: the same bytes mean other lane masks in the other one.
  enum class WaveSize : uint8_t { k32, k64 };
  // And for the default float mode, or for any.
  enum class Mode : uint8_t { kDefault, kAny };
  CodeCache(CodeSpace& space, MemoryMap& memory, const Backend& backend, void* observer,
            WaveSize wave_size, Mode mode, const HostFunctions* host_functions)
      : space_(space),
        memory_(memory),
        backend_(backend),
        observer_(observer),
        wave_size_(wave_size),
        mode_(mode),
        host_functions_(host_functions) {}
  CodeCache(const CodeCache&) = delete;
  CodeCache& operator=(const CodeCache&) = delete;

  // The slot of the instruction at `pc`, decoded or not; null when pc is misaligned or not in
  // loaded code. Throws std::bad_alloc, also beyond the budget.
  const Inst* at(uint64_t pc);
  // Decodes what stands at `pc` without keeping it, for messages. `words`, `dwords` may be null.
  DecodeStatus decode_at(uint64_t pc, Inst& inst, std::array<uint32_t, 5>* words,
                         size_t* dwords) const {
    return decode_before(pc, UINT64_MAX, inst, words, dwords);
  }
  // Decodes a slot; called by the undecoded slot's handler. Null: `wave.fault` says why.
  const Inst* decode_slot(Wave& wave, const Inst* slot);

 private:
  // Of an instruction that ends before `end`.
  DecodeStatus decode_before(uint64_t pc, uint64_t end, Inst& inst, std::array<uint32_t, 5>* words,
                             size_t* dwords) const;
  size_t index() const {
    return (wave_size_ == WaveSize::k64 ? 2 : 0) + (mode_ == Mode::kAny ? 1 : 0);
  }
  // These three require the space's lock.
  DecodedCode& decoded(CodeRange& range);
  const Inst* make_slot(CodeRange& range, uint64_t pc);
  Handler observe(const Inst& inst, Handler handler);

  CodeSpace& space_;
  MemoryMap& memory_;
  const Backend& backend_;
  void* observer_;
  const WaveSize wave_size_;
  const Mode mode_;
  const HostFunctions* const host_functions_;  // may be null
};

// The caches of one wave size.
struct CodeCaches {
  CodeCache default_mode;
  CodeCache any_mode;
  CodeCaches(CodeSpace& space, MemoryMap& memory, const Backend& backend, void* observer,
             CodeCache::WaveSize wave_size, const HostFunctions* host_functions)
      : default_mode(space, memory, backend, observer, wave_size, CodeCache::Mode::kDefault,
                     host_functions),
        any_mode(space, memory, backend, observer, wave_size, CodeCache::Mode::kAny,
                 host_functions) {}
};

}  // namespace gfxgraph::emulator
