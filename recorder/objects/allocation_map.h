// The memory that the recorded program currently holds. Not thread-safe; the recorder's lock guards
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "format/trace.h"
#include "pointers/target_map.h"
#include "pointers/word_resolver.h"
#include "recorder/bytes/block_states.h"
#include "recorder/bytes/kept_bytes.h"
#include "recorder/selection/fresh_memory.h"

namespace gfxgraph::recorder {

using pointers::WordResolver;
using pointers::WordsThen;

// Parts of an allocation, as byte offsets [begin, end).
class ByteRanges {
 public:
  void add(uint64_t begin, uint64_t end);
  bool overlap(uint64_t begin, uint64_t end) const noexcept;

 private:
  std::map<uint64_t, uint64_t> ends_;  // by begin; they neither overlap nor touch
};

struct Allocation : pointers::Target {
  std::string symbol;                  // kModuleGlobal
  std::string name;                    // as the program named it
  const void* array_handle = nullptr;  // kArray, whose address is one of ArrayPlaces: the runtime's
  std::shared_ptr<Allocation> resource = nullptr;  // kTexture, kSurface: what `object` is made from

  format::Content last = {};  // kept: its contents at the end of the last section
  format::AllocationId former_id = 0;
  bool beginning = false;  // its content is being read
  // A call of the program gives it back. kRegistration: its bytes stay, but nothing reads them
  // through the runtime any more.
  enum class Leaving : uint8_t { kNot, kRegistration, kMemory };
  Leaving leaving = Leaving::kNot;
  bool unregisters() const noexcept { return leaving == Leaving::kRegistration; }
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

  // Copies into its last known content.
  void write_known(uint64_t offset, std::span<const std::byte> bytes) {
    if (last_known && !last_known.write(offset, bytes)) last_known = {};
  }
  BlockStates blocks;            // host-visible
  bool pages_unwatched = false;  // they cannot be watched
  uint64_t found_in_doubt = 0;   // hash of what kernels may have read there that were not given it
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
  // in_memory, or a kernel has received its address: any kernel may read or write it.
  bool reachable = false;
  // Host-visible: the thread that made it, and whether launches of others were given its address.
  uint32_t made_by = 0;
  bool used_by_others = false;
  bool watched = false;               // what host functions write into it is looked for
  bool kernels_write_values = false;  // holds_values: or may, from now on
};

// "buffer #3 (device, 512 bytes, "kv cache")": its name in messages. A variable has its symbol.
std::string describe(const Allocation& allocation);

// Of allocations alone; the functions are those of TargetMap.
class AllocationMap : public pointers::TargetMap {
 public:
  std::vector<std::shared_ptr<Allocation>> insert(std::shared_ptr<Allocation> allocation);
  std::shared_ptr<Allocation> remove(uint64_t address);
  void number_anew(const std::function<void(Allocation&, bool live)>& number);

  Allocation* find(uint64_t address) const noexcept {
    return static_cast<Allocation*>(TargetMap::find(address));
  }
  Allocation* find_host(uint64_t address) const noexcept {
    return static_cast<Allocation*>(TargetMap::find_host(address));
  }
  const Allocation* find_alias(uint64_t address) const noexcept {
    return static_cast<const Allocation*>(TargetMap::find_alias(address));
  }
  const Allocation* find_live_or_freed(uint64_t address) const noexcept {
    return static_cast<const Allocation*>(TargetMap::find_live_or_freed(address));
  }
  const Allocation* nearest(uint64_t address) const noexcept {
    return static_cast<const Allocation*>(TargetMap::nearest(address));
  }
  std::shared_ptr<Allocation> find_begin(uint64_t address) const noexcept {
    return std::static_pointer_cast<Allocation>(TargetMap::find_begin(address));
  }
  std::shared_ptr<Allocation> find_freed(uint64_t address) const noexcept {
    return std::static_pointer_cast<Allocation>(TargetMap::find_freed(address));
  }
  template <typename Predicate>
  bool all_within(uint64_t address, uint64_t reach, Predicate&& holds) const {
    return TargetMap::all_within(address, reach, [&](const pointers::Target& target) {
      return holds(static_cast<const Allocation&>(target));
    });
  }
  // In order of address.
  std::vector<std::shared_ptr<Allocation>> all() const;
  const std::vector<std::shared_ptr<Allocation>>& host_visible() const { return host_; }
  // Whether what the program writes to host-visible memory is followed. If not, host_visible() is
  // empty.
  bool follows_host() const noexcept { return follows_host_; }
  void follow_host(bool follow);

 private:
  bool follows_host_ = true;
  std::vector<std::shared_ptr<Allocation>> host_;
};

}  // namespace gfxgraph::recorder
