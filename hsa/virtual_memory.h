// Memory whose addresses and bytes are allocated separately (hsa_amd_vmem_*, ROCr 1.6 and newer): a
// range of addresses is reserved, memory is created without an address, and mapped there.
// hipMallocAsync of HIP 7 allocates from such ranges.
//
// Memory is a memfd: the same bytes may be mapped at several places, and be shared by descriptor.
// Sizes and addresses are whole pages. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/result.h"
#include "hsa/memory.h"

namespace gfxgraph::hsa {

// hsa_access_permission_t.
enum class Access : uint32_t { kNone = 0, kReadOnly = 1, kWriteOnly = 2, kReadWrite = 3 };

Result<std::byte*> reserve_range(uint64_t bytes, uint64_t wished, uint64_t align);
// kInvalidArgument unless it is a whole reservation in which nothing is mapped.
Result<void> free_range(std::byte* address, uint64_t bytes);

// A number for zeroed memory, never 0. `type` is handed back by memory_properties() only.
// `device` counts for Pool::kDevice.
Result<uint64_t> create_memory(Pool pool, uint32_t device, uint64_t bytes, uint32_t type);
// Releases one reference; the bytes are freed when nothing maps them any more.
Result<void> release_memory(uint64_t memory);
struct MemoryProperties {
  Pool pool = Pool::kNone;
  uint32_t device = 0;
  uint32_t type = 0;
};
Result<MemoryProperties> memory_properties(uint64_t memory);

// Maps [offset, offset + bytes) of the memory at `address`, in one reservation, where nothing is
// mapped. The device can access it after access is granted.
Result<void> map_range(std::byte* address, uint64_t bytes, uint64_t offset, uint64_t memory);
// One mapping as it was made.
Result<void> unmap_range(std::byte* address, uint64_t bytes);
// Of the mappings that make up the range: a device's access, or the host's (nullopt), which is not
// kept from anything. The devices share one memory map: memory that one of them may access, all can
// access, and write if one may.
Result<void> set_access(std::byte* address, uint64_t bytes, std::optional<uint32_t> device,
                        Access access);
Result<Access> access_of(const void* address, std::optional<uint32_t> device);
// Of the mapping that holds the address; one more hold.
Result<uint64_t> retain_memory(const void* address);

// A descriptor of the memory, for another process or this one; the caller closes it.
Result<int> export_memory(uint64_t memory);
Result<uint64_t> import_memory(int descriptor);

}  // namespace gfxgraph::hsa
