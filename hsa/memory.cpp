#include "hsa/memory.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <vector>

#include "base/checked.h"
#include "base/environment.h"
#include "base/log.h"
#include "base/process/device.h"
#include "hsa/device.h"
#include "hsa/queue/host_calls.h"

namespace gfxgraph::hsa {
namespace {

using emulator::Region;
using emulator::RegionKind;

// Smaller allocations share arenas: one mapping each would exhaust the kernel's limit on mappings.
constexpr uint64_t kArenaLimitBytes = 1u << 20;
constexpr uint64_t kArenaBytes = 64u << 20;
// Gap between allocations: small overruns do not reach the next allocation.
constexpr uint64_t kGuardBytes = kPageBytes;
// Base of the mappings: unlike typical program values, and below kLockedBit.
constexpr uint64_t kPlacementBegin = uint64_t{1} << 44;
constexpr uint64_t kPlacementEnd = uint64_t{1} << 46;
constexpr uint64_t kPlacementAlign = 2u << 20;
#ifdef __SANITIZE_THREAD__
constexpr bool kChoosesAddresses = false;  // the sanitizer allows few addresses
#else
constexpr bool kChoosesAddresses = true;
#endif

std::atomic<uint64_t> locked_bit{kLockedBit};

struct Block {
  Allocation allocation;
  RegionKind kind = RegionKind::kDevice;
  uint64_t arena_bytes = 0;  // bytes taken from an arena; 0: its own mapping
  bool mapping = false;      // owned by virtual_memory.h, which frees it
};

// The range of a lock call.
struct Lock {
  uint64_t bytes = 0;
  uint64_t count = 0;
  void* user_data = nullptr;
};

// Small allocations of one kind. A buffer's neighbours are buffers of the same kind, so messages
// about out-of-bounds accesses name the right kind.
struct Arena {
  std::multimap<uint64_t, uint64_t> free_blocks;  // size -> address
  uint64_t next = 0;
  uint64_t end = 0;
};
constexpr size_t kArenas = 5;  // one per RegionKind

struct Heap {
  std::shared_mutex mutex;
  std::map<uint64_t, Block> blocks;  // by address
  std::array<Arena, kArenas> arenas;
  std::map<std::pair<uint64_t, uint64_t>, Lock> locks;  // by (address, bytes)
  std::map<uint64_t, uint64_t> locked;  // regions of the memory map that locks made: their bytes
  std::array<uint64_t, kMaxDevices> device_bytes_used{};
  uint64_t random_state = 0x9e3779b97f4a7c15u;
};

Heap& heap() {
  static Heap* const instance = [] {
    auto* const made = new Heap();
    // Another seed changes the layout, and with it results that depend on addresses.
    made->random_state ^=
        environment_number("GFXGRAPH_LAYOUT_SEED", 0, UINT64_MAX, 0) * 0xbf58476d1ce4e5b9u;
    return made;
  }();
  return *instance;
}

uint64_t next_random(Heap& h) {  // splitmix64
  uint64_t z = (h.random_state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

void* map_at(uint64_t address, uint64_t bytes) {
  const int extra = address != 0 ? MAP_FIXED_NOREPLACE : 0;
  void* const memory = mmap(reinterpret_cast<void*>(address), bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | extra, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  if (address != 0 && reinterpret_cast<uint64_t>(memory) != address) {
    munmap(memory, bytes);
    return nullptr;
  }
  return memory;
}

Result<uint64_t> map_memory(Heap& h, uint64_t bytes) {
  for (int attempt = 0; kChoosesAddresses && attempt < 8; ++attempt) {
    const uint64_t slots = (kPlacementEnd - kPlacementBegin) / kPlacementAlign;
    const uint64_t address = kPlacementBegin + next_random(h) % slots * kPlacementAlign;
    if (void* const memory = map_at(address, bytes)) return reinterpret_cast<uint64_t>(memory);
  }
  if (void* const memory = map_at(0, bytes)) return reinterpret_cast<uint64_t>(memory);
  return fail(Status::kOutOfMemory,
              fmt::format("the system cannot provide {} bytes of memory", bytes));
}

// Exact fit: sizes repeat, so later allocations reuse freed blocks.
Result<uint64_t> take_from_arena(Heap& h, RegionKind kind, uint64_t bytes) {
  Arena& arena = h.arenas[static_cast<size_t>(kind)];
  const auto free_block = arena.free_blocks.find(bytes);
  if (free_block != arena.free_blocks.end()) {
    const uint64_t address = free_block->second;
    arena.free_blocks.erase(free_block);
    return address;
  }
  if (arena.end - arena.next < bytes) {
    GFXGRAPH_ASSIGN_OR_RETURN(arena.next, map_memory(h, kArenaBytes));
    arena.end = arena.next + kArenaBytes;
  }
  const uint64_t address = arena.next;
  arena.next += bytes;
  return address;
}

void give_back(Heap& h, const Block& block) {
  void* const memory = reinterpret_cast<void*>(block.allocation.address);
  if (block.arena_bytes == 0) {
    munmap(memory, block.allocation.mapped_bytes + kGuardBytes);
    return;
  }
  // The next owner gets zeroed memory, as in a new mapping.
  madvise(memory, block.allocation.mapped_bytes, MADV_DONTNEED);
  h.arenas[static_cast<size_t>(block.kind)].free_blocks.emplace(block.arena_bytes,
                                                                block.allocation.address);
}

RegionKind region_kind(Pool pool) {
  switch (pool) {
    case Pool::kDevice: return RegionKind::kDevice;
    case Pool::kKernarg: return RegionKind::kKernarg;
    default: return RegionKind::kHost;
  }
}

Result<void> add_region(emulator::Region region) {
  try {
    return Device::memory_map().add(std::move(region));
  } catch (const std::bad_alloc&) {
    return fail(Status::kOutOfMemory, "host memory");
  }
}

// Why a device's memory does not suffice.
tl::unexpected<Error> out_of_device_memory(uint64_t bytes, uint64_t left) {
  return fail(Status::kOutOfMemory,
              fmt::format("device memory: {} bytes requested, {} of {} are free", bytes, left,
                          device_memory_bytes()));
}

// Programs may have their own kernels write memory for arguments, as on a GPU. Kernels of an
// untrusted trace must not change arguments of others, such as HIP's own kernels.
DeviceAccess access_to(Pool pool) {
  return pool == Pool::kKernarg && host_calls_denied() ? DeviceAccess::kRead : DeviceAccess::kWrite;
}

Region region_of(const Block& block, std::byte* host, DeviceAccess access,
                 const std::string& name) {
  return {.address = block.allocation.address,
          .requested_bytes = block.allocation.requested_bytes,
          .mapped_bytes = block.allocation.mapped_bytes,
          .host = host,
          .kind = block.kind,
          .read_only = access == DeviceAccess::kRead,
          .tag = 0,
          .name = name};
}

enum class Shown : uint8_t { kYes, kLater };

Result<std::byte*> allocate_block(Pool pool, RegionKind kind, uint64_t bytes,
                                  const std::string& name, DeviceAccess access, uint32_t device = 0,
                                  Shown shown = Shown::kYes) {
  const std::optional<uint64_t> mapped = checked_align_up(bytes, kPageBytes);
  if (bytes == 0 || !mapped || *mapped >= kPlacementEnd) {
    return fail(Status::kInvalidArgument, fmt::format("cannot allocate {} bytes", bytes));
  }
  Heap& h = heap();
  const std::lock_guard lock(h.mutex);
  const uint64_t left = device_memory_bytes() - h.device_bytes_used[device];
  if (pool == Pool::kDevice && *mapped > left) return out_of_device_memory(bytes, left);
  Block block;
  block.kind = kind;
  block.allocation = {.address = 0,
                      .requested_bytes = bytes,
                      .mapped_bytes = *mapped,
                      .pool = pool,
                      .device = device};
  if (*mapped < kArenaLimitBytes) {
    block.arena_bytes = *mapped + kGuardBytes;
    GFXGRAPH_ASSIGN_OR_RETURN(block.allocation.address,
                              take_from_arena(h, kind, block.arena_bytes));
  } else {
    GFXGRAPH_ASSIGN_OR_RETURN(block.allocation.address, map_memory(h, *mapped + kGuardBytes));
  }
  auto* const memory = reinterpret_cast<std::byte*>(block.allocation.address);
  block.allocation.unseen = shown == Shown::kLater;
  block.allocation.own_pages = shown == Shown::kYes && pool != Pool::kNone;
  // Fewer faults, and shorter page tables for whoever asks the system what was written (the
  // recorder). If the system has none, nothing is lost.
  if (block.kind == RegionKind::kHost && block.arena_bytes == 0)
    (void)madvise(memory, *mapped, MADV_HUGEPAGE);
  // Insert first, so that every region of the map has a block.
  h.blocks.emplace(block.allocation.address, block);
  if (shown == Shown::kLater) return memory;
  const Result<void> added = add_region(region_of(block, memory, access, name));
  if (!added) {
    h.blocks.erase(block.allocation.address);
    give_back(h, block);
    return tl::unexpected<Error>(added.error());
  }
  if (pool == Pool::kDevice) h.device_bytes_used[device] += *mapped;
  return memory;
}

// Requires the lock. The block that contains the address, or end().
std::map<uint64_t, Block>::iterator find_block(Heap& h, uint64_t address) {
  auto next = h.blocks.upper_bound(address);
  if (next == h.blocks.begin()) return h.blocks.end();
  --next;
  return address - next->first < next->second.allocation.mapped_bytes ? next : h.blocks.end();
}

// Requires the lock. A range may span adjacent mappings.
bool fits_blocks(const Heap& h, std::map<uint64_t, Block>::const_iterator block, uint64_t address,
                 uint64_t bytes) {
  if (block->second.kind == RegionKind::kSystem) return false;
  while (true) {
    const Allocation& held = block->second.allocation;
    const uint64_t here = held.address + held.mapped_bytes - address;
    if (bytes <= here) return true;
    address += here;
    bytes -= here;
    const bool mapping = block->second.mapping;
    ++block;
    if (!mapping || block == h.blocks.end() || !block->second.mapping || block->first != address)
      return false;
  }
}

std::optional<Allocation> find_lock(const Heap& h, uint64_t address) {
  // Locks are few and may nest: use the smallest that contains the address.
  std::optional<Allocation> best;
  for (const auto& [key, held] : h.locks) {
    if (key.first > address) break;
    if (address - key.first >= held.bytes) continue;
    if (best && best->requested_bytes <= held.bytes) continue;
    best = Allocation{.address = key.first,
                      .requested_bytes = held.bytes,
                      .mapped_bytes = held.bytes,
                      .pool = Pool::kHostFine,
                      .locked = true,
                      .user_data = held.user_data};
  }
  return best;
}

Result<void> release_block(uint64_t address, bool agent_memory) {
  Heap& h = heap();
  const std::lock_guard lock(h.mutex);
  const auto found = h.blocks.find(address);
  if (found == h.blocks.end() || found->second.mapping ||
      (found->second.allocation.pool == Pool::kNone) != agent_memory) {
    return fail(Status::kInvalidArgument,
                fmt::format("{:#x} is not the start of an allocation", address));
  }
  const Block block = found->second;
  if (block.kind == RegionKind::kCode)  // divided: code is read-only
    Device::memory_map().remove_all(address, block.allocation.mapped_bytes);
  else if (!block.allocation.unseen)
    GFXGRAPH_TRY(Device::memory_map().remove(address));
  h.blocks.erase(found);
  if (block.allocation.pool == Pool::kDevice)
    h.device_bytes_used[block.allocation.device] -= block.allocation.mapped_bytes;
  give_back(h, block);
  return {};
}

using Parts = std::map<uint64_t, uint64_t>;  // address -> bytes

// Adds the parts of [address, end) that are no allocation of the agent's.
void add_free_parts(const Heap& h, uint64_t address, uint64_t end, Parts& parts) {
  const auto table = Device::memory_map().snapshot();
  const Region* next = table->find(address);
  if (next == nullptr) next = table->after(address);
  while (address < end) {
    while (next != nullptr && h.locked.contains(next->address)) next = table->after(next->address);
    const uint64_t part_end = next == nullptr ? end : std::min(end, next->address);
    if (address < part_end) parts[address] = part_end - address;
    if (next == nullptr) break;
    address = std::max(part_end, next->address + next->mapped_bytes);
    next = table->after(next->address);
  }
}

// Maps the host memory that locks cover; call after a lock is added or removed. Overlapping locks
// form one region, because an access may begin in one lock and end in another.
Result<void> map_locks(Heap& h, uint64_t address, uint64_t bytes) {
  uint64_t begin = address, end = address + bytes;
  for (bool grew = true; grew;) {
    grew = false;
    for (const auto& [key, held] : h.locks) {
      if (key.first >= end) break;
      const uint64_t lock_end = key.first + held.bytes;
      if (lock_end <= begin || (key.first >= begin && lock_end <= end)) continue;
      begin = std::min(begin, key.first);
      end = std::max(end, lock_end);
      grew = true;
    }
  }
  Parts wanted;
  for (auto next = h.locks.lower_bound({begin, 0}); next != h.locks.end();) {
    const uint64_t first = next->first.first;
    if (first >= end) break;
    uint64_t last = first;
    for (; next != h.locks.end() && next->first.first <= last; ++next) {
      if (last != first && next->first.first == last) break;  // they touch, but do not overlap
      last = std::max(last, next->first.first + next->second.bytes);
    }
    add_free_parts(h, first, last, wanted);
  }
  std::vector<uint64_t> removed;
  std::vector<Region> added;
  for (auto part = h.locked.lower_bound(begin); part != h.locked.end() && part->first < end;
       ++part) {
    const auto same = wanted.find(part->first);
    if (same == wanted.end() || same->second != part->second) removed.push_back(part->first);
  }
  for (const auto& [first, size] : wanted) {
    const auto same = h.locked.find(first);
    if (same != h.locked.end() && same->second == size) continue;
    added.push_back({.address = first,
                     .requested_bytes = size,
                     .mapped_bytes = size,
                     .host = reinterpret_cast<std::byte*>(first),
                     .kind = RegionKind::kHost,
                     .read_only = false,
                     .tag = 0,
                     .name = "locked host memory"});
  }
  GFXGRAPH_TRY(Device::memory_map().replace(removed, std::move(added)));
  for (const uint64_t part : removed) h.locked.erase(part);
  h.locked.merge(wanted);
  return {};
}

}  // namespace

uint64_t device_memory_bytes() noexcept {
  static const uint64_t bytes = []() -> uint64_t {
    constexpr uint64_t kCard = uint64_t{16} << 30;  // memory size of boards with this chip
    const auto pages = static_cast<uint64_t>(std::max(sysconf(_SC_PHYS_PAGES), 1L));
    const uint64_t here = std::min(kCard, pages * kPageBytes & ~((uint64_t{1} << 20) - 1));
    const uint64_t gib = environment_number("GFXGRAPH_DEVICE_MEMORY_GIB", 1, 1024, 0);
    return gib != 0 ? gib << 30 : here;
  }();
  return bytes;
}

uint64_t device_memory_free_bytes(uint32_t device) noexcept {
  Heap& h = heap();
  const std::shared_lock lock(h.mutex);
  return device_memory_bytes() - h.device_bytes_used[device];
}

Result<std::byte*> allocate(Pool pool, uint64_t bytes, uint32_t device) {
  if (pool == Pool::kNone || pool >= Pool::kGroup) {
    return fail(Status::kInvalidArgument, "this pool cannot be allocated from");
  }
  return allocate_block(pool, region_kind(pool), bytes, "", access_to(pool), device);
}

Result<std::byte*> allocate_unseen(Pool pool, uint64_t bytes) {
  return allocate_block(pool, region_kind(pool), bytes, "", access_to(pool), 0, Shown::kLater);
}

Result<void> show_allocation(uint64_t address, std::byte* host) {
  Heap& h = heap();
  const std::lock_guard lock(h.mutex);
  const auto found = h.blocks.find(address);
  if (found == h.blocks.end() || !found->second.allocation.unseen) {
    return fail(Status::kInvalidArgument,
                fmt::format("{:#x} is not the start of an allocation that is not shown", address));
  }
  Block& block = found->second;
  GFXGRAPH_TRY(add_region(region_of(block, host, access_to(block.allocation.pool), "")));
  block.allocation.unseen = false;
  return {};
}

Result<void> release(const void* pointer) {
  return release_block(reinterpret_cast<uint64_t>(pointer), false);
}

Result<std::byte*> allocate_system_memory(uint64_t bytes, const std::string& name,
                                          DeviceAccess access) {
  return allocate_block(Pool::kNone, RegionKind::kSystem, bytes, name, access);
}

Result<std::byte*> allocate_code_memory(uint64_t bytes, const std::string& name) {
  return allocate_block(Pool::kNone, RegionKind::kCode, bytes, name, DeviceAccess::kWrite);
}

void release_agent_memory(std::byte* memory) noexcept {
  try {
    const Result<void> released = release_block(reinterpret_cast<uint64_t>(memory), true);
    if (!released) log(LogLevel::kWarning, "{}", released.error().message);
  } catch (const std::bad_alloc&) {  // stays mapped: releasing it needs memory, too
  }
}

Result<void> take_device_memory(uint32_t device, uint64_t bytes) {
  Heap& h = heap();
  const std::lock_guard lock(h.mutex);
  const uint64_t left = device_memory_bytes() - h.device_bytes_used[device];
  if (bytes > left) return out_of_device_memory(bytes, left);
  h.device_bytes_used[device] += bytes;
  return {};
}

void give_device_memory_back(uint32_t device, uint64_t bytes) noexcept {
  Heap& h = heap();
  const std::lock_guard lock(h.mutex);
  h.device_bytes_used[device] -= bytes;
}

Result<std::byte*> reserve_addresses(uint64_t bytes, uint64_t wished, uint64_t align) {
  const std::optional<uint64_t> room = checked_add(bytes, std::max(align, kPlacementAlign));
  if (bytes == 0 || bytes % kPageBytes != 0 || !room || *room >= kPlacementEnd) {
    return fail(Status::kInvalidArgument, fmt::format("cannot reserve {} bytes", bytes));
  }
  Heap& h = heap();
  const std::lock_guard lock(h.mutex);
  uint64_t address = wished;
  const bool wish_fits =
      wished != 0 && wished % kPageBytes == 0 && (align == 0 || wished % align == 0);
  if (!wish_fits || map_at(wished, bytes) == nullptr) {
    GFXGRAPH_ASSIGN_OR_RETURN(const uint64_t begin, map_memory(h, *room));
    address = align == 0 ? begin : (begin + align - 1) / align * align;
    if (address != begin) munmap(reinterpret_cast<void*>(begin), address - begin);
    munmap(reinterpret_cast<void*>(address + bytes), begin + *room - address - bytes);
  }
  auto* const memory = reinterpret_cast<std::byte*>(address);
  if (mprotect(memory, bytes, PROT_NONE) != 0) {
    munmap(memory, bytes);
    return fail(Status::kOutOfMemory,
                fmt::format("the system cannot reserve {} bytes of address space", bytes));
  }
  return memory;
}

Result<void> show_mapping(std::byte* memory, uint64_t bytes, Pool pool, uint32_t device,
                          bool read_only) {
  Heap& h = heap();
  const std::lock_guard lock(h.mutex);
  Block block;
  block.kind = region_kind(pool);
  block.mapping = true;
  block.allocation = {.address = reinterpret_cast<uint64_t>(memory),
                      .requested_bytes = bytes,
                      .mapped_bytes = bytes,
                      .pool = pool,
                      .device = device};
  h.blocks.emplace(block.allocation.address, block);
  const Result<void> added = add_region({.address = block.allocation.address,
                                         .requested_bytes = bytes,
                                         .mapped_bytes = bytes,
                                         .host = memory,
                                         .kind = block.kind,
                                         .read_only = read_only,
                                         .tag = 0,
                                         .name = ""});
  if (!added) h.blocks.erase(block.allocation.address);
  return added;
}

Result<void> hide_mapping(std::byte* memory) {
  Heap& h = heap();
  const std::lock_guard lock(h.mutex);
  const auto found = h.blocks.find(reinterpret_cast<uint64_t>(memory));
  if (found == h.blocks.end() || !found->second.mapping) {
    return fail(Status::kInvalidArgument, fmt::format("{:#x} is not the start of a mapping",
                                                      reinterpret_cast<uint64_t>(memory)));
  }
  GFXGRAPH_TRY(Device::memory_map().remove(found->first));
  h.blocks.erase(found);
  return {};
}

std::optional<Allocation> find_allocation(const void* pointer) {
  const uint64_t address = host_address(pointer);
  Heap& h = heap();
  const std::shared_lock lock(h.mutex);
  const auto block = find_block(h, address);
  if (block != h.blocks.end()) return block->second.allocation;
  return find_lock(h, address);
}

Result<void> set_user_data(const void* pointer, void* user_data) {
  const uint64_t address = host_address(pointer);
  Heap& h = heap();
  const std::lock_guard lock(h.mutex);
  const auto block = find_block(h, address);
  if (block != h.blocks.end()) {
    block->second.allocation.user_data = user_data;
    return {};
  }
  for (auto& [key, held] : h.locks) {
    if (address < key.first || address - key.first >= held.bytes) continue;
    held.user_data = user_data;
    return {};
  }
  return fail(Status::kInvalidArgument, fmt::format("no allocation contains {:#x}", address));
}

void lock_at_host_addresses() noexcept { locked_bit.store(0, std::memory_order_relaxed); }

void* locked_address(uint64_t host) noexcept {
  return reinterpret_cast<void*>(host | locked_bit.load(std::memory_order_relaxed));
}

Result<void*> lock_host_memory(void* host, uint64_t bytes) {
  const uint64_t address = host_address(host);
  if (address == 0 || bytes == 0 || !range_fits(address, bytes, kLockedBit)) {
    return fail(Status::kInvalidArgument,
                fmt::format("cannot lock {} bytes at {:#x}", bytes, address));
  }
  Heap& h = heap();
  const std::lock_guard lock(h.mutex);
  Lock& held = h.locks[{address, bytes}];
  if (held.count++ == 0) {
    held.bytes = bytes;
    const Result<void> added = map_locks(h, address, bytes);
    if (!added) {
      h.locks.erase({address, bytes});
      return tl::unexpected<Error>(added.error());
    }
  }
  return locked_address(address);
}

Result<void> unlock_host_memory(const void* host) {
  const uint64_t address = host_address(host);
  Heap& h = heap();
  const std::lock_guard lock(h.mutex);
  const auto found = h.locks.lower_bound({address, 0});
  if (found == h.locks.end() || found->first.first != address) {
    return fail(Status::kInvalidArgument, fmt::format("{:#x} is not locked", address));
  }
  if (--found->second.count != 0) return {};
  const uint64_t bytes = found->second.bytes;
  h.locks.erase(found);
  return map_locks(h, address, bytes);
}

bool device_range_is_allowed(const void* pointer, uint64_t bytes) {
  if (bytes == 0) return true;
  const uint64_t address = host_address(pointer);
  Heap& h = heap();
  const std::shared_lock lock(h.mutex);
  const auto block = find_block(h, address);
  if (block == h.blocks.end()) return find_lock(h, address).has_value();
  return fits_blocks(h, block, address, bytes);
}

bool host_range_is_allowed(const void* pointer, uint64_t bytes) {
  const uint64_t address = host_address(pointer);
  Heap& h = heap();
  const std::shared_lock lock(h.mutex);
  const auto block = find_block(h, address);
  if (block == h.blocks.end()) return address != 0 || bytes == 0;
  return fits_blocks(h, block, address, bytes);
}

bool is_code(const void* pointer, uint64_t bytes) {
  const uint64_t address = host_address(pointer);
  {
    Heap& h = heap();
    const std::shared_lock lock(h.mutex);
    const auto block = find_block(h, address);
    if (block == h.blocks.end() || block->second.kind != RegionKind::kCode) return false;
  }
  const auto table = Device::memory_map().snapshot();
  const Region* region = table->find(address);
  while (region != nullptr && region->address < address + bytes) {
    if (region->kind == RegionKind::kCode && region->read_only) return true;
    region = table->after(region->address);
  }
  return false;
}

void reset_memory_locks_after_fork() noexcept { new (&heap().mutex) std::shared_mutex(); }

}  // namespace gfxgraph::hsa
