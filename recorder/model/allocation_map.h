// The memory that the recorded program currently holds: maps an address to its allocation. Not
// thread-safe; the recorder's lock guards it.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "format/trace.h"
#include "recorder/contents/kept_bytes.h"
#include "recorder/model/fresh_memory.h"

namespace gfxgraph::recorder {

// Host-visible memory is compared in pieces of this size.
inline constexpr uint64_t kHostBlockBytes = 4096;
// Instead of a block's hash: any content of the block is attributed to the program.
inline constexpr uint64_t kUnknownBlock = 0;

// Parts of an allocation, as byte offsets [begin, end).
class ByteRanges {
 public:
  void add(uint64_t begin, uint64_t end);
  bool overlap(uint64_t begin, uint64_t end) const noexcept;

 private:
  std::map<uint64_t, uint64_t> ends_;  // by begin; they neither overlap nor touch
};

struct Allocation {
  format::AllocationId id = 0;
  format::AllocationKind kind = format::AllocationKind::kDevice;
  uint64_t address = 0;       // as the device sees it
  uint64_t host_address = 0;  // 0: the host cannot see it
  uint64_t size_bytes = 0;
  std::string symbol;            // kModuleGlobal
  std::string name;              // as the program named it
  const void* module = nullptr;  // kModuleGlobal: its owner in the code registry
  // kArray: what the runtime has at `array_handle`. Its address is one of ArrayPlaces, which no
  // device has.
  std::shared_ptr<const format::ArrayShape> array = nullptr;
  const void* array_handle = nullptr;
  // kTexture, kSurface: what it was made of, from `resource`. Its address is the handle.
  std::shared_ptr<const format::ImageObject> object = nullptr;
  std::shared_ptr<Allocation> resource = nullptr;

  // In the trace: from its AllocationBegin to its AllocationEnd. Always, unless only ranges are
  // recorded.
  bool begun = false;
  // A module variable between two recorded sections: it has one place in a replay too, where it may
  // begin only once. Its contents at the end of the last section.
  bool kept = false;
  format::Content last = {};
  format::AllocationId former_id = 0;
  bool beginning = false;  // its content is being read
  bool leaving = false;    // a call of the program gives it back
  FreshMemory::Phase given_out = FreshMemory::kWritten;
  bool holds_bytes = false;  // when it begins: memory that was mapped elsewhere before
  // A graph's node allocates it, always at this address; `absent`: not yet, or it was freed. It
  // lives as long as the trace, because graphs lead to it.
  bool of_graph = false;
  bool absent = false;
  bool gone = false;        // absent: its last contents cannot be read any more
  bool unreadable = false;  // HIP would crash if it copied it
  uint32_t flags = 0;       // of the call that made it
  format::DeviceNumber device = 0;
  format::SiteId site = 0;  // of that call
  uint32_t site_ordinal = 0;

  bool host_visible() const { return host_address != 0; }
  bool has_two_addresses() const {
    return host_address != 0 && host_address != address && is_memory();
  }
  // A launch that gets its address is recorded without a look at it: the trace has its contents,
  // and neither the host nor a stream writes it beside the kernel.
  bool plain() const { return !host_visible() && !holds_values && begun && !kept; }
  // Copies into its last known content.
  void write_known(uint64_t offset, std::span<const std::byte> bytes) {
    if (last_known && !last_known.write(offset, bytes)) last_known = {};
  }
  // Addresses in it are those of the program's memory.
  bool is_memory() const { return array == nullptr && object == nullptr; }
  // Whether a word that lies in it is its address: a handle counts as a whole, and nothing leads
  // to an array.
  bool is_meant_by(uint64_t word) const {
    return is_memory() || (object != nullptr && word == address);
  }
  // Bytes between it and a device address; 0: inside, or one past the end.
  uint64_t distance(uint64_t word) const {
    if (word < address) return address - word;
    return word - address > size_bytes ? word - address - size_bytes : 0;
  }
  // The host's view in the trace: one hash per kHostBlockBytes, or kUnknownBlock.
  std::vector<uint64_t> known_blocks;
  // The trace's contents of blocks that work in flight partly writes: the rest is the program's.
  std::map<uint64_t, HashedBytes> saved_blocks;
  // Those among them that changed before a kernel that may write them was known to have ended.
  std::set<uint64_t> doubted_blocks;
  uint64_t found_in_doubt = 0;  // hash of what kernels may have read there that were not given it
  // Memory that the program never registered with HIP: it may be gone, and is read with care.
  bool plain_host = false;
  // Host-visible: writes of copies and memsets, in recorded sections or between them.
  ByteRanges device_wrote;
  bool was_reachable = false;  // by kernels, in an earlier recorded section
  // Copies out of it carried their bytes: the trace may not know its content.
  bool brought = false;
  // plain_host: its contents when the host last knew them, with later writes of host functions.
  // None: unknown.
  KeptBytes last_known;
  bool spoiled = false;  // plain_host: written in part by what is not in the trace
  // Host-visible: the targets of its words in the trace.
  std::set<format::AllocationId> points_to;
  // A kernel has received its address, or device memory holds it: any kernel may read or write it.
  bool reachable = false;
  bool in_memory = false;  // the latter
  // Host-visible: the thread that made it, and whether launches of others were given its address.
  uint32_t made_by = 0;
  bool used_by_others = false;
  bool watched = false;  // what host functions write into it is looked for
  // Streams write or wait for values in it. Launches read it: see map().
  bool holds_values = false;
  bool kernels_write_values = false;  // or may, from now on
};

// "buffer #3 (device, 512 bytes, "kv cache")": its name in messages. A variable has its symbol.
std::string describe(const Allocation& allocation);

class AllocationMap {
 public:
  // Live ranges never overlap: ranges that the new one overlaps (their free was not observed) are
  // removed and returned.
  std::vector<std::shared_ptr<Allocation>> insert(std::shared_ptr<Allocation> allocation);

  // The allocation that contains the device address; otherwise the one that ends exactly there (a
  // pointer one past the end is legal C++). nullptr: neither.
  Allocation* find(uint64_t address) const noexcept;
  // The live memory nearest to the device address; nullptr: there is none.
  const Allocation* nearest(uint64_t address) const noexcept;
  // Whether `holds` is true of every live allocation at most `reach` bytes away from the address.
  template <typename Predicate>
  bool all_within(uint64_t address, uint64_t reach, Predicate&& holds) const {
    const auto next = first_behind(address);
    for (auto at = next; at != ranges_.begin();) {
      --at;
      if (!at->allocation->is_memory()) continue;
      if (at->allocation->distance(address) > reach) break;
      if (!holds(*at->allocation)) return false;
    }
    for (auto at = next; at != ranges_.end() && at->begin - address <= reach; ++at) {
      if (!at->allocation->is_memory()) continue;
      if (!holds(*at->allocation)) return false;
    }
    return true;
  }
  // Like find(), by the host address of host-visible memory; the end is not part of it.
  Allocation* find_host(uint64_t address) const noexcept;
  // The same if the device has another address for it: kernels use either.
  const Allocation* find_alias(uint64_t address) const noexcept;
  // The live allocation that contains the address, otherwise the one freed last that did, otherwise
  // the live one that ends there. A table in memory keeps its pointers when their targets are
  // freed.
  const Allocation* find_live_or_freed(uint64_t address) const noexcept;
  // Freed allocations that last occupied a part of these device addresses.
  std::vector<format::AllocationId> freed_within(uint64_t begin, uint64_t end) const;
  // The allocation that begins at the device or host address.
  std::shared_ptr<Allocation> find_begin(uint64_t address) const noexcept;
  // As find_begin(), also for an address inside: HIP 5.2.3 frees memory by any pointer into it.
  std::shared_ptr<Allocation> find_freed(uint64_t address) const noexcept;
  std::shared_ptr<Allocation> remove(uint64_t address);

  // In order of address.
  std::vector<std::shared_ptr<Allocation>> all() const;
  const std::vector<std::shared_ptr<Allocation>>& host_visible() const { return host_; }
  // Changes with every insert and remove: results of find() stay valid while it is the same.
  uint64_t generation() const noexcept { return generation_; }
  // Their ids have changed.
  void renumbered() noexcept { ++generation_; }
  // Calls `number` with each live allocation, then with the freed ones.
  void number_anew(const std::function<void(Allocation&, bool live)>& number);
  size_t size() const noexcept { return ranges_.size(); }
  // No address outside [lowest, highest] belongs to a live allocation: quick test of a scan.
  uint64_t lowest() const noexcept {
    return ranges_.empty() ? ~uint64_t{0} : ranges_.front().begin;
  }
  uint64_t highest() const noexcept { return ranges_.empty() ? 0 : ranges_.back().end; }
  // Whether the address of a live or freed allocation may have these upper 32 bits.
  bool known_upper(uint32_t upper) const noexcept {
    return upper < known_uppers_.size() && known_uppers_[upper];
  }
  // Their bits 40 to 47.
  const std::bitset<256>& known_high_bytes() const noexcept { return known_high_bytes_; }

 private:
  struct Range {
    uint64_t begin = 0;
    uint64_t end = 0;
    std::shared_ptr<Allocation> allocation;
  };
  void retire(const Range& range);
  std::vector<Range>::const_iterator first_behind(uint64_t address) const noexcept;

  std::vector<Range> ranges_;  // by begin
  size_t aliases_ = 0;         // live allocations with two addresses
  // Freed, by begin, without overlap: for each address the one freed last. Live ones take
  // precedence.
  std::vector<Range> retired_;
  std::bitset<65536> known_uppers_;  // of 48-bit addresses
  std::bitset<256> known_high_bytes_;
  std::vector<std::shared_ptr<Allocation>> host_;
  uint64_t generation_ = 0;
};

}  // namespace gfxgraph::recorder
