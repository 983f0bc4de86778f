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

// Contents larger than this are stored in chunks of it, each of them once.
inline constexpr size_t kChunkBytes = size_t{1} << 20;

struct WriterOptions {
  // zstd level for blobs of at least `compress_min_bytes`; 0: never compress. A blob is stored
  // plain when compression does not make it smaller.
  int compression_level = 1;
  size_t compress_min_bytes = 4096;
  // Events of at least so many bytes are compressed, too, unless the level is 0.
  size_t compress_events_min_bytes = 512;
  // Events are gathered into FlatBuffers chunks and written when one of these is reached, or by
  // flush().
  uint32_t events_per_chunk = 256;
  size_t chunk_bytes = 1u << 20;
  // Of ContentWriter: a multiple of 4096, kChunkBytes at most; how much of all contents may be in
  // memory; and how many threads write it, 0: as the machine allows.
  size_t content_chunk_bytes = kChunkBytes;
  size_t chunks_in_memory_bytes = 32u << 20;
  unsigned threads = 0;
  // A file of so many records gets an index of them (docs/format.md).
  uint64_t index_min_records = 64;
};

class OutputFile;

// Thread-safe: every method may be called from any thread. The first error of the file or of memory
// is latched: later calls return it, the file keeps its valid prefix, and seal() returns it instead
// of sealing.
//
// Every item is checked for meaning as a reader will check it (format/trace.fbs has the rules at
// each field). One that breaks a rule is not written; the call returns kInvalidArgument, recording
// goes on, and seal() adds a finding kIncomplete that names what was refused, how often, and why.
// Relocations may come in any order of offset.
class Writer {
 public:
  static Result<std::unique_ptr<Writer>> create(const std::filesystem::path& path,
                                                const WriterOptions& options = {});
  ~Writer();  // without seal(): flushes what it can and leaves the .partial
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Stores bytes once per distinct content. Does not copy `bytes`; they must not change meanwhile.
  Result<BlobId> add_blob(std::span<const std::byte> bytes);

  // Once at most.
  Result<void> add(const Environment& environment);
  // Ids must be 1, 2, 3, ... in the order of the calls, for code objects, kernels, graphs and sites
  // each; what an item refers to must have been added before it.
  Result<void> add(const CodeObject& code_object);
  Result<void> add(const Kernel& kernel);
  Result<void> add(const Graph& graph);
  Result<void> add(const Finding& finding);
  Result<void> add(const Site& site);
  // Before what names it.
  Result<void> add(const Device& device);
  // Assigns event.sequence and returns it.
  Result<uint64_t> add(Event event);

  // Hands everything gathered so far to the kernel, so that it survives the death of this process,
  // up to the first event that names a chunk which is on its way: threads of the writer add the
  // rest.
  Result<void> flush();
  // The same, and waits for the rest.
  Result<void> settle();
  // Writes summary and footer, syncs, renames. No call but the destructor may follow.
  Result<void> seal();
  // After fork() in the child: forgets the file without writing, unlocking or renaming anything.
  // Takes no lock; from then on every call is refused and the destructor does nothing.
  void abandon() noexcept;

  // So far, as of now.
  Statistics statistics() const;

 private:
  struct Impl;
  friend class ContentWriter;
  friend Result<std::unique_ptr<Writer>> create_writer(std::unique_ptr<OutputFile> file,
                                                       const WriterOptions& options);
  static Result<std::unique_ptr<Writer>> create_on(std::unique_ptr<OutputFile> file,
                                                   const WriterOptions& options);
  explicit Writer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

BlobId hash_bytes(std::span<const std::byte> bytes) noexcept;

}  // namespace gfxgraph::format
