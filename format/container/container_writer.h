// Writes the container (head, records, footer) to an OutputFile. Internal to format/ and its tests.
#pragma once

#include <filesystem>
#include <memory>
#include <span>

#include "base/file/file.h"
#include "base/result.h"
#include "format/container/container.h"
#include "format/container/record_index.h"

namespace gfxgraph::format {

// The destination of a trace. Tests replace it to make the N-th operation fail.
class OutputFile {
 public:
  virtual ~OutputFile() = default;
  // Appends all parts, in order.
  virtual Result<void> write(std::span<const std::span<const std::byte>> parts) = 0;
  // Syncs the file to disk, then renames it to its final name.
  virtual Result<void> commit() = 0;
  // Closes the descriptor and leaves the file as it is. Async-signal-safe.
  virtual void abandon() noexcept = 0;
};

// Creates and locks `path` + `suffix`; commit() renames it to `path`. Fails if another process
// holds the lock. A file left by a process that died is kept, with ".old" appended to its name.
Result<std::unique_ptr<OutputFile>> create_partial_file(const std::filesystem::path& path,
                                                        const char* suffix = ".partial");

// A file that has no name, or an unpredictable one, until commit() (base/file/new_file.h): for
// commands that write a trace in one go.
Result<std::unique_ptr<OutputFile>> create_new_file(const std::filesystem::path& path);

// A file in memory: commit() only ends it. `descriptor` receives another descriptor of it.
Result<std::unique_ptr<OutputFile>> create_memory_file(File& descriptor);

// Locks `partial`, the file of a recording that died, truncates it to `keep_bytes`, and appends to
// it; commit() renames it to `path`. Errors: `partial` is not a regular file; a recording still
// holds the lock.
Result<std::unique_ptr<OutputFile>> continue_partial_file(const std::filesystem::path& partial,
                                                          const std::filesystem::path& path,
                                                          uint64_t keep_bytes);

// A record with its hashes, ready to be written. Needs no lock to construct. Borrows the parts.
struct PreparedRecord {
  static constexpr size_t kMaxParts = 2;

  PreparedRecord(RecordKind kind, std::span<const std::byte> first,
                 std::span<const std::byte> second = {}, uint32_t flags = 0);

  std::array<std::byte, kRecordHeaderBytes> header;
  std::array<std::span<const std::byte>, kMaxParts> parts;
  uint64_t payload_bytes = 0;
};

// Not thread-safe. After an error the file may end within a record: append nothing more.
class ContainerWriter {
 public:
  explicit ContainerWriter(std::unique_ptr<OutputFile> file) : file_(std::move(file)) {}
  // Continues `file`, which holds a head and `records` records up to `offset`; `chain` and `index`
  // cover these records.
  ContainerWriter(std::unique_ptr<OutputFile> file, uint64_t offset, uint64_t records,
                  RunningHash chain, IndexBuilder index)
      : file_(std::move(file)),
        offset_(offset),
        records_(records),
        chain_(std::move(chain)),
        index_(std::move(index)) {}

  bool has_file() const noexcept { return file_ != nullptr; }
  Result<void> write_head();
  Result<void> append(const PreparedRecord& record);
  // Appends an index of all records so far, if there are at least `min_records`. The next record
  // must be the summary. Returns the index's offset, or 0 if none was written.
  Result<uint64_t> append_index(uint64_t min_records = kMinIndexedRecords);
  // Appends the summary and the footer, then commits the file.
  Result<void> seal(const PreparedRecord& summary);
  void abandon() noexcept { file_->abandon(); }

 private:
  std::unique_ptr<OutputFile> file_;
  uint64_t offset_ = 0;
  uint64_t records_ = 0;
  RunningHash chain_;
  IndexBuilder index_;
};

}  // namespace gfxgraph::format
