// Writes one trace. State machine, visible from outside: `x.gfxg.partial` held under a lock while
// recording; renamed to `x.gfxg` by seal(); an unlocked `.partial` is a recording that died and can
// be read up to its last whole record.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

#include "base/result.h"
#include "format/trace.h"

namespace gfxgraph::format {

struct WriterOptions {
  // zstd level for blobs of at least `compress_min_bytes`; 0: never compress. A blob is stored plain
  // when compression does not make it smaller.
  int compression_level = 1;
  size_t compress_min_bytes = 4096;
  // Events are gathered into FlatBuffers chunks and written when one of these is reached, or by flush().
  uint32_t events_per_chunk = 256;
  size_t chunk_bytes = 1u << 20;
};

// Thread-safe: every method may be called from any thread. The first error is latched: later calls
// return it, the file keeps its valid prefix, and seal() returns it instead of sealing.
class Writer {
 public:
  static Result<std::unique_ptr<Writer>> create(const std::filesystem::path& path,
                                                const WriterOptions& options = {});
  ~Writer();  // without seal(): flushes what it can and leaves the .partial
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Stores bytes once per distinct content.
  Result<BlobId> add_blob(std::span<const std::byte> bytes);

  Result<void> add(const Environment& environment);
  Result<void> add(const CodeObject& code_object);
  Result<void> add(const Kernel& kernel);
  Result<void> add(const Graph& graph);
  Result<void> add(const Finding& finding);
  // Assigns event.sequence and returns it.
  Result<uint64_t> add(Event event);

  // Hands everything gathered so far to the kernel, so that it survives the death of this process.
  Result<void> flush();
  // Writes summary and footer, syncs, renames. No call but the destructor may follow.
  Result<void> seal();
  // After fork() in the child: forgets the file without writing, unlocking or renaming anything.
  void abandon() noexcept;

  const Statistics& statistics() const;

 private:
  struct Impl;
  explicit Writer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

BlobId hash_bytes(std::span<const std::byte> bytes) noexcept;

}  // namespace gfxgraph::format
