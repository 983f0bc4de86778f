// Values that streams write into memory.
#include <array>
#include <cstring>

#include "recorder/recorder_internal.h"

namespace gfxgraph::recorder {

// What the runtime does is a memset of one element, or a copy of eight bytes that the program gave:
// the trace says it like that. A pointer has eight bytes, and the words of a copy are relocated.
std::optional<format::Action> Recorder::make_write(const RawWrite& raw, format::StreamId stream,
                                                   Work& work) {
  if (raw.size_bytes == 4 && raw.address % 4 == 0) {
    RawMemset set;
    set.address = raw.address;
    set.element_bytes = 4;
    set.value = static_cast<uint32_t>(raw.value);
    set.width_elements = 1;
    auto made = make_memset(set, stream, work);
    if (!made) return std::nullopt;
    return format::Action(*std::move(made));
  }
  format::Copy copy;
  if (!resolve_copy_end({raw.address, 0, 0}, MemorySide::kDevice, raw.size_bytes, work,
                        copy.destination)) {
    return std::nullopt;
  }
  copy.width_bytes = raw.size_bytes;
  copy.asynchronous = true;
  copy.stream = stream;
  std::array<std::byte, 8> bytes;
  std::memcpy(bytes.data(), &raw.value, bytes.size());
  copy.host_source = make_content(std::span(bytes).first(raw.size_bytes), true);
  if (Allocation* target = by_id(copy.destination.allocation)) {
    writes(work, *target, flight_of(copy));
  }
  return format::Action(std::move(copy));
}

}  // namespace gfxgraph::recorder
