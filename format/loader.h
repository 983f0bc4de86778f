// Everything in a trace, loaded from its bytes. Shared by reader, verify and recover. Internal to
// format/.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "format/check.h"
#include "format/container.h"
#include "format/event_codec.h"
#include "format/reader.h"
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

using BlobTable = std::unordered_map<BlobId, LoadedBlob, BlobIdHash>;

struct LoadedTrace {
  Environment environment;
  std::vector<CodeObject> code_objects;
  std::vector<Kernel> kernels;
  std::vector<Graph> graphs;
  std::vector<Site> sites;
  std::vector<Event> events;  // unless they are to be found by `chunks` alone
  std::vector<EventChunk> chunks;
  std::vector<Finding> findings;
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
  // `file_bytes`: of all records to come, to make room for them early.
  explicit Loader(uint64_t file_bytes, uint64_t max_decompressed_bytes = 0,
                  bool keep_events = true);
  // Errors carry the record's place.
  Result<void> add(const RecordView& record);
  [[nodiscard]] LoadedTrace& trace() { return trace_; }

 private:
  Result<void> add_payload(const RecordView& record);
  Result<void> add_blob(const RecordView& record);
  Result<void> add_events(const RecordView& record, std::span<const std::byte> payload);
  // As many events as `more`, and those that the rest of the file is likely to have.
  void make_room(size_t more, uint64_t offset);
  Result<void> check_summary(std::span<const std::byte> payload) const;

  LoadedTrace trace_;
  Checker checker_;
  const uint64_t file_bytes_;
  const bool keep_events_;
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
