// Hooks of memory that the program maps at addresses of its choice. The trace does not describe
// reserved addresses or memory without an address.
#include "recorder/hooks/calls/hooks_internal.h"

using namespace gfxgraph::recorder;

namespace {

// hipMemLocation, the same in all runtimes.
struct Location {
  static constexpr int32_t kDevice = 1;

  int32_t type;
  int32_t id;
};

// hipMemAllocationProp of HIP 6 and newer, as far as it matters. HIP 5 has memory of devices only.
struct MemoryProperties {
  int32_t type;
  int32_t handle_type;
  Location location;
};

uint64_t number_of(hipMemGenericAllocationHandle_t memory) {
  return reinterpret_cast<uint64_t>(memory);
}

}  // namespace

GFXGRAPH_HOOK hipError_t hipMemCreate(hipMemGenericAllocationHandle_t* memory, size_t bytes,
                                      const hipMemAllocationProp* properties,
                                      unsigned long long flags) {
  const Scope scope;
  const hipError_t result = real(kCall_hipMemCreate, memory, bytes, properties, flags);
  if (!scope.record || result != hipSuccess) return result;
  recorder().mappings().created(number_of(*memory));
  if (runtime_major() >= 6 &&
      reinterpret_cast<const MemoryProperties*>(properties)->location.type != Location::kDevice) {
    recorder().note_incomplete("hipMemCreate", "memory of the host");
  }
  return result;
}

GFXGRAPH_HOOK hipError_t hipMemMap(void* address, size_t bytes, size_t offset,
                                   hipMemGenericAllocationHandle_t memory,
                                   unsigned long long flags) {
  GFXGRAPH_CALL_THEN(hipMemMap,
                     recorder().mappings().mapped(address_of(address), bytes, number_of(memory)),
                     address, bytes, offset, memory, flags);
}

GFXGRAPH_HOOK hipError_t hipMemSetAccess(void* address, size_t bytes, const hipMemAccessDesc* list,
                                         size_t count) {
  const Scope scope;
  const hipError_t result = real(kCall_hipMemSetAccess, address, bytes, list, count);
  if (!scope.record || result != hipSuccess) return result;
  for (size_t i = 0; i < count; ++i) {
    if (list[i].flags == hipMemAccessFlagsProtNone) continue;
    if (static_cast<int32_t>(list[i].location.type) != Location::kDevice) {
      recorder().note_incomplete("hipMemSetAccess", "gives the host access");
    }
    recorder().mappings().accessible(address_of(address), bytes, "hipMemSetAccess");
  }
  return result;
}

GFXGRAPH_HOOK hipError_t hipMemUnmap(void* address, size_t bytes) {
  const Scope scope;
  if (!scope.record) return real(kCall_hipMemUnmap, address, bytes);
  std::vector<Freeing> buffers = recorder().mappings().unmapping(address_of(address), bytes);
  const hipError_t result = real(kCall_hipMemUnmap, address, bytes);
  recorder().mappings().unmapped(address_of(address), bytes, std::move(buffers),
                                 result == hipSuccess);
  return result;
}
