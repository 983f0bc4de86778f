// Writes the envelope: head, records, footer, through an exchangeable file. Internal to format/ and
// its tests.
#pragma once

#include <filesystem>
#include <memory>
#include <span>

#include "base/result.h"
#include "format/container.h"
#include "format/record_index.h"

namespace gfxgraph::format {

// Where a trace goes. The seam for tests that fail the N-th operation.
class OutputFile {
 public:
  virtual ~OutputFile() = default;
  virtual Result<void> write(std::span<const std::span<const std::byte>> parts) = 0;
  // Everything to the disk, then under its final name.
  virtual Result<void> commit() = 0;
  // Lets go without touching the file; async-signal-safe.
  virtual void abandon() noexcept = 0;
};

// `path` + `suffix`, locked; commit() renames it to `path`. One that another process holds is an
// error; one left by a process that died is kept, with ".old" behind its name.
Result<std::unique_ptr<OutputFile>> create_partial_file(const std::filesystem::path& path,
                                                        const char* suffix = ".partial");

// What a recording that died left in `partial`, locked, and cut to its first `keep_bytes`; writes
// go behind them, and commit() renames it to `path`. Errors: it is not a regular file; a recording
// still holds it.
Result<std::unique_ptr<OutputFile>> continue_partial_file(const std::filesystem::path& partial,
                                                          const std::filesystem::path& path,
                                                          uint64_t keep_bytes);

// A record with its hashes, ready to be written; made outside of any lock. Borrows the parts.
struct PreparedRecord {
  static constexpr size_t kMaxParts = 2;

  PreparedRecord(RecordKind kind, std::span<const std::byte> first,
                 std::span<const std::byte> second = {}, uint32_t flags = 0);

  std::array<std::byte, kRecordHeaderBytes> header;
  std::array<std::span<const std::byte>, kMaxParts> parts;
  uint64_t payload_bytes = 0;
};

// Not thread-safe. After an error nothing more may be appended: the file ends in half a record.
class ContainerWriter {
 public:
  explicit ContainerWriter(std::unique_ptr<OutputFile> file) : file_(std::move(file)) {}
  // `file` holds a head and `records` records up to `offset`; `chain` and `index` have them.
  ContainerWriter(std::unique_ptr<OutputFile> file, uint64_t offset, uint64_t records,
                  RunningHash chain, IndexBuilder index)
      : file_(std::move(file)),
        offset_(offset),
        records_(records),
        chain_(std::move(chain)),
        index_(std::move(index)) {}

  Result<void> write_head();
  Result<void> append(const PreparedRecord& record);
  // The index of all records so far, if they are so many; the next record is the summary. Its
  // offset, or 0.
  Result<uint64_t> append_index(uint64_t min_records = kMinIndexedRecords);
  // The last record, the footer, and the final name.
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
