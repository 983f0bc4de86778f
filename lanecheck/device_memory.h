// The recorded process's device memory: every buffer at its recorded address, its bytes in this
// process.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "emulator/memory/memory_map.h"
#include "format/trace.h"
#include "lanecheck/budget.h"
#include "lanecheck/check.h"
#include "lanecheck/device_bytes.h"
#include "lanecheck/freed_ranges.h"

namespace gfxgraph::lanecheck {

// Not thread-safe, except for the memory map while kernels run.
class DeviceMemory {
 public:
  // The end of the device addresses that the check itself assigns (code without recorded addresses,
  // arguments): below every recorded buffer's neighbourhood. All live buffers count against the
  // budget, which must outlive this.
  DeviceMemory(const std::vector<format::Event>& events, Budget& budget);

  emulator::MemoryMap& map() { return map_; }

  Result<void> begin(const format::AllocationBegin& allocation);
  // A module global: inside of a code object that this check has loaded, or, if its object does not
  // have it, separate memory as in begin(). Never inside of another recorded buffer.
  Result<void> begin_global(const format::AllocationBegin& allocation);
  // `freed` false: the trace describes it no further.
  void end(format::AllocationId id, bool freed = true);

  // The bytes of a live allocation; kCorrupt if it is not live or the range leaves it.
  Result<std::span<std::byte>> bytes(format::AllocationId id, uint64_t offset, uint64_t size);
  // Where a live allocation is.
  std::optional<uint64_t> address_of(format::AllocationId id) const;
  // From `offset` to the allocation's end.
  Result<std::span<std::byte>> bytes_from(format::AllocationId id, uint64_t offset);

  // Memory of the check itself at an address of its choice, or at `address` if not 0.
  Result<uint64_t> add_own(uint64_t size_bytes, emulator::RegionKind kind, const std::string& name,
                           uint64_t address = 0);
  // Addresses for a heap, backed by memory where it is touched, which its user counts against the
  // budget. It has Region::tag `tag`, and observers look at every access to it (it has one
  // requested byte). The result is borrowed.
  Result<DeviceBytes*> add_heap(uint64_t address, uint64_t size_bytes, uint64_t tag);
  std::span<std::byte> own_bytes(uint64_t address);
  // An address for a recorded allocation that has none that kernels know: an array. Not used again.
  Result<uint64_t> choose_address(uint64_t size_bytes);
  // A part of own memory that the program requested by itself: a variable in a code object.
  struct Part {
    std::string name;
    uint64_t offset = 0;  // from the own memory's start
    uint64_t size = 0;
    uint64_t room = 0;  // >= size: what follows is slack
  };
  // Accesses are compared with the parts from now on, in order of offset and without overlaps;
  // bytes between them belong to the whole. Call before any other buffer is placed nearby.
  Result<void> divide_own(uint64_t address, const std::vector<Part>& parts);
  // Sets bytes of a live allocation to one value, without touching memory where they are many.
  Result<void> fill(format::AllocationId id, uint64_t offset, uint64_t size, uint8_t value);

  // The recorded buffer nearest to an access, or freed memory that holds it.
  std::optional<NearestBuffer> nearest(uint64_t address) const;
  // The same of one live buffer, named by its address, whatever is nearer. Nothing if there is
  // none.
  std::optional<NearestBuffer> relative_to(uint64_t buffer_address, uint64_t address) const;
  const FreedRanges& freed() const { return freed_; }
  // The allocation or other range that holds the byte: "buffer #3"; "" when there is none.
  std::string owner(uint64_t address) const;

 private:
  struct Buffer {
    format::AllocationId id = 0;  // 0: the check's own
    std::string name;
    uint64_t address = 0;
    uint64_t size = 0;    // as requested
    uint64_t mapped = 0;  // the part of it that other buffers do not occupy
    emulator::RegionKind kind = emulator::RegionKind::kDevice;
    // Shared by a code object and the globals in it: what one of them holds stays.
    std::shared_ptr<DeviceBytes> bytes;
    uint64_t offset = 0;  // of `address` in `bytes`
    std::vector<Part> parts;

    std::byte* host() const { return bytes->data() + offset; }
  };

  const Buffer* find(format::AllocationId id) const;
  Result<void> insert(Buffer buffer);
  // The regions of the memory map that it consists of: more than one if it has parts.
  static std::vector<emulator::Region> regions_of(const Buffer& buffer);
  Result<void> publish(const Buffer& buffer);
  bool unpublish(const Buffer& buffer);
  void shrink_slack_before(uint64_t address);
  NearestBuffer describe(const Buffer& buffer, uint64_t address) const;

  Budget& budget_;
  emulator::MemoryMap map_;
  std::map<uint64_t, Buffer> by_address_;  // not those inside others
  std::unordered_map<format::AllocationId, Buffer, SeededHash> inside_;
  std::unordered_map<format::AllocationId, uint64_t, SeededHash> addresses_;  // of live allocations
  FreedRanges freed_;
  uint64_t next_own_ = 0;
  std::shared_ptr<DeviceBytes> heap_;
};

}  // namespace gfxgraph::lanecheck
