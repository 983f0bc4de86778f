// Virtual memory (ROCr 1.6 and newer). Debian 12's headers lack these calls, so their types are
// declared here, as in hsa_ext_amd.h of ROCr 1.10, under names that do not meet those of newer
// headers.
#include "hsa/api/attributes.h"
#include "hsa/device.h"
#include "hsa/runtime.h"
#include "hsa/virtual_memory.h"

using namespace gfxgraph;       // NOLINT: entry points are C
using namespace gfxgraph::hsa;  // NOLINT

namespace {

struct AccessOfAgent {  // hsa_amd_memory_access_desc_t
  uint32_t permissions;
  hsa_agent_t agent;
};

hsa_status_t answer(const char* call, const Result<void>& done) {
  return done ? HSA_STATUS_SUCCESS : refuse(status_of(done.error()), call, done.error());
}

template <typename Value, typename To>
hsa_status_t answer(const char* call, const Result<Value>& made, To* to) {
  if (!made) return refuse(status_of(made.error()), call, made.error());
  *to = static_cast<To>(*made);
  return HSA_STATUS_SUCCESS;
}

// The device; nothing for the host.
std::optional<uint32_t> numbered(hsa_agent_t agent) {
  return is_gpu(agent) ? std::optional(device_of(agent)) : std::nullopt;
}

hsa_status_t reserve(const char* call, void** address, size_t bytes, uint64_t wished,
                     uint64_t align) {
  return entry(call, [&] {
    if (address == nullptr || (align & (align - 1)) != 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    return answer(call, reserve_range(bytes, wished, align), address);
  });
}

}  // namespace

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_amd_vmem_address_reserve(void** address, size_t bytes,
                                                              uint64_t wished, uint64_t) {
  return reserve("hsa_amd_vmem_address_reserve", address, bytes, wished, 0);
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_amd_vmem_address_reserve_align(void** address, size_t bytes,
                                                                    uint64_t wished, uint64_t align,
                                                                    uint64_t) {
  return reserve("hsa_amd_vmem_address_reserve_align", address, bytes, wished, align);
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_amd_vmem_address_free(void* address, size_t bytes) {
  constexpr const char* kCall = "hsa_amd_vmem_address_free";
  return entry(kCall,
               [&] { return answer(kCall, free_range(static_cast<std::byte*>(address), bytes)); });
}

GFXGRAPH_HSA_NEWER_CALL(hsa_amd_vmem_handle_create, hsa_amd_memory_pool_t pool, size_t bytes,
                        uint32_t type, uint64_t, uint64_t* memory) {
  constexpr const char* kCall = "hsa_amd_vmem_handle_create";
  return entry(kCall, [&] {
    if (memory == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    const Pool known = pool_of(pool.handle);
    const uint64_t device = device_of_pool(pool.handle);
    if (known == Pool::kNone || known >= Pool::kGroup ||
        device >= (known == Pool::kDevice ? gpu_count() : 1)) {
      return HSA_STATUS_ERROR_INVALID_ALLOCATION;
    }
    if (known == Pool::kDevice && Device::faulted()) return refuse_after_fault(kCall);
    return answer(kCall, create_memory(known, static_cast<uint32_t>(device), bytes, type), memory);
  });
}

GFXGRAPH_HSA_NEWER_CALL(hsa_amd_vmem_handle_release, uint64_t memory) {
  constexpr const char* kCall = "hsa_amd_vmem_handle_release";
  return entry(kCall, [&] { return answer(kCall, release_memory(memory)); });
}

GFXGRAPH_HSA_NEWER_CALL(hsa_amd_vmem_map, void* address, size_t bytes, size_t offset,
                        uint64_t memory, uint64_t) {
  constexpr const char* kCall = "hsa_amd_vmem_map";
  return entry(kCall, [&] {
    return answer(kCall, map_range(static_cast<std::byte*>(address), bytes, offset, memory));
  });
}

GFXGRAPH_HSA_EXPORT hsa_status_t hsa_amd_vmem_unmap(void* address, size_t bytes) {
  constexpr const char* kCall = "hsa_amd_vmem_unmap";
  return entry(kCall,
               [&] { return answer(kCall, unmap_range(static_cast<std::byte*>(address), bytes)); });
}

GFXGRAPH_HSA_NEWER_CALL(hsa_amd_vmem_set_access, void* address, size_t bytes,
                        const AccessOfAgent* list, size_t count) {
  constexpr const char* kCall = "hsa_amd_vmem_set_access";
  return entry(kCall, [&] {
    if (list == nullptr || count == 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    for (size_t i = 0; i < count; ++i) {
      if (!is_agent(list[i].agent)) return HSA_STATUS_ERROR_INVALID_AGENT;
      if (list[i].permissions > static_cast<uint32_t>(Access::kReadWrite))
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    }
    for (size_t i = 0; i < count; ++i) {
      const Result<void> set = set_access(static_cast<std::byte*>(address), bytes,
                                          numbered(list[i].agent), Access{list[i].permissions});
      if (!set) return answer(kCall, set);
    }
    return HSA_STATUS_SUCCESS;
  });
}

GFXGRAPH_HSA_NEWER_CALL(hsa_amd_vmem_get_access, void* address, uint32_t* permissions,
                        hsa_agent_t agent) {
  constexpr const char* kCall = "hsa_amd_vmem_get_access";
  return entry(kCall, [&] {
    if (permissions == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    if (!is_agent(agent)) return HSA_STATUS_ERROR_INVALID_AGENT;
    return answer(kCall, access_of(address, numbered(agent)), permissions);
  });
}

GFXGRAPH_HSA_NEWER_CALL(hsa_amd_vmem_export_shareable_handle, int* descriptor, uint64_t memory,
                        uint64_t) {
  constexpr const char* kCall = "hsa_amd_vmem_export_shareable_handle";
  return entry(kCall, [&] {
    if (descriptor == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    return answer(kCall, export_memory(memory), descriptor);
  });
}

GFXGRAPH_HSA_NEWER_CALL(hsa_amd_vmem_import_shareable_handle, int descriptor, uint64_t* memory) {
  constexpr const char* kCall = "hsa_amd_vmem_import_shareable_handle";
  return entry(kCall, [&] {
    if (memory == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    return answer(kCall, import_memory(descriptor), memory);
  });
}

GFXGRAPH_HSA_NEWER_CALL(hsa_amd_vmem_retain_alloc_handle, uint64_t* memory, void* address) {
  constexpr const char* kCall = "hsa_amd_vmem_retain_alloc_handle";
  return entry(kCall, [&] {
    if (memory == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    return answer(kCall, retain_memory(address), memory);
  });
}

GFXGRAPH_HSA_NEWER_CALL(hsa_amd_vmem_get_alloc_properties_from_handle, uint64_t memory,
                        hsa_amd_memory_pool_t* pool, uint32_t* type) {
  constexpr const char* kCall = "hsa_amd_vmem_get_alloc_properties_from_handle";
  return entry(kCall, [&] {
    if (pool == nullptr || type == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    const auto found = memory_properties(memory);
    if (!found) return refuse(status_of(found.error()), kCall, found.error());
    pool->handle = pool_handle(found->pool, found->device);
    *type = found->type;
    return HSA_STATUS_SUCCESS;
  });
}
