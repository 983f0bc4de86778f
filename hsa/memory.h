// The agent's memory: pools, allocations at sparse addresses, host memory locked for the device.
//
// Device address = host address for the agent's allocations. Host memory that the program locks has
// the device address host | kLockedBit, because HIP 5.2 treats an agent pointer that equals the
// host pointer as an error; the emulator and the copies clear that bit again, so it needs no state.
// HIP 7 itself reads such memory at the device address: newer runtimes get the host address. The
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

// HSA's handle of a pool; kDevice and kGroup exist once per device.
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
  uint32_t device = 0;        // of kDevice
  bool locked = false;        // host memory of the program; address is the host's
  void* user_data = nullptr;  // hsa_amd_pointer_info_set_userdata
};

// The capacity of each kDevice in bytes; requests of size 0 and larger than the rest return
// kOutOfMemory.
uint64_t device_memory_bytes() noexcept;
uint64_t device_memory_free_bytes(uint32_t device) noexcept;

// Zeroed memory of at least `bytes`, page aligned. kInvalidArgument for 0 bytes or a pool that
// cannot be allocated from. `device` counts for kDevice.
Result<std::byte*> allocate(Pool pool, uint64_t bytes, uint32_t device);
// kInvalidArgument unless `pointer` is the first byte of a live allocation of a pool.
Result<void> release(const void* pointer);

// Memory of the agent itself that the device may see (kSystem) or that holds code (kCode).
Result<std::byte*> allocate_system_memory(uint64_t bytes, const std::string& name);
Result<std::byte*> allocate_code_memory(uint64_t bytes, const std::string& name);
void release_agent_memory(std::byte* memory) noexcept;

// For virtual_memory.h. Device memory that no allocation stands for, against device_memory_bytes().
Result<void> take_device_memory(uint32_t device, uint64_t bytes);
void give_device_memory_back(uint32_t device, uint64_t bytes) noexcept;
// An address range that is given to nothing else; nobody can read or write there. `wished` may be
// 0, and is only a hint. Whole pages.
Result<std::byte*> reserve_addresses(uint64_t bytes, uint64_t wished, uint64_t align);
// Makes [memory, memory + bytes), which exists already, an allocation that release() rejects.
Result<void> show_mapping(std::byte* memory, uint64_t bytes, Pool pool, uint32_t device,
                          bool read_only);
Result<void> hide_mapping(std::byte* memory);

// The allocation or locked range that holds the address (kLockedBit is ignored).
std::optional<Allocation> find_allocation(const void* pointer);
Result<void> set_user_data(const void* pointer, void* user_data);

// From now on the device address of locked memory is the host address. For runtimes that query
// attributes unknown to HIP 5.
void lock_at_host_addresses() noexcept;
// Of memory that is locked at this address.
void* locked_address(uint64_t host) noexcept;
// Makes host memory visible to the device; locks nest and may overlap. Gives the device's pointer.
Result<void*> lock_host_memory(void* host, uint64_t bytes);
Result<void> unlock_host_memory(const void* host);

// Whether the device may access [pointer, pointer + bytes) in an asynchronous copy or a fill: it
// must be in an allocation, or begin in locked host memory (a lock may be shorter than the memory
// after it).
bool device_range_is_allowed(const void* pointer, uint64_t bytes);
// The same for a copy by the host (hsa_memory_copy): memory that the agent does not know is the
// program's own.
bool host_range_is_allowed(const void* pointer, uint64_t bytes);

void reset_memory_locks_after_fork() noexcept;

}  // namespace gfxgraph::hsa
