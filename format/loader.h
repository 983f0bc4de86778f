// Everything in a trace, loaded from its bytes. Shared by reader, verify and recover. Internal to
// format/.
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
#include "format/check.h"
#include "format/container.h"
#include "format/event_codec.h"
#include "format/provenance.h"
#include "format/reader.h"
#include "format/record_index.h"
#include "format/trace.h"
#include "format/writer.h"

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

// Where events stand, checked already.
struct EventChunk {
  std::span<const std::byte> payload;
  bool compressed = false;
  ActionKinds kinds = 0;  // that there are
};

// The blobs of a trace: as a walk has found them, or as its index says, in which case the record of
// a blob is looked at when it is asked for, each time.
class BlobTable {
 public:
  void add(const LoadedBlob& blob) { blobs_.emplace(blob.view.header.id, blob); }
  void use(RecordIndex index, std::span<const std::byte> file);
  // kNotFound; kCorrupt: the index says something else than the record.
  [[nodiscard]] Result<LoadedBlob> find(BlobId id) const;
  [[nodiscard]] size_t size() const { return index_ ? index_->blobs() : blobs_.size(); }
  // Null: there was a walk.
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
  std::vector<Event> events;  // if `events_kept`, else they are found by `chunks` alone
  bool events_kept = true;
  std::vector<EventChunk> chunks;
  std::vector<Finding> findings;
  Provenance provenance;
  Statistics statistics;
  BlobTable blobs;
  bool sealed = false;
  uint64_t whole_bytes = 0;    // end of the last whole record
  uint64_t whole_records = 0;  // without the footer
  Status torn_status = Status::kOk;
  std::string torn_reason;  // empty when sealed
};

// Takes records in file order: unpacks, checks, counts. May throw std::bad_alloc.
class Loader {
 public:
  // `file_bytes`: of all records to come, to make room for them early. `keep_events`: unless there
  // are more.
  explicit Loader(uint64_t file_bytes, uint64_t max_decompressed_bytes = 0,
                  uint64_t keep_events = UINT64_MAX);
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;
  // First. Blobs and the index itself need not be added then.
  void use(RecordIndex index, std::span<const std::byte> file);
  // Errors carry the record's place.
  Result<void> add(const RecordView& record);
  [[nodiscard]] LoadedTrace& trace() { return trace_; }

 private:
  Result<void> add_payload(const RecordView& record);
  Result<void> add_blob(const RecordView& record);
  Result<void> add_events(const RecordView& record, std::span<const std::byte> payload);
  // As many events as `more`, and those that the rest of the file is likely to have.
  void make_room(size_t more, uint64_t offset);
  Result<void> check_summary(const RecordView& record) const;
  // Of the last index, which the summary has named.
  Result<void> compare_index() const;

  // What the index says of blobs before `before`.
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

// Strict: any error is returned. allow_torn: missing or damaged bytes end the trace at their place;
// a record with the right hash that is inconsistent, or newer, is still an error.
Result<LoadedTrace> load_trace(std::span<const std::byte> file, const ReadOptions& options);

// The problem with a record after `before` whole ones, and the next step.
Error damaged(Error error, uint64_t before);

// The uncompressed bytes, checked against the blob's id unless `trusted`. `out` has the blob's
// size. `table`: where the chunks of a list are.
Result<void> decode_blob_into(const BlobView& blob, std::span<std::byte> out,
                              const BlobTable& table = {}, bool trusted = false);
// The same without room for the uncompressed bytes.
Result<void> check_blob(const BlobView& blob, const BlobTable& table = {});
// The bytes of a list's chunks, one after another. No id is looked at.
using ChunkVisitor = std::function<Result<void>(uint64_t offset, std::span<const std::byte>)>;
Result<void> visit_chunks(const ChunkListView& list, const BlobTable& table,
                          const ChunkVisitor& visit);
Result<void> check_blob_id(const BlobHeader& header, std::span<const std::byte> bytes);

}  // namespace gfxgraph::format
