// Arrays, textures and surfaces of a trace in a check: where the arrays are, what stands at the
// handles, and which launches may use what cannot be described.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "check/memory/array_layout.h"
#include "check/memory/device_memory.h"
#include "format/read/reader.h"

namespace gfxgraph::check {

// Not thread-safe.
class Images {
 public:
  // Both must outlive this.
  Images(const format::Trace& trace, DeviceMemory& memory) : trace_(trace), memory_(memory) {}

  // `begin` itself, or in `room` the same array at an address here and with the bytes of its
  // layout. Before it begins in the device memory.
  Result<const format::AllocationBegin*> placed(const format::AllocationBegin& begin,
                                                format::AllocationBegin& room);
  // `copy` itself, or in `room` the same one with offsets and pitches of placed arrays.
  const format::Copy& placed(const format::Copy& copy, format::Copy& room) const;
  // Of a live array; null: it is something else.
  const ArrayLayout* layout(format::AllocationId id) const;

  // Fills the memory of a texture or surface that has begun there.
  Result<void> describe(const format::AllocationBegin& begin);
  void end(format::AllocationId id) { arrays_.erase(id); }

  // What gives memory its contents may give it handles.
  void see(const format::AllocationBegin& begin) { look(begin.initial.relocations); }
  void see(const format::HostWrite& write) { look(write.content.relocations); }
  void see(const format::Copy& copy) { look(copy.host_source.relocations); }
  // Why the launch cannot be run; nothing: it can. A handle in memory may be read by any kernel.
  std::optional<std::string> refuses(const format::Launch& launch) const;

 private:
  struct Array {
    std::shared_ptr<const format::ArrayShape> shape;
    ArrayLayout layout;
  };
  using Undescribed = std::unordered_map<format::AllocationId, std::string, SeededHash>;

  void look(const std::vector<format::Relocation>& words);
  Undescribed::const_iterator first_of(const std::vector<format::Relocation>& words) const;
  std::string text(Undescribed::const_iterator object) const;

  const format::Trace& trace_;
  DeviceMemory& memory_;
  std::unordered_map<format::AllocationId, Array, SeededHash> arrays_;
  Undescribed undescribed_;  // textures and surfaces, and why
  std::string in_memory_;    // one of them that memory has had the handle of
};

}  // namespace gfxgraph::check
