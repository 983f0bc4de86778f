// Pools, regions, allocations, locked host memory, fills and copies.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

#include "base/checked.h"
#include "hsa/api/attributes.h"
#include "hsa/copy.h"
#include "hsa/device.h"
#include "hsa/memory.h"
#include "hsa/queue/host_calls.h"
#include "hsa/queue/signal.h"
#include "hsa/queue/watchdog.h"
#include "hsa/release_callbacks.h"
#include "hsa/runtime.h"
#include "hsa/target.h"

using namespace gfxgraph;       // NOLINT: entry points are C
using namespace gfxgraph::hsa;  // NOLINT

namespace {

struct PoolRow {
  Pool pool;
  bool gpu;
  uint32_t segment;
  uint32_t flags;
  uint32_t device = 0;  // of a GPU's pool
};

constexpr PoolRow kPools[] = {
    {Pool::kHostFine, false, HSA_AMD_SEGMENT_GLOBAL, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED},
    {Pool::kKernarg, false, HSA_AMD_SEGMENT_GLOBAL,
     HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED | HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT},
    {Pool::kHostCoarse, false, HSA_AMD_SEGMENT_GLOBAL,
     HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED},
    {Pool::kDevice, true, HSA_AMD_SEGMENT_GLOBAL, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED},
    {Pool::kGroup, true, HSA_AMD_SEGMENT_GROUP, 0},
};

std::optional<PoolRow> find_pool(uint64_t handle) {
  for (PoolRow row : kPools) {
    const uint64_t device = device_of_pool(handle);
    if (row.pool != pool_of(handle) || device >= (row.gpu ? gpu_count() : 1)) continue;
    row.device = static_cast<uint32_t>(device);
    return row;
  }
  return std::nullopt;
}

// Handles of the agent's pools in the table's order; stops at the first status but success.
template <typename Callback>
hsa_status_t for_each_pool(hsa_agent_t agent, const Callback& callback) {
  for (const PoolRow& row : kPools) {
    if (row.gpu != is_gpu(agent)) continue;
    const hsa_status_t status = callback(pool_handle(row.pool, row.gpu ? device_of(agent) : 0));
    if (status != HSA_STATUS_SUCCESS) return status;
  }
  return HSA_STATUS_SUCCESS;
}

// Of the host: its memory; where a test gives devices more than that, as much.
uint64_t host_pool_bytes() {
  static const uint64_t bytes =
      std::max<uint64_t>(static_cast<uint64_t>(std::max(sysconf(_SC_PHYS_PAGES), 0L)) * kPageBytes,
                         device_memory_bytes());
  return bytes;
}

uint64_t pool_bytes(const PoolRow& row) {
  if (row.pool == Pool::kGroup) return uint64_t{target().row().lds_kib} << 10;
  return row.gpu ? device_memory_bytes() : host_pool_bytes();
}

hsa_status_t pool_info(const PoolRow& row, uint32_t attribute, Answer& value) {
  const bool global = row.segment == HSA_AMD_SEGMENT_GLOBAL;
  switch (attribute) {
    case HSA_AMD_MEMORY_POOL_INFO_SEGMENT: return value.put(row.segment);
    case HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS: return value.put(row.flags);
    case HSA_AMD_MEMORY_POOL_INFO_SIZE: return value.put(pool_bytes(row));
    case HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED: return value.put(global);
    case HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_GRANULE:
    case HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALIGNMENT:
    case attribute::HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_REC_GRANULE:
      return value.put(global ? kPageBytes : size_t{0});
    case HSA_AMD_MEMORY_POOL_INFO_ACCESSIBLE_BY_ALL: return value.put(global && !row.gpu);
    case HSA_AMD_MEMORY_POOL_INFO_ALLOC_MAX_SIZE:
      return value.put(global ? pool_bytes(row) : uint64_t{0});
    case attribute::HSA_AMD_MEMORY_POOL_INFO_LOCATION: return value.put(uint32_t{row.gpu});
    default: return value.unknown();
  }
}

// The CPU accesses device memory only through copies, as without a large BAR.
bool can_access(hsa_agent_t agent, const PoolRow& row) {
  return row.segment == HSA_AMD_SEGMENT_GLOBAL && (is_gpu(agent) || !row.gpu);
}

hsa_status_t agent_pool_info(hsa_agent_t agent, const PoolRow& row, uint32_t attribute,
                             Answer& value) {
  const bool local = is_gpu(agent) == row.gpu && (!row.gpu || device_of(agent) == row.device);
  switch (attribute) {
    case HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS: {
      uint32_t access = HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED;
      if (can_access(agent, row)) {
        access = local ? HSA_AMD_MEMORY_POOL_ACCESS_ALLOWED_BY_DEFAULT
                       : HSA_AMD_MEMORY_POOL_ACCESS_DISALLOWED_BY_DEFAULT;
      }
      return value.put(access);
    }
    case HSA_AMD_AGENT_MEMORY_POOL_INFO_NUM_LINK_HOPS:
      return value.put(local ? uint32_t{0} : uint32_t{1});
    case HSA_AMD_AGENT_MEMORY_POOL_INFO_LINK_INFO: {
      if (local) return value.put_bytes(nullptr, 0);
      hsa_amd_memory_pool_link_info_t link{};
      link.atomic_support_32bit = true;
      link.atomic_support_64bit = true;
      link.coherent_support = true;
      link.link_type = HSA_AMD_LINK_INFO_TYPE_PCIE;
      link.numa_distance = is_gpu(agent) && row.gpu ? 40 : 20;  // two GPUs: through the host
      return value.put_bytes(&link, sizeof(link));
    }
    default: return value.unknown();
  }
}

// Regions are the older HSA name of pools.
hsa_status_t region_info(const PoolRow& row, uint32_t attribute, Answer& value) {
  switch (attribute) {
    case HSA_REGION_INFO_SEGMENT:
      return value.put(uint32_t{row.segment == HSA_AMD_SEGMENT_GLOBAL ? HSA_REGION_SEGMENT_GLOBAL
                                                                      : HSA_REGION_SEGMENT_GROUP});
    case HSA_REGION_INFO_ALLOC_MAX_SIZE: return value.put(pool_bytes(row));
    case HSA_REGION_INFO_ALLOC_MAX_PRIVATE_WORKGROUP_SIZE: return value.put(uint32_t{1024});
    default: return pool_info(row, attribute, value);
  }
}

hsa_status_t allocate_from(const char* call, uint64_t pool, size_t bytes, void** pointer) {
  return entry(call, [&] {
    const std::optional<PoolRow> row = find_pool(pool);
    if (!row) return HSA_STATUS_ERROR_INVALID_REGION;
    if (pointer == nullptr || bytes == 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    if (row->segment != HSA_AMD_SEGMENT_GLOBAL) return HSA_STATUS_ERROR_INVALID_ALLOCATION;
    if (bytes > pool_bytes(*row))
      return refuse(HSA_STATUS_ERROR_INVALID_ALLOCATION, call, "more than the pool's size");
    // Host memory stays available: HIP 5.2 frees a bad pointer if allocating its own staging buffer
    // fails.
    if (row->pool == Pool::kDevice && Device::faulted()) return refuse_after_fault(call);
    settle_new_buffers();
    const bool hold = !row->gpu && may_become_buffer(bytes);
    const auto memory =
        hold ? allocate_buffer(row->pool, bytes) : allocate(row->pool, bytes, row->device);
    if (!memory) return refuse(status_of(memory.error()), call, memory.error());
    *pointer = *memory;
    return HSA_STATUS_SUCCESS;
  });
}

bool is_pool_memory(const void* pointer) {
  const std::optional<Allocation> found = find_allocation(pointer);
  return found && !found->locked && found->pool != Pool::kNone;
}

hsa_status_t free_allocation(const char* call, void* pointer) {
  return entry(call, [&] {
    if (pointer == nullptr) return HSA_STATUS_SUCCESS;
    settle_new_buffers();
    forget_buffer(pointer);
    if (is_being_released(pointer))
      return refuse(HSA_STATUS_ERROR_INVALID_ALLOCATION, call,
                    "memory whose release is just being told to the program");
    tell_of_release(pointer);
    const auto released = release(pointer);
    return released ? HSA_STATUS_SUCCESS
                    : refuse(HSA_STATUS_ERROR_INVALID_ALLOCATION, call, released.error());
  });
}

uint32_t flags_of(Pool pool) {
  const std::optional<PoolRow> row = find_pool(static_cast<uint64_t>(pool));
  return !row ? uint32_t{HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED} : row->flags;
}

hsa_amd_pointer_info_t describe(const std::optional<Allocation>& allocation) {
  hsa_amd_pointer_info_t info{};
  info.type = HSA_EXT_POINTER_TYPE_UNKNOWN;
  if (!allocation) return info;
  auto* const host = reinterpret_cast<void*>(allocation->address);
  info.type = allocation->locked ? HSA_EXT_POINTER_TYPE_LOCKED : HSA_EXT_POINTER_TYPE_HSA;
  info.hostBaseAddress = host;
  info.agentBaseAddress = allocation->locked ? locked_address(allocation->address) : host;
  info.sizeInBytes = allocation->requested_bytes;
  info.userData = allocation->user_data;
  info.agentOwner = allocation->pool == Pool::kDevice ? gpu_agent(allocation->device) : kCpuAgent;
  info.global_flags = flags_of(allocation->pool);
  return info;
}

// Collects the signals to wait for; null handles count as satisfied dependencies.
bool collect(uint32_t count, const hsa_signal_t* handles, std::vector<Signal*>& dependencies) {
  if (count != 0 && handles == nullptr) return false;
  for (uint32_t i = 0; i < count; ++i) {
    if (Signal* const signal = Signal::from(handles[i])) dependencies.push_back(signal);
  }
  return true;
}

constexpr const char* kNoRange =
    "the range is not inside one allocation of the agent or locked host memory";
constexpr const char* kIsCode = "the destination is loaded code, which cannot be changed";

// Rejected after a fault: the copy would return results of kernels that did not finish.
hsa_status_t copy_linear(const char* call, void* to, const void* from, size_t bytes,
                         uint32_t dependency_count, const hsa_signal_t* dependencies,
                         hsa_signal_t completion) {
  return entry(call, [&] {
    settle_new_buffers();
    std::vector<Signal*> open;
    Signal* const done = Signal::from(completion);
    if (done == nullptr) return HSA_STATUS_ERROR_INVALID_SIGNAL;
    if (to == nullptr || from == nullptr || !collect(dependency_count, dependencies, open)) {
      return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    }
    if (Device::faulted()) return refuse_after_fault(call);
    if (!device_range_is_allowed(to, bytes) || !device_range_is_allowed(from, bytes)) {
      return refuse(HSA_STATUS_ERROR_INVALID_ARGUMENT, call, kNoRange);
    }
    if (is_code(to, bytes)) return refuse(HSA_STATUS_ERROR_INVALID_ARGUMENT, call, kIsCode);
    CopyShape shape;
    shape.to = static_cast<std::byte*>(host_pointer(to));
    shape.from = static_cast<const std::byte*>(host_pointer(from));
    shape.row_bytes = bytes;
    copy_later(shape, std::move(open), done);
    return HSA_STATUS_SUCCESS;
  });
}

// Offset of the first byte and the number of bytes from there to the last; nothing on overflow.
struct Extent {
  uint64_t offset;
  uint64_t bytes;
};
std::optional<Extent> extent_of(const hsa_pitched_ptr_t& area, const hsa_dim3_t& at,
                                const hsa_dim3_t& range) {
  const auto sum = [&](uint64_t x, uint64_t y, uint64_t z) -> std::optional<uint64_t> {
    const auto rows = checked_mul<uint64_t>(area.pitch, y);
    const auto planes = checked_mul<uint64_t>(area.slice, z);
    if (!rows || !planes) return std::nullopt;
    const auto both = checked_add(*rows, *planes);
    return both ? checked_add(*both, x) : std::nullopt;
  };
  const auto offset = sum(at.x, at.y, at.z);
  const auto bytes = sum(range.x, range.y - 1, range.z - 1);
  if (!offset || !bytes) return std::nullopt;
  return Extent{*offset, *bytes};
}

}  // namespace

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_amd_memory_pool_get_info(hsa_amd_memory_pool_t pool,
                                                              hsa_amd_memory_pool_info_t attribute,
                                                              void* value) {
  constexpr const char* kCall = "hsa_amd_memory_pool_get_info";
  return entry(kCall, [&] {
    const std::optional<PoolRow> row = find_pool(pool.handle);
    if (!row) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    return answer(kCall, AttributeOf::kPool, attribute, value,
                  [&](uint32_t number, Answer& out) { return pool_info(*row, number, out); });
  });
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_amd_agent_iterate_memory_pools(
    hsa_agent_t agent, hsa_status_t (*callback)(hsa_amd_memory_pool_t, void*), void* data) {
  return entry("hsa_amd_agent_iterate_memory_pools", [&] {
    if (!is_agent(agent)) return HSA_STATUS_ERROR_INVALID_AGENT;
    if (callback == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    return for_each_pool(
        agent, [&](uint64_t pool) { return callback(hsa_amd_memory_pool_t{pool}, data); });
  });
}

GFXGRAPH_HSA_EXPORT hsa_status_t
hsa_amd_agent_memory_pool_get_info(hsa_agent_t agent, hsa_amd_memory_pool_t pool,
                                   hsa_amd_agent_memory_pool_info_t attribute, void* value) {
  constexpr const char* kCall = "hsa_amd_agent_memory_pool_get_info";
  return entry(kCall, [&] {
    if (!is_agent(agent)) return HSA_STATUS_ERROR_INVALID_AGENT;
    const std::optional<PoolRow> row = find_pool(pool.handle);
    if (!row) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    return answer(
        kCall, AttributeOf::kAgentPool, attribute, value,
        [&](uint32_t number, Answer& out) { return agent_pool_info(agent, *row, number, out); });
  });
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_agent_iterate_regions(
    hsa_agent_t agent, hsa_status_t (*callback)(hsa_region_t, void*), void* data) {
  return entry("hsa_agent_iterate_regions", [&] {
    if (!is_agent(agent)) return HSA_STATUS_ERROR_INVALID_AGENT;
    if (callback == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    return for_each_pool(agent, [&](uint64_t pool) { return callback(hsa_region_t{pool}, data); });
  });
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_region_get_info(hsa_region_t region,
                                                     hsa_region_info_t attribute, void* value) {
  constexpr const char* kCall = "hsa_region_get_info";
  return entry(kCall, [&] {
    const std::optional<PoolRow> row = find_pool(region.handle);
    if (!row) return HSA_STATUS_ERROR_INVALID_REGION;
    return answer(kCall, AttributeOf::kRegion, attribute, value,
                  [&](uint32_t number, Answer& out) { return region_info(*row, number, out); });
  });
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_amd_memory_pool_allocate(hsa_amd_memory_pool_t pool,
                                                              size_t size, uint32_t,
                                                              void** pointer) {
  return allocate_from("hsa_amd_memory_pool_allocate", pool.handle, size, pointer);
}
GFXGRAPH_HSA_EXPORT hsa_status_t hsa_memory_allocate(hsa_region_t region, size_t size,
                                                     void** pointer) {
  return allocate_from("hsa_memory_allocate", region.handle, size, pointer);
}
GFXGRAPH_HSA_EXPORT hsa_status_t hsa_amd_memory_pool_free(void* pointer) {
  return free_allocation("hsa_amd_memory_pool_free", pointer);
}
GFXGRAPH_HSA_EXPORT hsa_status_t hsa_memory_free(void* pointer) {
  return free_allocation("hsa_memory_free", pointer);
}

// Every device can access all memory, whether it was allowed to or not: see docs/software-agent.md.
GFXGRAPH_HSA_EXPORT hsa_status_t hsa_amd_agents_allow_access(uint32_t count,
                                                             const hsa_agent_t* agents,
                                                             const uint32_t*, const void* pointer) {
  return entry("hsa_amd_agents_allow_access", [&] {
    if (count == 0 || agents == nullptr || pointer == nullptr)
      return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    for (uint32_t i = 0; i < count; ++i) {
      if (!is_agent(agents[i])) return HSA_STATUS_ERROR_INVALID_AGENT;
    }
    return HSA_STATUS_SUCCESS;
  });
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_amd_memory_pool_can_migrate(hsa_amd_memory_pool_t from,
                                                                 hsa_amd_memory_pool_t to,
                                                                 bool* result) {
  return entry("hsa_amd_memory_pool_can_migrate", [&] {
    if (!find_pool(from.handle) || !find_pool(to.handle) || result == nullptr) {
      return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    }
    *result = false;
    return HSA_STATUS_SUCCESS;
  });
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_memory_register(void* pointer, size_t size) {
  return entry("hsa_memory_register", [&] {
    return pointer == nullptr && size != 0 ? HSA_STATUS_ERROR_INVALID_ARGUMENT : HSA_STATUS_SUCCESS;
  });
}
GFXGRAPH_HSA_EXPORT hsa_status_t hsa_memory_deregister(void*, size_t) {
  return entry("hsa_memory_deregister", [] { return HSA_STATUS_SUCCESS; });
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_amd_memory_lock(void* host, size_t size, hsa_agent_t*, int,
                                                     void** agent_pointer) {
  constexpr const char* kCall = "hsa_amd_memory_lock";
  return entry(kCall, [&] {
    if (agent_pointer == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    *agent_pointer = nullptr;
    const auto locked = lock_host_memory(host, size);
    if (!locked) return refuse(status_of(locked.error()), kCall, locked.error());
    *agent_pointer = *locked;
    return HSA_STATUS_SUCCESS;
  });
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_amd_memory_lock_to_pool(void* host, size_t size,
                                                             hsa_agent_t* agents, int count,
                                                             hsa_amd_memory_pool_t pool, uint32_t,
                                                             void** agent_pointer) {
  const std::optional<PoolRow> row = find_pool(pool.handle);
  if (!row || row->gpu) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  return hsa_amd_memory_lock(host, size, agents, count, agent_pointer);
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_amd_memory_unlock(void* host) {
  constexpr const char* kCall = "hsa_amd_memory_unlock";
  return entry(kCall, [&] {
    const auto unlocked = unlock_host_memory(host);
    // AMD's runtime accepts memory of a pool, too, which needs no lock.
    if (!unlocked && is_pool_memory(host)) return HSA_STATUS_SUCCESS;
    return unlocked ? HSA_STATUS_SUCCESS
                    : refuse(HSA_STATUS_ERROR_INVALID_ARGUMENT, kCall, unlocked.error());
  });
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_amd_pointer_info(const void* pointer,
                                                      hsa_amd_pointer_info_t* info,
                                                      void* (*alloc)(size_t), uint32_t* agent_count,
                                                      hsa_agent_t** agents) {
  return entry("hsa_amd_pointer_info", [&] {
    if (info == nullptr || info->size < offsetof(hsa_amd_pointer_info_t, agentBaseAddress)) {
      return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    }
    const std::optional<Allocation> allocation = find_allocation(pointer);
    hsa_amd_pointer_info_t answer = describe(allocation);
    // Fills only the fields known to the caller; `size` tells a newer caller which fields are set.
    answer.size = std::min<uint32_t>(info->size, sizeof(answer));
    std::memcpy(info, &answer, answer.size);
    if (alloc == nullptr || agent_count == nullptr || agents == nullptr) return HSA_STATUS_SUCCESS;
    *agent_count = 0;
    *agents = nullptr;
    if (!allocation) return HSA_STATUS_SUCCESS;
    auto* const list = static_cast<hsa_agent_t*>(alloc((gpu_count() + 1) * sizeof(hsa_agent_t)));
    if (list == nullptr) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    uint32_t count = 0;
    while (count < gpu_count()) {
      list[count] = gpu_agent(count);
      ++count;
    }
    if (allocation->pool != Pool::kDevice) list[count++] = kCpuAgent;
    *agent_count = count;
    *agents = list;
    return HSA_STATUS_SUCCESS;
  });
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_amd_pointer_info_set_userdata(const void* pointer,
                                                                   void* user_data) {
  return entry("hsa_amd_pointer_info_set_userdata", [&] {
    return set_user_data(pointer, user_data) ? HSA_STATUS_SUCCESS
                                             : HSA_STATUS_ERROR_INVALID_ARGUMENT;
  });
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_amd_memory_fill(void* pointer, uint32_t value, size_t count) {
  constexpr const char* kCall = "hsa_amd_memory_fill";
  return entry(kCall, [&] {
    const auto bytes = checked_mul<uint64_t>(count, sizeof(value));
    settle_new_buffers();
    if (pointer == nullptr || !bytes || reinterpret_cast<uint64_t>(pointer) % sizeof(value) != 0) {
      return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    }
    if (Device::faulted()) return refuse_after_fault(kCall);
    if (!device_range_is_allowed(pointer, *bytes)) {
      return refuse(HSA_STATUS_ERROR_INVALID_ARGUMENT, kCall, kNoRange);
    }
    if (is_code(pointer, *bytes)) return refuse(HSA_STATUS_ERROR_INVALID_ARGUMENT, kCall, kIsCode);
    note_activity();
    std::fill_n(static_cast<uint32_t*>(host_pointer(pointer)), count, value);
    return HSA_STATUS_SUCCESS;
  });
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_memory_copy(void* to, const void* from, size_t size) {
  constexpr const char* kCall = "hsa_memory_copy";
  return entry(kCall, [&] {
    if (to == nullptr || from == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    if (Device::faulted()) return refuse_after_fault(kCall);
    if (!host_range_is_allowed(to, size) || !host_range_is_allowed(from, size)) {
      return refuse(HSA_STATUS_ERROR_INVALID_ARGUMENT, kCall, "the range exceeds its allocation");
    }
    if (is_code(to, size)) return refuse(HSA_STATUS_ERROR_INVALID_ARGUMENT, kCall, kIsCode);
    note_activity();
    std::memmove(host_pointer(to), host_pointer(from), size);
    return HSA_STATUS_SUCCESS;
  });
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_amd_memory_async_copy(void* to, hsa_agent_t, const void* from,
                                                           hsa_agent_t, size_t size,
                                                           uint32_t dependency_count,
                                                           const hsa_signal_t* dependencies,
                                                           hsa_signal_t completion) {
  return copy_linear("hsa_amd_memory_async_copy", to, from, size, dependency_count, dependencies,
                     completion);
}

// Only in newer headers. There is one engine, so the requested one is ignored.
GFXGRAPH_HSA_NEWER_CALL(hsa_amd_memory_async_copy_on_engine, void* to, hsa_agent_t,
                        const void* from, hsa_agent_t, size_t size, uint32_t dependency_count,
                        const hsa_signal_t* dependencies, hsa_signal_t completion, uint32_t, bool) {
  return copy_linear("hsa_amd_memory_async_copy_on_engine", to, from, size, dependency_count,
                     dependencies, completion);
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_amd_memory_copy_engine_status(hsa_agent_t, hsa_agent_t,
                                                                   uint32_t* mask) {
  return entry("hsa_amd_memory_copy_engine_status", [&] {
    if (mask == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    *mask = 3;
    return HSA_STATUS_SUCCESS;
  });
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_amd_memory_get_preferred_copy_engine(hsa_agent_t to,
                                                                          hsa_agent_t from,
                                                                          uint32_t* mask) {
  return hsa_amd_memory_copy_engine_status(to, from, mask);
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_amd_memory_async_copy_rect(
    const hsa_pitched_ptr_t* to, const hsa_dim3_t* to_offset, const hsa_pitched_ptr_t* from,
    const hsa_dim3_t* from_offset, const hsa_dim3_t* range, hsa_agent_t, hsa_amd_copy_direction_t,
    uint32_t dependency_count, const hsa_signal_t* dependencies, hsa_signal_t completion) {
  constexpr const char* kCall = "hsa_amd_memory_async_copy_rect";
  return entry(kCall, [&] {
    settle_new_buffers();
    std::vector<Signal*> open;
    Signal* const done = Signal::from(completion);
    if (done == nullptr) return HSA_STATUS_ERROR_INVALID_SIGNAL;
    if (to == nullptr || to_offset == nullptr || from == nullptr || from_offset == nullptr ||
        range == nullptr || to->base == nullptr || from->base == nullptr ||
        !collect(dependency_count, dependencies, open)) {
      return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    }
    if (Device::faulted()) return refuse_after_fault(kCall);
    CopyShape shape;
    if (range->x != 0 && range->y != 0 && range->z != 0) {
      const auto target = extent_of(*to, *to_offset, *range);
      const auto source = extent_of(*from, *from_offset, *range);
      if (!target || !source) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
      shape.to = static_cast<std::byte*>(host_pointer(to->base)) + target->offset;
      shape.from = static_cast<const std::byte*>(host_pointer(from->base)) + source->offset;
      if (!device_range_is_allowed(shape.to, target->bytes) ||
          !device_range_is_allowed(shape.from, source->bytes)) {
        return refuse(HSA_STATUS_ERROR_INVALID_ARGUMENT, kCall, kNoRange);
      }
      if (is_code(shape.to, target->bytes))
        return refuse(HSA_STATUS_ERROR_INVALID_ARGUMENT, kCall, kIsCode);
      shape.row_bytes = range->x;
      shape.rows = range->y;
      shape.planes = range->z;
      shape.to_pitch_bytes = to->pitch;
      shape.to_slice_bytes = to->slice;
      shape.from_pitch_bytes = from->pitch;
      shape.from_slice_bytes = from->slice;
    } else {
      shape.rows = 0;
    }
    copy_later(shape, std::move(open), done);
    return HSA_STATUS_SUCCESS;
  });
}
