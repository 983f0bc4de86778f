// Arrays, textures and surfaces, as the program's calls say it. After the real calls, which
// succeeded, unless stated otherwise. Any thread, without locks.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "recorder/core.h"
#include "recorder/memory/host_writes.h"
#include "recorder/memory/traced_memory.h"
#include "recorder/objects/allocations.h"
#include "recorder/objects/array_places.h"
#include "recorder/recording/handover.h"

namespace gfxgraph::recorder {

class ArrayCalls : private Part {
 public:
  ArrayCalls(const Core& core, Allocations& allocations, TracedMemory& traced,
             HostWrites& host_writes, Handover& handover) noexcept
      : Part(core),
        allocations_(allocations),
        traced_(traced),
        host_writes_(host_writes),
        handover_(handover) {}

  void created(Handle array, const format::ArrayShape& shape, std::string_view call) noexcept;
  struct Place {
    uint64_t address = 0;  // of its first byte, for RawCopyEnd
    std::shared_ptr<const format::ArrayShape> shape;
  };
  bool find(Handle array, Place& place) noexcept;
  // Before its end: the runtime may give the handle to another one. Returns its address for
  // BufferCalls::freeing(), 0 if it is not known; stays() if the real call fails.
  uint64_t leaves(Handle array) noexcept;
  void stays(Handle array, uint64_t address) noexcept;
  // Before an array is freed: whether the caller waits for the null stream, as HIP's call does. If
  // not, that call waits for the device, and so does BufferCalls::freeing().
  bool free_waits_for_null_stream() noexcept;
  bool free_waits_for_device() const noexcept;

  struct NewImage {
    format::AllocationKind kind = format::AllocationKind::kTexture;  // or kSurface
    uint64_t handle = 0;
    format::ImageObject object;  // without allocation and offset
    Handle array = nullptr;
    uint64_t address = 0;  // or that of the memory
  };
  void image_created(const NewImage& image, std::string_view call) noexcept;

  // ---- with the recorder's lock -----------------------------------------------------------------
  // A texture has ended, and may have taken its array with it.
  void lose_array_of(const Allocation& texture);
  void forget_all() { places_.clear(); }

 private:
  Allocations& allocations_;
  TracedMemory& traced_;
  HostWrites& host_writes_;
  Handover& handover_;
  ArrayPlaces places_;
};

}  // namespace gfxgraph::recorder
