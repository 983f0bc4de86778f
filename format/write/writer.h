// Writes one trace. While recording, the file is named `x.gfxg.partial` and locked; seal() renames
// it to `x.gfxg`. An unlocked `.partial` is a recording that died; it can be read up to its last
// intact record.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

#include "base/file/file.h"
#include "base/result.h"
#include "format/trace.h"

namespace gfxgraph::format {

// Contents larger than this are stored in chunks of this size; equal chunks are stored once.
inline constexpr size_t kChunkBytes = size_t{1} << 20;

struct WriterOptions {
  // zstd level for blobs of at least `compress_min_bytes`; 0: never compress. A blob that
  // compression does not make smaller is stored plain.
  int compression_level = 1;
  size_t compress_min_bytes = 4096;
  // Chunks of events of at least this size are compressed too, unless the level is 0.
  size_t compress_events_min_bytes = 512;
  // Events are gathered into chunks, one FlatBuffer each. A chunk is written when it reaches one of
  // these limits, or by flush().
  uint32_t events_per_chunk = 256;
  size_t chunk_bytes = 1u << 20;
  // For ContentWriter: the chunk size, a multiple of 4096 and at most kChunkBytes; the most bytes
  // of contents in memory; and the number of threads that write them, 0: chosen for the machine.
  size_t content_chunk_bytes = kChunkBytes;
  size_t chunks_in_memory_bytes = 32u << 20;
  unsigned threads = 0;
  // A file with at least this many records gets an index (docs/format.md).
  uint64_t index_min_records = 64;
};

class OutputFile;
struct HeldTrace;

// Thread-safe. The first I/O or out-of-memory error is sticky: later calls return it, the file
// keeps its valid prefix, and seal() returns it instead of sealing.
//
// Every item is checked as a reader will check it (format/trace.fbs has the rules for each field).
// An item that breaks a rule is not written: the call returns kInvalidArgument, recording
// continues, and seal() adds a kIncomplete finding with what was rejected, how often, and why.
// Relocations may be in any order.
class Writer {
 public:
  // Creates `path`.partial and locks it. Fails if another process holds the lock.
  static Result<std::unique_ptr<Writer>> create(const std::filesystem::path& path,
                                                const WriterOptions& options = {});
  // For commands: a file without a name until seal(); nothing is left without it.
  static Result<std::unique_ptr<Writer>> create_unnamed(const std::filesystem::path& path,
                                                        const WriterOptions& options = {});
  // In memory: `file` receives a descriptor, to be read from its beginning after seal().
  static Result<std::unique_ptr<Writer>> create_in_memory(File& file,
                                                          const WriterOptions& options = {});
  // No file at all: what is added is kept, for held() after seal(). Nothing is compressed.
  static Result<std::unique_ptr<Writer>> create_held(const WriterOptions& options = {});
  ~Writer();  // without seal(): flushes what it can and leaves the .partial file
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Stores equal bytes only once. Reads `bytes` in place: they must not change during the call.
  Result<BlobId> add_blob(std::span<const std::byte> bytes);

  // At most once.
  Result<void> add(const Environment& environment);
  // The ids of code objects, kernels, graphs and sites must each be 1, 2, 3, ... in the order of
  // the calls. Items that another refers to must be added first.
  Result<void> add(const CodeObject& code_object);
  Result<void> add(const Kernel& kernel);
  Result<void> add(const Graph& graph);
  Result<void> add(const Finding& finding);
  Result<void> add(const Site& site);
  // Call before adding items that name the device.
  Result<void> add(const Device& device);
  // Assigns event.sequence and returns it. Events are moved from, but for a launch of which only a
  // copy is held: its vectors keep their memory for the next one.
  Result<uint64_t> add(Event&& event);
  Result<uint64_t> add(const Event& event) { return add(Event(event)); }

  // Writes all gathered events to the file, so that they survive the death of this process, up to
  // the first event that names a chunk still being written; the writer's threads write the rest.
  Result<void> flush();
  // As flush(), and waits until everything has been written.
  Result<void> settle();
  // Writes summary and footer, syncs the file and renames it. Only the destructor may be called
  // afterwards.
  Result<void> seal();
  // For the child of a fork(): drops the file without writing, unlocking or renaming it. Takes no
  // lock. From then on every call fails and the destructor does nothing.
  void abandon() noexcept;

  // The counts so far.
  Statistics statistics() const;
  // Of a writer without a file, after seal().
  std::shared_ptr<const HeldTrace> held() noexcept;

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

// The id of a blob with these bytes.
BlobId hash_bytes(std::span<const std::byte> bytes) noexcept;

}  // namespace gfxgraph::format
