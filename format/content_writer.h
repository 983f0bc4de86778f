// Turns bytes that arrive in pieces into a Content: hashed, checked for one repeated byte, and
// passed to the writer's threads in chunks. Chunks that the file already holds are not written
// again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/result.h"
#include "format/trace.h"
#include "format/writer.h"

namespace gfxgraph::format {

// Single-threaded. A caller that stops before finish() leaves unused chunks in the file. Errors are
// the writer's, except for the constructor's std::bad_alloc.
class ContentWriter {
 public:
  // `size_bytes`: of the whole content. `store` false: only its hash is needed, and its byte if it
  // repeats one.
  ContentWriter(Writer& writer, uint64_t size_bytes, bool store = true);
  ~ContentWriter();
  ContentWriter(const ContentWriter&) = delete;
  ContentWriter& operator=(const ContentWriter&) = delete;

  // A buffer for the next chunk, to be filled; empty once all have been put. Waits for the writer
  // if many chunks are in flight.
  Result<std::span<std::byte>> room();
  // The room has been filled.
  Result<void> put();
  // After the last chunk: the content without relocations. An event that names it may be added.
  Result<Content> finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gfxgraph::format
