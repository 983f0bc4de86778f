// The recorded process's device memory: every buffer has its recorded device address and its bytes
// in this process.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "check/budget.h"
#include "check/memory/device_bytes.h"
#include "check/memory/freed_ranges.h"
#include "emulator/memory/memory_map.h"
#include "format/trace.h"

namespace gfxgraph::check {

// Not thread-safe, but kernels may use the memory map concurrently.
class DeviceMemory {
 public:
  // Places the check's own memory (code without a recorded address, arguments) well below all
  // recorded buffers of `events`. All live buffers count against the budget, which must outlive
  // this.
  DeviceMemory(const std::vector<format::Event>& events, Budget& budget);

  emulator::MemoryMap& map() { return map_; }

  // Adds a buffer of zeros at its recorded address. Fails if it overlaps another; kOutOfMemory
  // beyond the budget.
  Result<void> begin(const format::AllocationBegin& allocation);
  // A module global: within a code object that the check has loaded or, if the object does not
  // contain it, separate memory as in begin(). Never within another recorded buffer.
  Result<void> begin_global(const format::AllocationBegin& allocation);
  // `freed` false: the buffer is alive, but the trace does not describe it any further.
  void end(format::AllocationId id, bool freed = true);

  // Bytes of a live allocation, valid until it ends; kCorrupt if it is not live or the range
  // exceeds it.
  Result<std::span<std::byte>> bytes(format::AllocationId id, uint64_t offset, uint64_t size);
  // The address of a live allocation.
  std::optional<uint64_t> address_of(format::AllocationId id) const;
  // The bytes from `offset` to the allocation's end.
  Result<std::span<std::byte>> bytes_from(format::AllocationId id, uint64_t offset);

  // Adds memory of the check itself, at `address` or, if 0, at an address of its choice. Returns
  // the address.
  Result<uint64_t> add_own(uint64_t size_bytes, emulator::RegionKind kind, const std::string& name,
                           uint64_t address = 0);
  // `address`: of add_own(). No recorded buffer may be within.
  void remove_own(uint64_t address);
  // Adds address space for a heap, with Region::tag `tag`. Its region has one requested byte, so
  // observers check every access. The caller counts touched memory against the budget. The result
  // is borrowed.
  Result<DeviceBytes*> add_heap(uint64_t address, uint64_t size_bytes, uint64_t tag);
  std::span<std::byte> own_bytes(uint64_t address);
  // Eight bytes of mapped memory, at any address of it.
  std::optional<uint64_t> word_at(uint64_t address) const;
  // Returns an address, never used again, for a recorded allocation that has none that kernels
  // know: an array.
  Result<uint64_t> choose_address(uint64_t size_bytes);
  // A part of own memory that is a buffer to the program: a variable in a code object.
  struct Part {
    std::string name;
    uint64_t offset = 0;  // from the start of the own memory
    uint64_t size = 0;
    uint64_t room = 0;  // >= size; the rest is slack
  };
  // From now on, accesses are checked against the parts, which must be sorted by offset and not
  // overlap; bytes between parts belong to the whole. Call before any other buffer is placed
  // nearby.
  Result<void> divide_own(uint64_t address, const std::vector<Part>& parts);
  // Sets bytes of a live allocation to one value, without touching the memory of long ranges.
  Result<void> fill(format::AllocationId id, uint64_t offset, uint64_t size, uint8_t value);

  // The recorded buffer nearest to an address, or the freed one that held it.
  std::optional<NearestBuffer> nearest(uint64_t address) const;
  // The same for the live buffer at `buffer_address`, even if another is nearer. Empty if there is
  // none.
  std::optional<NearestBuffer> relative_to(uint64_t buffer_address, uint64_t address) const;
  const FreedRanges& freed() const { return freed_; }
  // Whether a byte of the range cannot be written: executable code.
  bool is_read_only(uint64_t address, uint64_t size) const;
  // The allocation or other range that holds the byte: "buffer #3"; "": none.
  std::string owner(uint64_t address) const;

 private:
  // "buffer #3", "g_table", with the name that the program gave it last.
  std::string buffer_name(const format::AllocationBegin& allocation) const;
  struct Buffer {
    format::AllocationId id = 0;  // 0: the check's own
    std::string name;
    uint64_t address = 0;
    uint64_t size = 0;    // as requested
    uint64_t mapped = 0;  // without the part that other buffers occupy
    emulator::RegionKind kind = emulator::RegionKind::kDevice;
    // Shared by a code object and the globals in it; freed with the last of them.
    std::shared_ptr<DeviceBytes> bytes;
    uint64_t offset = 0;  // of `address` within `bytes`
    std::vector<Part> parts;

    std::byte* host() const { return bytes->data() + offset; }
  };

  const Buffer* find(format::AllocationId id) const;
  Result<void> insert(Buffer buffer);
  // The buffer's regions in the memory map; several if it has parts.
  static std::vector<emulator::Region> regions_of(const Buffer& buffer);
  Result<void> publish(const Buffer& buffer);
  bool unpublish(const Buffer& buffer);
  void shrink_slack_before(uint64_t address);
  void add_alias(const format::AllocationBegin& allocation);
  NearestBuffer describe(const Buffer& buffer, uint64_t address) const;

  std::unordered_map<format::AllocationId, std::string> names_;  // given by the program
  Budget& budget_;
  emulator::MemoryMap map_;
  std::map<uint64_t, Buffer> by_address_;  // except those within others
  std::unordered_map<format::AllocationId, Buffer, SeededHash> inside_;
  std::unordered_map<format::AllocationId, uint64_t, SeededHash> addresses_;  // of live allocations
  std::unordered_map<format::AllocationId, uint64_t, SeededHash> aliases_;  // the host's addresses
  FreedRanges freed_;
  uint64_t next_own_ = 0;
  std::shared_ptr<DeviceBytes> heap_;
};

}  // namespace gfxgraph::check
