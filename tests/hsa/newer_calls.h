// Calls of ROCr 1.6 and newer, which Debian 12's headers do not have. Newer headers have them with
// types of their own, so they are declared here under other names.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <cstddef>
#include <cstdint>

struct AccessOfAgent {  // hsa_amd_memory_access_desc_t
  uint32_t permissions;
  hsa_agent_t agent;
};

#define GFXGRAPH_NEWER_HSA(name, ...) \
  extern "C" hsa_status_t newer_##name(__VA_ARGS__) __asm__(#name)
GFXGRAPH_NEWER_HSA(hsa_amd_queue_get_info, hsa_queue_t*, uint32_t, void*);
GFXGRAPH_NEWER_HSA(hsa_amd_vmem_address_reserve, void**, size_t, uint64_t, uint64_t);
GFXGRAPH_NEWER_HSA(hsa_amd_vmem_address_reserve_align, void**, size_t, uint64_t, uint64_t,
                   uint64_t);
GFXGRAPH_NEWER_HSA(hsa_amd_vmem_address_free, void*, size_t);
GFXGRAPH_NEWER_HSA(hsa_amd_vmem_handle_create, hsa_amd_memory_pool_t, size_t, uint32_t, uint64_t,
                   uint64_t*);
GFXGRAPH_NEWER_HSA(hsa_amd_vmem_handle_release, uint64_t);
GFXGRAPH_NEWER_HSA(hsa_amd_vmem_map, void*, size_t, size_t, uint64_t, uint64_t);
GFXGRAPH_NEWER_HSA(hsa_amd_vmem_unmap, void*, size_t);
GFXGRAPH_NEWER_HSA(hsa_amd_vmem_set_access, void*, size_t, const AccessOfAgent*, size_t);
GFXGRAPH_NEWER_HSA(hsa_amd_vmem_get_access, void*, uint32_t*, hsa_agent_t);
GFXGRAPH_NEWER_HSA(hsa_amd_vmem_export_shareable_handle, int*, uint64_t, uint64_t);
GFXGRAPH_NEWER_HSA(hsa_amd_vmem_import_shareable_handle, int, uint64_t*);
GFXGRAPH_NEWER_HSA(hsa_amd_vmem_retain_alloc_handle, uint64_t*, void*);
GFXGRAPH_NEWER_HSA(hsa_amd_vmem_get_alloc_properties_from_handle, uint64_t, hsa_amd_memory_pool_t*,
                   uint32_t*);
#undef GFXGRAPH_NEWER_HSA
