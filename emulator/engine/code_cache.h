// Decoded instructions by device address. Code is decoded when it is first reached, never linearly.
//
// A code range is divided into chunks of kChunkInsts dwords; a chunk holds an Inst slot per dword,
// so that stepping and most jumps are pointer arithmetic. A slot not reached yet has a handler that
// decodes it and runs it again; the slots after a chunk's end have one that crosses into the next
// chunk.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "emulator/decode/inst.h"
#include "emulator/engine/backend.h"
#include "emulator/engine/observer.h"
#include "emulator/engine/wave64.h"
#include "emulator/memory/memory_map.h"

namespace gfxgraph::emulator {

// Thread-safe. Pointers to Insts stay valid until drop().
class CodeCache {
 public:
  // Code is decoded for one wave size: the same bytes mean other lane masks in the other one.
  enum class WaveSize : uint8_t { k32, k64 };
  // And for the default float mode, or for any.
  enum class Mode : uint8_t { kDefault, kAny };
  CodeCache(MemoryMap& memory, const Backend& backend, void* observer, WaveSize wave_size,
            Mode mode, const HostFunctions* host_functions)
      : memory_(memory),
        backend_(backend),
        observer_(observer),
        wave_size_(wave_size),
        mode_(mode),
        host_functions_(host_functions),
        half_insts_(backend.keeps_operands) {}
  ~CodeCache();
  CodeCache(const CodeCache&) = delete;
  CodeCache& operator=(const CodeCache&) = delete;

  // The slot of the instruction at `pc`, decoded or not; null when pc is misaligned or in no memory
  // region.
  const Inst* at(uint64_t pc);
  // Drops what was decoded in [address, address + bytes). None of it may be running.
  void drop(uint64_t address, uint64_t bytes);
  // Decodes what stands at `pc` without keeping it, for messages. `words`, `dwords` may be null.
  DecodeStatus decode_at(uint64_t pc, Inst& inst, std::array<uint32_t, 5>* words,
                         size_t* dwords) const;
  // Decodes a slot; called by the undecoded slot's handler. Null: `wave.fault` says why.
  const Inst* decode_slot(Wave& wave, const Inst* slot);

 private:
  struct Chunk;
  struct Range {
    uint64_t base = 0;  // device address, a multiple of a chunk's bytes
    uint64_t end = 0;
    std::vector<std::atomic<Chunk*>> chunks;
    std::vector<std::unique_ptr<HalfPlan>> plans;  // wave64; writers only
  };
  struct Ranges {
    std::vector<std::shared_ptr<Range>> sorted;
  };
  Range* find_range(uint64_t pc) const;
  Range* add_range(uint64_t pc);
  Chunk* chunk(Range& range, size_t index);
  void publish(std::unique_ptr<const Ranges> ranges);
  static void free_chunks(Range& range);
  // Describes an instruction to the observer and gives the handler with its hooks.
  Handler observe(const Inst& inst, Handler handler);

  MemoryMap& memory_;
  const Backend& backend_;
  void* observer_;
  const WaveSize wave_size_;
  const Mode mode_;
  const HostFunctions* const host_functions_;  // may be null
  HalfInsts half_insts_;                       // writers only; kept until the end
  mutable std::mutex mutex_;                   // writers; readers use published snapshots
  std::atomic<const Ranges*> ranges_{nullptr};
  std::vector<std::unique_ptr<const Ranges>> all_ranges_;  // readers may still look at old ones
};

// The caches of one wave size.
struct CodeCaches {
  CodeCache default_mode;
  CodeCache any_mode;
  CodeCaches(MemoryMap& memory, const Backend& backend, void* observer,
             CodeCache::WaveSize wave_size, const HostFunctions* host_functions)
      : default_mode(memory, backend, observer, wave_size, CodeCache::Mode::kDefault,
                     host_functions),
        any_mode(memory, backend, observer, wave_size, CodeCache::Mode::kAny, host_functions) {}
  void drop(uint64_t address, uint64_t bytes) {
    default_mode.drop(address, bytes);
    any_mode.drop(address, bytes);
  }
};

}  // namespace gfxgraph::emulator
