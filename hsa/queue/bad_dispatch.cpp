#include "hsa/queue/bad_dispatch.h"

#include <cstdint>

#include "hsa/device.h"
#include "hsa/target.h"

namespace gfxgraph::hsa {

BadDispatch find_bad_dispatch(const hsa_kernel_dispatch_packet_t& packet, bool all) {
  constexpr uint16_t kMostDimensions = 3;
  constexpr uint64_t kMostItems = 1024;
  if (packet.setup == 0 || packet.setup > kMostDimensions)
    return {"a number of dimensions that is not 1, 2 or 3",
            HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS};
  if (!all) return {};
  if (packet.group_segment_size > target().row().lds_kib << 10)
    return {"more LDS than the device has", HSA_STATUS_ERROR_INVALID_ALLOCATION};
  if (!Device::has_kernel(packet.kernel_object))
    return {"the kernel object is not the address of a kernel descriptor",
            HSA_STATUS_ERROR_INVALID_CODE_OBJECT};
  const uint64_t items = uint64_t{packet.workgroup_size_x} *
                         (packet.setup > 1 ? packet.workgroup_size_y : 1) *
                         (packet.setup > 2 ? packet.workgroup_size_z : 1);
  if (items == 0 || items > kMostItems)
    return {"a workgroup that is empty or larger than 1024 work items",
            HSA_STATUS_ERROR_INVALID_ARGUMENT};
  return {};
}

}  // namespace gfxgraph::hsa
