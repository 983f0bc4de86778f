// What words lead to: live memory, and the handles of textures and surfaces.
#pragma once

#include <cstdint>
#include <memory>

#include "format/trace.h"

namespace gfxgraph::pointers {

struct Target {
  format::AllocationId id = 0;
  format::AllocationKind kind = format::AllocationKind::kDevice;
  uint64_t address = 0;       // as the device sees it
  uint64_t host_address = 0;  // 0: the host cannot see it
  uint64_t size_bytes = 0;
  const void* module =
      nullptr;  // kModuleGlobal: its owner, whose variables a replay moves together
  // kArray: what it is. Its address is none that a device has.
  std::shared_ptr<const format::ArrayShape> array = nullptr;
  // kTexture, kSurface: what it was made of. Its address is the handle.
  std::shared_ptr<const format::ImageObject> object = nullptr;

  // In the trace: from its AllocationBegin to its AllocationEnd. Always, unless only ranges are
  // recorded.
  bool begun = false;
  // A module variable between two recorded sections: it has one place in a replay too, where it may
  // begin only once.
  bool kept = false;
  // Streams write or wait for values in it. Launches read it.
  bool holds_values = false;
  bool in_memory = false;  // device memory holds its address: any kernel may read or write it

  bool host_visible() const { return host_address != 0; }
  bool has_two_addresses() const {
    return host_address != 0 && host_address != address && is_memory();
  }
  // A launch that gets its address is recorded without a look at it: the trace has its contents,
  // and neither the host nor a stream writes it beside the kernel.
  bool plain() const { return !host_visible() && !holds_values && begun && !kept; }
  // Addresses in it are those of the program's memory.
  bool is_memory() const { return array == nullptr && object == nullptr; }
  // Whether a word that lies in it is its address: a handle counts as a whole, and nothing leads
  // to an array.
  bool is_meant_by(uint64_t word) const {
    return is_memory() || (object != nullptr && word == address);
  }
  // Bytes between it and a device address; 0: inside, or one past the end.
  uint64_t distance(uint64_t word) const {
    if (word < address) return address - word;
    return word - address > size_bytes ? word - address - size_bytes : 0;
  }
};

}  // namespace gfxgraph::pointers
