// Zeros that take no memory, for the replay library (base/agent_memory.h).
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "base/agent_memory.h"
#include "base/checked.h"
#include "hsa/device.h"
#include "hsa/memory.h"

namespace gfxgraph::hsa {
namespace {

bool zero_memory(std::byte* memory, uint64_t bytes) {
  const std::optional<Allocation> allocation = find_allocation(memory);
  if (!allocation || !allocation->own_pages) return false;
  const auto begin = reinterpret_cast<uint64_t>(memory);
  if (!range_fits(begin - allocation->address, bytes, allocation->mapped_bytes)) return false;
  const uint64_t end = begin + bytes;
  const uint64_t first = (begin + kPageBytes - 1) / kPageBytes * kPageBytes;
  const uint64_t last = end / kPageBytes * kPageBytes;
  if (first >= last || madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED) != 0) {
    std::memset(memory, 0, bytes);
    return true;
  }
  std::memset(memory, 0, first - begin);
  std::memset(reinterpret_cast<void*>(last), 0, end - last);
  return true;
}

}  // namespace
}  // namespace gfxgraph::hsa

extern "C" __attribute__((visibility("default"))) bool gfxgraph_agent_zero(void* memory,
                                                                           size_t bytes) {
  try {
    return gfxgraph::hsa::zero_memory(static_cast<std::byte*>(memory), bytes);
  } catch (const std::bad_alloc&) {
    return false;
  }
}
