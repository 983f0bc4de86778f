// Bytes that are given piece by piece become a Content: hashed, found to be of one byte, and handed
// to the writer's threads in chunks. What the file holds already is not written again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/result.h"
#include "format/trace.h"
#include "format/writer.h"

namespace gfxgraph::format {

// Of one thread. Who stops before finish() leaves chunks in the file that nothing names. Errors are
// the writer's, but for the constructor's std::bad_alloc.
class ContentWriter {
 public:
  // `size_bytes`: of the whole content. `store` false: only its hash is wanted, and its byte if it
  // is of one.
  ContentWriter(Writer& writer, uint64_t size_bytes, bool store = true);
  ~ContentWriter();
  ContentWriter(const ContentWriter&) = delete;
  ContentWriter& operator=(const ContentWriter&) = delete;

  // Room for the next chunk, to be filled; of no bytes once all have been put. Waits for the writer
  // when many chunks are on their way.
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
