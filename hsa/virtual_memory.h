// Virtual memory management (hsa_amd_vmem_*, ROCr 1.6 and newer): the program reserves an address
// range, creates memory without an address, and maps it into the range. HIP 7's hipMallocAsync
// allocates from such ranges.
//
// Memory is a memfd, so it can be mapped at several addresses and shared by descriptor. Sizes and
// addresses must be multiples of the page size. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/result.h"
#include "hsa/memory.h"

namespace gfxgraph::hsa {

// hsa_access_permission_t.
enum class Access : uint32_t { kNone = 0, kReadOnly = 1, kWriteOnly = 2, kReadWrite = 3 };

// `wished` is a hint; 0: none.
Result<std::byte*> reserve_range(uint64_t bytes, uint64_t wished, uint64_t align);
// Frees a reservation. kInvalidArgument unless the range is a whole reservation with no mappings.
Result<void> free_range(std::byte* address, uint64_t bytes);

// Creates zeroed memory and returns its handle, never 0. `type` is only stored, for
// memory_properties(). `device` is used only for Pool::kDevice.
Result<uint64_t> create_memory(Pool pool, uint32_t device, uint64_t bytes, uint32_t type);
// Releases one reference. The memory is freed after the last reference and mapping are gone.
Result<void> release_memory(uint64_t memory);
struct MemoryProperties {
  Pool pool = Pool::kNone;
  uint32_t device = 0;
  uint32_t type = 0;
};
Result<MemoryProperties> memory_properties(uint64_t memory);

// Maps [offset, offset + bytes) of the memory at `address`, within one reservation and over no
// other mapping. The device cannot access it before set_access().
Result<void> map_range(std::byte* address, uint64_t bytes, uint64_t offset, uint64_t memory);
// Unmaps exactly one mapping made by map_range().
Result<void> unmap_range(std::byte* address, uint64_t bytes);
// Sets a device's access to the mappings that make up the range, or the host's (nullopt), which is
// never restricted. All devices share one memory map: if one may access or write memory, all can.
Result<void> set_access(std::byte* address, uint64_t bytes, std::optional<uint32_t> device,
                        Access access);
Result<Access> access_of(const void* address, std::optional<uint32_t> device);
// Returns the memory mapped at the address and adds a reference to it.
Result<uint64_t> retain_memory(const void* address);

// A file descriptor for the memory, for this or another process; the caller closes it.
Result<int> export_memory(uint64_t memory);
Result<uint64_t> import_memory(int descriptor);

}  // namespace gfxgraph::hsa
