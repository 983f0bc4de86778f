// Records the effects of the current instruction of this thread outside of its wave: writes that
// change memory, reads, messages. Active only while a ProgressCheck (progress_check.h) steps waves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "emulator/memory/memory_map.h"

namespace gfxgraph::emulator {

// Used by one thread. Between its construction and destruction it is current() there.
class AccessWatch {
 public:
  AccessWatch();
  ~AccessWatch();
  AccessWatch(const AccessWatch&) = delete;
  AccessWatch& operator=(const AccessWatch&) = delete;

  // The watch of this thread; null: none.
  static AccessWatch* current() noexcept;
  // Something outside of the wave changes, or may: the clock, a message, the global wave sync.
  static void note_change() noexcept;

  // From find_range(), before the access. False: the range is too long to be watched as a whole;
  // the lanes are done one by one then.
  bool access(const Region& region, uint64_t address, uint64_t bytes, bool write);

  void begin_instruction();
  // Whether the instruction changed memory that others see, or did something of note_change().
  bool changed() const;
  // Device address of its first access that was looked up, 0 when there was none.
  uint64_t address() const { return address_; }
  // Whether any access since construction was to memory that the host may write.
  bool host_memory() const { return host_memory_; }

 private:
  struct Written {
    const std::byte* host;
    size_t begin;  // in old_
    size_t bytes;
  };
  AccessWatch* const outer_;
  bool noted_ = false;
  bool host_memory_ = false;
  uint64_t address_ = 0;
  std::vector<Written> written_;
  std::vector<std::byte> old_;
};

}  // namespace gfxgraph::emulator
