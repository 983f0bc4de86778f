// Calls of ROCr 1.6 and newer, which Debian 12's headers do not have. Newer headers have them with
// types of their own, so they are declared here under other names.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa/hsa_ext_image.h>

#include <cstddef>
#include <cstdint>

struct AccessOfAgent {  // hsa_amd_memory_access_desc_t
  uint32_t permissions;
  hsa_agent_t agent;
};

struct QueueDescriptor {  // hsa_amd_queue_create_desc_t, for the compute engine
  uint16_t version = 1;
  uint16_t flags = 0;
  uint8_t engine_type = 0;
  uint8_t reserved_header[3] = {};
  uint32_t queue_size_bytes = 0;
  uint32_t priority = 1;
  void (*callback)(hsa_status_t, hsa_queue_t*, void*) = nullptr;
  void* callback_data = nullptr;
  hsa_queue_t* queue = nullptr;
  const uint32_t* cu_mask = nullptr;
  uint32_t type = HSA_QUEUE_TYPE_MULTI;
  uint32_t private_segment_size = UINT32_MAX;
  uint32_t cu_mask_count = 0;
  uint32_t reserved_compute[3] = {};
  uint32_t traffic_class = 0;
  uint8_t reserved[20] = {};
};

// The descriptor's bytes from `cu_mask` on, for the SDMA engine.
struct SdmaQueueDescriptor {
  uint16_t version = 1;
  uint16_t flags = 0;
  uint8_t engine_type = 1;
  uint8_t reserved_header[3] = {};
  uint32_t queue_size_bytes = 4096;
  uint32_t priority = 1;
  void (*callback)(hsa_status_t, hsa_queue_t*, void*) = nullptr;
  void* callback_data = nullptr;
  hsa_queue_t* queue = nullptr;
  uint32_t engine = UINT32_MAX;  // any
  uint32_t reserved_sdma[7] = {};
  uint32_t traffic_class = 0;
  uint8_t reserved[20] = {};
};
static_assert(sizeof(SdmaQueueDescriptor) == sizeof(QueueDescriptor));

struct ImageDescriptorV2 {  // hsa_ext_image_descriptor_v2_t
  hsa_ext_image_descriptor_t plain;
  size_t mip_levels;
};

struct CopyOperation {  // hsa_amd_memory_copy_op_t
  uint16_t version = 1;
  uint16_t type = 0;  // 0: linear, 1: to each of a list
  uint16_t entries = 0;
  uint16_t traffic_class = 0;
  hsa_signal_t completion{};
  const void* from = nullptr;
  hsa_agent_t from_agent{};
  const void* to_agent = nullptr;  // the handle, or a list of agents
  const void* to = nullptr;        // or a list of pointers
  size_t bytes = 0;
  size_t unused_bytes = 0;
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
GFXGRAPH_NEWER_HSA(hsa_amd_queue_create, hsa_agent_t, QueueDescriptor*, uint32_t);
GFXGRAPH_NEWER_HSA(hsa_amd_counted_queue_acquire, hsa_agent_t, uint32_t, uint32_t,
                   void (*)(hsa_status_t, hsa_queue_t*, void*), void*, uint64_t, hsa_queue_t**);
GFXGRAPH_NEWER_HSA(hsa_amd_counted_queue_release, hsa_queue_t*);
GFXGRAPH_NEWER_HSA(hsa_amd_memory_async_batch_copy, const CopyOperation*, uint32_t, uint32_t,
                   const hsa_signal_t*);
GFXGRAPH_NEWER_HSA(hsa_amd_signal_get_event_id, hsa_signal_t, uint32_t*);
GFXGRAPH_NEWER_HSA(hsa_ext_image_create_v2, hsa_agent_t, const ImageDescriptorV2*, const void*,
                   uint32_t, hsa_ext_image_t*);
GFXGRAPH_NEWER_HSA(hsa_ext_image_data_get_info_v2, hsa_agent_t, const ImageDescriptorV2*, uint32_t,
                   hsa_ext_image_data_info_t*);
GFXGRAPH_NEWER_HSA(hsa_ext_image_destroy_v2, hsa_agent_t, hsa_ext_image_t);
GFXGRAPH_NEWER_HSA(hsa_ven_amd_pcs_create, hsa_agent_t);
#undef GFXGRAPH_NEWER_HSA
