// Loads all of a trace from its bytes. Shared by reader, verify and recover. Internal to format/.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "format/check/check.h"
#include "format/container/container.h"
#include "format/container/event_codec.h"
#include "format/container/record_index.h"
#include "format/provenance.h"
#include "format/read/reader.h"
#include "format/trace.h"
#include "format/write/writer.h"

namespace gfxgraph::format {

struct LoadedBlob {
  BlobView view;
  uint64_t offset = 0;  // of its record
  uint64_t record = 0;  // its number
  uint64_t payload_hash = 0;

  [[nodiscard]] RecordView record_view() const {
    return {offset,
            record,
            RecordKind::kBlob,
            0,
            {view.stored.data() - kBlobHeaderBytes, view.stored.size() + kBlobHeaderBytes},
            payload_hash};
  }
};

// A record of events that has been checked.
struct EventChunk {
  std::span<const std::byte> payload;
  bool compressed = false;
  ActionKinds kinds = 0;  // kinds of actions in it
};

// The blobs of a trace, found by a scan of all records or through the file's index. With an index,
// every find() reads the blob's record.
class BlobTable {
 public:
  void add(const LoadedBlob& blob) { blobs_.emplace(blob.view.header.id, blob); }
  void use(RecordIndex index, std::span<const std::byte> file);
  // kNotFound; kCorrupt if the index and the record differ.
  [[nodiscard]] Result<LoadedBlob> find(BlobId id) const;
  [[nodiscard]] size_t size() const { return index_ ? index_->blobs() : blobs_.size(); }
  // Null: the records were scanned.
  [[nodiscard]] const RecordIndex* index() const { return index_ ? &*index_ : nullptr; }

 private:
  std::unordered_map<BlobId, LoadedBlob, BlobIdHash> blobs_;
  std::optional<RecordIndex> index_;
  std::span<const std::byte> file_;
};

struct LoadedTrace {
  Environment environment;
  std::vector<CodeObject> code_objects;
  std::vector<Kernel> kernels;
  std::vector<Graph> graphs;
  std::vector<Site> sites;
  std::vector<Device> devices;
  std::vector<Event> events;  // if `events_kept`; else decode `chunks`
  bool events_kept = true;
  std::vector<EventChunk> chunks;
  std::vector<Finding> findings;
  Provenance provenance;
  Statistics statistics;
  BlobTable blobs;
  bool sealed = false;
  uint64_t whole_bytes = 0;    // end of the last intact record
  uint64_t whole_records = 0;  // without the footer
  Status torn_status = Status::kOk;
  std::string torn_reason;  // empty when sealed
};

// Unpacks, checks and counts records, which must be added in file order. Not thread-safe. May throw
// std::bad_alloc.
class Loader {
 public:
  // `file_bytes`: size of all records to come, to reserve memory early. `max_decompressed_bytes`:
  // as in ReadOptions. `keep_events`: if there are more events than this, none is kept.
  explicit Loader(uint64_t file_bytes, uint64_t max_decompressed_bytes = 0,
                  uint64_t keep_events = UINT64_MAX);
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;
  // Call before add(). Blobs and the index itself then need not be added.
  void use(RecordIndex index, std::span<const std::byte> file);
  // Errors name the record's number, kind and offset.
  Result<void> add(const RecordView& record);
  [[nodiscard]] LoadedTrace& trace() { return trace_; }

 private:
  Result<void> add_payload(const RecordView& record);
  Result<void> add_blob(const RecordView& record);
  Result<void> add_events(const RecordView& record, std::span<const std::byte> payload);
  // Reserves room for `more` events and for those likely to follow in the file. `offset`: of this
  // record.
  void make_room(size_t more, uint64_t offset);
  Result<void> check_summary(const RecordView& record) const;
  // Compares the last index, which the summary names, with the records.
  Result<void> compare_index() const;

  // Blobs that the index lists before record `before`.
  struct Directory : BlobDirectory {
    [[nodiscard]] std::optional<KnownBlob> known(BlobId id) const override;
    const BlobTable* blobs = nullptr;
    uint64_t before = 0;
  };

  LoadedTrace trace_;
  Directory directory_;
  Checker checker_;
  const uint64_t file_bytes_;
  const uint64_t keep_events_;
  std::optional<RecordView> index_;  // the last one
  EventDecompressor decompressor_;
};

// Returns any error, unless allow_torn is set: then the trace ends before the first truncated or
// damaged record. A record with a correct hash that is inconsistent or of a newer version is always
// an error. The result borrows `file`.
Result<LoadedTrace> load_trace(std::span<const std::byte> file, const ReadOptions& options);

// Extends an error about the record after `before` intact ones by the next step.
Error damaged(Error error, uint64_t before);

// Writes the uncompressed bytes to `out`, which has the blob's size, and checks them against the
// blob's id unless `trusted`. `table`: holds the chunks of a list.
Result<void> decode_blob_into(const BlobView& blob, std::span<std::byte> out,
                              const BlobTable& table = {}, bool trusted = false);
// The same check without a buffer for the uncompressed bytes.
Result<void> check_blob(const BlobView& blob, const BlobTable& table = {});
// Visits the bytes of a list's chunks in order. Does not check ids.
using ChunkVisitor = std::function<Result<void>(uint64_t offset, std::span<const std::byte>)>;
Result<void> visit_chunks(const ChunkListView& list, const BlobTable& table,
                          const ChunkVisitor& visit);
Result<void> check_blob_id(const BlobHeader& header, std::span<const std::byte> bytes);

}  // namespace gfxgraph::format
