// Turns bytes that arrive in pieces into a Content. Hashes them, detects one repeated byte, and
// passes chunks to the writer's threads. Does not write chunks that the file already has. A thread
// of the writer hashes large contents while the caller fetches the next piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "base/result.h"
#include "format/trace.h"
#include "format/write/writer.h"

namespace gfxgraph::format {

// Not thread-safe. If finish() is not called, unused chunks stay in the file. Errors are those of
// the writer; only the constructor may throw std::bad_alloc.
class ContentWriter {
 public:
  // `writer` must outlive this. `size_bytes`: of the whole content. `store` false: computes only
  // the hash and the repeated byte, if any.
  ContentWriter(Writer& writer, uint64_t size_bytes, bool store = true);
  ~ContentWriter();
  ContentWriter(const ContentWriter&) = delete;
  ContentWriter& operator=(const ContentWriter&) = delete;

  // A buffer for the caller to fill with the next chunk; empty after the last one. Waits for the
  // writer if too many chunks are in flight.
  Result<std::span<std::byte>> room();
  // Called with each chunk, in order, before it is written.
  using Look = std::function<void(std::span<const std::byte>)>;

  // Submits the chunk in room(). `look` may run on another thread until finish() returns or this
  // object is destroyed; its calls never overlap. An exception that it throws becomes the writer's
  // error.
  Result<void> put(Look look = {});
  // Call after the last chunk. Returns the content, without relocations; events that name it may
  // then be added.
  Result<Content> finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gfxgraph::format
