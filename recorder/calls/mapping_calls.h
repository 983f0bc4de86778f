// Memory that the program maps itself (hipMemMap), as its calls say it. After the real calls, which
// succeeded, unless stated otherwise. Any thread, without locks.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "recorder/calls/buffer_calls.h"
#include "recorder/core.h"
#include "recorder/objects/executable_graphs.h"
#include "recorder/objects/graphs.h"
#include "recorder/objects/mapped_memory.h"

namespace gfxgraph::recorder {

class MappingCalls : private Part {
 public:
  MappingCalls(const Core& core, const Graphs& graphs, const ExecutableGraphs& executables,
               BufferCalls& buffers) noexcept
      : Part(core), graphs_(graphs), executables_(executables), buffers_(buffers) {}

  void created(MappedMemory::Memory memory) noexcept;
  void mapped(uint64_t address, uint64_t size_bytes, MappedMemory::Memory memory) noexcept;
  void accessible(uint64_t address, uint64_t size_bytes, const char* call) noexcept;
  // Before the real call and after it, as BufferCalls::freeing() and freed().
  std::vector<Freeing> unmapping(uint64_t address, uint64_t size_bytes) noexcept;
  void unmapped(uint64_t address, uint64_t size_bytes, std::vector<Freeing>&& buffers,
                bool success) noexcept;

 private:
  void begin(std::span<const MappedMemory::Buffer> buffers, const char* call) noexcept;
  void note_if_graphs(const char* call) noexcept;
  void missing(const char* call, std::string_view detail) noexcept;

  const Graphs& graphs_;
  const ExecutableGraphs& executables_;
  BufferCalls& buffers_;
  MappedMemory mapped_;
};

}  // namespace gfxgraph::recorder
