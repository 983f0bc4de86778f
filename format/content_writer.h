// Turns bytes that arrive in pieces into a Content: hashed, checked for one repeated byte, and
// passed to the writer's threads in chunks. Chunks that the file already holds are not written
// again. A large content is hashed on a thread of the writer while its caller fetches the next
// piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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
  // Sees a chunk, in order and before it is written.
  using Look = std::function<void(std::span<const std::byte>)>;

  // The room has been filled. `look` may run on another thread, until finish() has returned or this
  // object is destroyed, but never twice at the same time. What it throws becomes the writer's
  // error.
  Result<void> put(Look look = {});
  // After the last chunk: the content without relocations. An event that names it may be added.
  Result<Content> finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gfxgraph::format
