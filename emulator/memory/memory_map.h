// The device's address space: the existing ranges, their requested sizes, and the location of their
// bytes in this process. Under the software agent device address = host address for memory that the
// agent allocated; offline (lane check over a trace) buffers keep their recorded addresses and the
// bytes are anywhere.
//
// Readers (waves) use immutable snapshots and take no lock; add() and remove() publish a new
// snapshot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace gfxgraph::emulator {

enum class RegionKind : uint8_t {
  kDevice,  // GPU pool
  kHost,    // host memory visible to the device: pinned, registered, managed
  kKernarg,
  kCode,    // a loaded code object's segment block
  kSystem,  // signals, queues, dispatch packets: the runtime's own
};

struct Region {
  uint64_t address = 0;          // device address of the first byte
  uint64_t requested_bytes = 0;  // what the program asked for: > 0
  uint64_t mapped_bytes =
      0;  // what is really there: >= requested_bytes (granule 4096 on the agent)
  std::byte* host = nullptr;  // mapped_bytes readable (and writable unless read_only) bytes
  RegionKind kind = RegionKind::kDevice;
  bool read_only = false;
  uint64_t tag = 0;  // the owner's number for it: an allocation id of a trace
  std::string name;  // for messages; may be empty

  bool contains(uint64_t a, uint64_t size) const {
    return a - address < mapped_bytes && size <= mapped_bytes - (a - address);
  }
};

// Sorted by address, no overlaps. Immutable. Tables share most of their parts with the tables
// before and after, so that one more allocation costs little next to thousands of others.
class RegionTable {
 public:
  const Region* find(uint64_t address) const noexcept;  // the region that holds the byte, or null
  // The first region that begins after an address; null when there is none.
  const Region* after(uint64_t address) const noexcept;
  // The region nearest to an address that no region holds, for messages; null when there is none.
  const Region* nearest(uint64_t address) const noexcept;

  // Copies with one region more or less. The region must not overlap others; the address must be
  // the start of one.
  RegionTable with(Region region) const;
  RegionTable without(uint64_t address) const;

 private:
  // At least one region each.
  using Part = std::vector<Region>;
  // The last part that begins at or before the address; parts_.size() when there is none.
  size_t part_of(uint64_t address) const noexcept;
  const Region* at_or_before(uint64_t address) const noexcept;
  void insert_part(size_t at, Part part);

  std::vector<uint64_t> begins_;  // of the parts
  std::vector<std::shared_ptr<const Part>> parts_;
};

class MemoryMap {
 public:
  MemoryMap();
  // kInvalidArgument on an empty, wrapping or overlapping region.
  Result<void> add(Region region);
  // `address` is a region's first byte.
  Result<void> remove(uint64_t address);
  // Removes the regions that begin at `removed` and adds others, in one step: no reader sees the
  // map in between. An error as of add() and remove() changes nothing.
  Result<void> replace(std::span<const uint64_t> removed, std::vector<Region> added);
  // Divides regions so that those of [address, address + bytes) are read-only. Bytes without a
  // region are ignored.
  Result<void> make_read_only(uint64_t address, uint64_t bytes);
  // Removes all regions that begin in [address, address + bytes): one that was divided.
  void remove_all(uint64_t address, uint64_t bytes);
  std::shared_ptr<const RegionTable> snapshot() const;
  // Grows by one with each add or remove: lets a holder of a snapshot see that it is old.
  uint64_t generation() const noexcept;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace gfxgraph::emulator
