// The agent's memory: pools, allocations, and host memory locked for the device. Thread-safe.
//
// The agent's allocations have the same host and device address. Host memory that the program locks
// has the device address host | kLockedBit, because HIP 5.2 treats an agent pointer that equals the
// host pointer as an error. The emulator and the copies clear this bit, so no table is needed. HIP
// 7 itself reads such memory at the device address, so newer runtimes get the host address. The
// emulator's memory map contains all memory that the device can access.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "emulator/memory/memory_map.h"

namespace gfxgraph::hsa {

constexpr uint64_t kLockedBit = uint64_t{1} << 47;
constexpr size_t kPageBytes = 4096;

// The host address of a device address: clears kLockedBit.
inline uint64_t host_address(const void* pointer) noexcept {
  return reinterpret_cast<uint64_t>(pointer) & ~kLockedBit;
}
template <typename T>
T* host_pointer(T* pointer) noexcept {
  return reinterpret_cast<T*>(reinterpret_cast<uint64_t>(pointer) & ~kLockedBit);
}

enum class Pool : uint64_t {
  kNone = 0,
  kHostFine = 1,
  kKernarg = 2,
  kHostCoarse = 3,
  kDevice = 4,
  kGroup = 5
};

// The HSA handle of a pool; each device has its own kDevice and kGroup.
inline uint64_t pool_handle(Pool pool, uint32_t device) noexcept {
  return static_cast<uint64_t>(pool) | uint64_t{device} << 8;
}
inline Pool pool_of(uint64_t handle) noexcept { return static_cast<Pool>(handle & 0xff); }
inline uint64_t device_of_pool(uint64_t handle) noexcept { return handle >> 8; }

struct Allocation {
  uint64_t address = 0;
  uint64_t requested_bytes = 0;
  uint64_t mapped_bytes = 0;
  Pool pool = Pool::kNone;
  uint32_t device = 0;        // for kDevice
  bool locked = false;        // locked host memory; `address` is the host address
  bool unseen = false;        // allocate_unseen(), not shown yet
  bool own_pages = false;     // in memory of nobody else: zeros, once its pages are given back
  void* user_data = nullptr;  // hsa_amd_pointer_info_set_userdata
};

// Capacity of each device's kDevice pool. A request for more than its free bytes fails with
// kOutOfMemory.
uint64_t device_memory_bytes() noexcept;
uint64_t device_memory_free_bytes(uint32_t device) noexcept;

// Allocates at least `bytes` of zeroed, page-aligned memory. kInvalidArgument for 0 bytes or a pool
// that cannot be allocated from. `device` is used only for kDevice.
Result<std::byte*> allocate(Pool pool, uint64_t bytes, uint32_t device);
// As allocate() for host memory, but no kernel can access it before show_allocation().
Result<std::byte*> allocate_unseen(Pool pool, uint64_t bytes);
// Lets kernels access what allocate_unseen() returned, or instead of it `host`, of the same mapped
// size, which must stay valid forever. kInvalidArgument if `address` is no unseen allocation.
Result<void> show_allocation(uint64_t address, std::byte* host);
// Frees memory. kInvalidArgument unless `pointer` is the first byte of a live pool allocation.
Result<void> release(const void* pointer);

// The agent's own memory: visible to the device (kSystem), or for code (kCode). Copies and fills
// reach only code.
enum class DeviceAccess : uint8_t { kRead, kWrite };
Result<std::byte*> allocate_system_memory(uint64_t bytes, const std::string& name,
                                          DeviceAccess access);
Result<std::byte*> allocate_code_memory(uint64_t bytes, const std::string& name);
void release_agent_memory(std::byte* memory) noexcept;

// For virtual_memory.h: counts device memory that has no Allocation against device_memory_bytes().
Result<void> take_device_memory(uint32_t device, uint64_t bytes);
void give_device_memory_back(uint32_t device, uint64_t bytes) noexcept;
// Reserves an inaccessible address range of whole pages. `wished` is a hint; 0: none.
Result<std::byte*> reserve_addresses(uint64_t bytes, uint64_t wished, uint64_t align);
// Registers the existing memory [memory, memory + bytes) as an allocation that release() rejects.
Result<void> show_mapping(std::byte* memory, uint64_t bytes, Pool pool, uint32_t device,
                          bool read_only);
Result<void> hide_mapping(std::byte* memory);

// The allocation or locked range that holds the address (kLockedBit is ignored).
std::optional<Allocation> find_allocation(const void* pointer);
Result<void> set_user_data(const void* pointer, void* user_data);

// From now on, locked memory has the host address as its device address. For runtimes that query
// attributes unknown to HIP 5.
void lock_at_host_addresses() noexcept;
// The device address of memory that is locked at this host address.
void* locked_address(uint64_t host) noexcept;
// Makes host memory visible to the device, and returns its device address. Locks nest and may
// overlap.
Result<void*> lock_host_memory(void* host, uint64_t bytes);
Result<void> unlock_host_memory(const void* host);

// Whether an asynchronous copy or a fill may access [pointer, pointer + bytes): the range must be
// within an allocation, or begin in locked host memory (a lock may be shorter than the memory).
bool device_range_is_allowed(const void* pointer, uint64_t bytes);
// The same for a copy by the host (hsa_memory_copy), which may also access memory unknown to the
// agent.
bool host_range_is_allowed(const void* pointer, uint64_t bytes);
// Whether a byte of [pointer, pointer + bytes) is loaded code, which nothing may change.
bool is_code(const void* pointer, uint64_t bytes);

// Unlocks the mutexes in a forked child, where only the forking thread exists.
void reset_memory_locks_after_fork() noexcept;

}  // namespace gfxgraph::hsa
