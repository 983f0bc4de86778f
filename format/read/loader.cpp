#include "format/read/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/amount.h"
#include "base/file/file.h"
#include "format/codec/unpack.h"
#include "format/container/zstd_codec.h"
#include "format/write/tally.h"

namespace gfxgraph::format {

namespace {

// Of the decompressed bytes of events: as structs they take up to so many times as much.
constexpr uint64_t kEventGrowth = 16;

}  // namespace

Loader::Loader(uint64_t file_bytes, uint64_t max_decompressed_bytes, uint64_t keep_events)
    : checker_(&directory_),
      file_bytes_(file_bytes),
      keep_events_(keep_events),
      decompressor_(
          (max_decompressed_bytes != 0 ? max_decompressed_bytes : physical_memory_bytes()) /
          kEventGrowth) {}

void Loader::use(RecordIndex index, std::span<const std::byte> file) {
  Statistics& counts = trace_.statistics;
  for (uint64_t i = 0; i < index.blobs(); ++i) {
    const IndexEntry blob = index.blob(i);
    const uint64_t stored = index.decoded(blob.record).payload_bytes - kBlobHeaderBytes;
    ++counts.blobs;
    counts.blob_bytes += blob.codec == BlobCodec::kChunks ? stored : blob.size_bytes;
    counts.stored_blob_bytes += stored;
  }
  trace_.blobs.use(std::move(index), file);
  directory_.blobs = &trace_.blobs;
}

std::optional<KnownBlob> Loader::Directory::known(BlobId id) const {
  if (blobs == nullptr) return std::nullopt;
  const std::optional<IndexEntry> found = blobs->index()->find(id);
  if (!found || found->record >= before) return std::nullopt;
  return KnownBlob{found->size_bytes, found->codec == BlobCodec::kChunks};
}

void BlobTable::use(RecordIndex index, std::span<const std::byte> file) {
  index_ = std::move(index);
  file_ = file;
}

Result<LoadedBlob> BlobTable::find(BlobId id) const {
  const auto absent = [&] {
    return fail(Status::kNotFound,
                fmt::format("blob {:016x}{:016x} is not in this trace", id.high, id.low));
  };
  if (!index_) {
    const auto found = blobs_.find(id);
    return found != blobs_.end() ? Result<LoadedBlob>(found->second) : absent();
  }
  const std::optional<IndexEntry> entry = index_->find(id);
  if (!entry) return absent();
  const uint64_t offset = index_->offset(entry->record);
  uint64_t end = 0;
  // The bytes of a list are few, and refer to other blobs.
  const bool list = entry->codec == BlobCodec::kChunks;
  const Result<RecordView> read = read_record_at(file_, offset, entry->record, list, end);
  if (!read) return tl::unexpected<Error>(damaged(read.error(), entry->record));
  const RecordView& record = *read;
  if (std::ranges::equal(index_->header(entry->record),
                         file_.subspan(offset, kRecordHeaderBytes))) {
    Result<BlobView> view = decode_blob(record.payload);
    if (!view) return with_context(std::move(view).error(), record.where());
    const BlobHeader& header = view->header;
    if (header.id == id && header.size_bytes == entry->size_bytes && header.codec == entry->codec)
      return LoadedBlob{*view, offset, record.index, record.payload_hash};
  }
  return fail(Status::kCorrupt,
              fmt::format("byte {}: {} does not match the index", offset, record.where()));
}

Result<void> Loader::add_blob(const RecordView& record) {
  GFXGRAPH_ASSIGN_OR_RETURN(const BlobView blob, decode_blob(record.payload));
  uint64_t bytes = blob.header.size_bytes;
  if (blob.header.codec == BlobCodec::kChunks) {
    GFXGRAPH_ASSIGN_OR_RETURN(const ChunkListView list, decode_chunk_list(bytes, blob.stored));
    GFXGRAPH_TRY(checker_.add_chunk_list(blob.header.id, list));
    bytes = blob.stored.size();  // its chunks count theirs
  } else {
    GFXGRAPH_TRY(checker_.add_blob(blob.header.id, bytes));
  }
  trace_.blobs.add(LoadedBlob{blob, record.offset, record.index, record.payload_hash});
  ++trace_.statistics.blobs;
  trace_.statistics.blob_bytes += bytes;
  trace_.statistics.stored_blob_bytes += blob.stored.size();
  return {};
}

// Growing step by step would touch each page of the events twice. A file with many events only at
// its beginning must not request much more than it fills.
void Loader::make_room(size_t more, uint64_t offset) {
  const size_t now = trace_.events.size() + more;
  if (now <= trace_.events.capacity()) return;
  const double rest = static_cast<double>(file_bytes_) / static_cast<double>(offset + 1);
  trace_.events.reserve(
      static_cast<size_t>(static_cast<double>(now) * std::clamp(1.05 * rest, 2.0, 8.0)));
}

Result<void> Loader::add_events(const RecordView& record, std::span<const std::byte> payload) {
  GFXGRAPH_ASSIGN_OR_RETURN(std::vector<Event> events, unpack_events(payload));
  if (trace_.events_kept && trace_.statistics.events + events.size() > keep_events_) {
    trace_.events = {};
    trace_.events_kept = false;
  }
  const bool keep = trace_.events_kept;
  if (keep) make_room(events.size(), record.offset);
  EventChunk chunk{record.payload, record.kind == RecordKind::kCompressedEvents, 0};
  for (Event& event : events) {
    if (Result<void> checked = checker_.add(event); !checked) {
      return with_context(checked.error(), fmt::format("event {}", trace_.statistics.events));
    }
    count(trace_.statistics, event);
    chunk.kinds |= kind_of(event.action);
    if (keep) trace_.events.push_back(std::move(event));
  }
  trace_.chunks.push_back(chunk);
  return {};
}

// Checks that the index gives readers the same records as a walk.
Result<void> Loader::compare_index() const {
  GFXGRAPH_ASSIGN_OR_RETURN(const RecordIndex index,
                            RecordIndex::decode(index_->payload, index_->offset));
  bool equal = index.records() == index_->index && index.blobs() == trace_.blobs.size() &&
               hash64(index.headers()) == index_->chain_before;
  for (uint64_t i = 0; equal && i < index.blobs(); ++i) {
    const IndexEntry entry = index.blob(i);
    const Result<LoadedBlob> blob = trace_.blobs.find(entry.id);
    equal = blob && blob->record == entry.record && blob->view.header.codec == entry.codec &&
            blob->view.header.size_bytes == entry.size_bytes;
  }
  if (equal) return {};
  return fail(Status::kCorrupt, "index: it does not match the records");
}

Result<void> Loader::check_summary(const RecordView& record) const {
  GFXGRAPH_ASSIGN_OR_RETURN(const Summary summary, unpack_summary(record.payload));
  if (summary.index_offset != 0 && trace_.blobs.index() == nullptr) {
    if (!index_ || index_->offset != summary.index_offset || index_->index + 1 != record.index)
      return fail(Status::kCorrupt, "index: it is not at the offset in the summary");
    GFXGRAPH_TRY(compare_index());
  }
  const Statistics& said = summary.statistics;
  const Statistics& is = trace_.statistics;
  struct Row {
    const char* name;
    uint64_t said, is;
  };
  const std::array rows = {
      Row{"events", said.events, is.events},
      Row{"launches", said.launches, is.launches},
      Row{"copies", said.copies, is.copies},
      Row{"allocations", said.allocations, is.allocations},
      Row{"kernels", said.kernels, is.kernels},
      Row{"code objects", said.code_objects, is.code_objects},
      Row{"blobs", said.blobs, is.blobs},
      Row{"blob bytes", said.blob_bytes, is.blob_bytes},
      Row{"stored blob bytes", said.stored_blob_bytes, is.stored_blob_bytes},
      Row{"typed relocations", said.relocations_typed, is.relocations_typed},
      Row{"proven relocations", said.relocations_proven, is.relocations_proven},
      Row{"matched relocations", said.relocations_matched, is.relocations_matched},
      Row{"ambiguous relocations", said.relocations_ambiguous, is.relocations_ambiguous},
      Row{"graphs", summary.graphs, trace_.graphs.size()},
      Row{"findings", summary.findings, trace_.findings.size()}};
  for (const Row& row : rows) {
    if (row.said != row.is) {
      return fail(Status::kCorrupt, fmt::format("the summary declares {} {}, the records have {}",
                                                row.said, row.name, row.is));
    }
  }
  return {};
}

Result<void> Loader::add_payload(const RecordView& record) {
  switch (record.kind) {
    case RecordKind::kEnvironment: {
      GFXGRAPH_ASSIGN_OR_RETURN(trace_.environment, unpack_environment(record.payload));
      return checker_.add(trace_.environment);
    }
    case RecordKind::kCodeObject: {
      GFXGRAPH_ASSIGN_OR_RETURN(CodeObject code_object, unpack_code_object(record.payload));
      GFXGRAPH_TRY(checker_.add(code_object));
      trace_.code_objects.push_back(std::move(code_object));
      ++trace_.statistics.code_objects;
      return {};
    }
    case RecordKind::kKernel: {
      GFXGRAPH_ASSIGN_OR_RETURN(Kernel kernel, unpack_kernel(record.payload));
      GFXGRAPH_TRY(checker_.add(kernel));
      trace_.kernels.push_back(std::move(kernel));
      ++trace_.statistics.kernels;
      return {};
    }
    case RecordKind::kGraph: {
      GFXGRAPH_ASSIGN_OR_RETURN(Graph graph, unpack_graph(record.payload));
      GFXGRAPH_TRY(checker_.add(graph));
      count(trace_.statistics, graph);
      trace_.graphs.push_back(std::move(graph));
      return {};
    }
    case RecordKind::kFinding: {
      GFXGRAPH_ASSIGN_OR_RETURN(Finding finding, unpack_finding(record.payload));
      GFXGRAPH_TRY(checker_.add(finding));
      trace_.findings.push_back(std::move(finding));
      return {};
    }
    case RecordKind::kSite: {
      GFXGRAPH_ASSIGN_OR_RETURN(Site site, unpack_site(record.payload));
      GFXGRAPH_TRY(checker_.add(site));
      trace_.sites.push_back(std::move(site));
      return {};
    }
    case RecordKind::kDevice: {
      GFXGRAPH_ASSIGN_OR_RETURN(const Device device, unpack_device(record.payload));
      GFXGRAPH_TRY(checker_.add(device));
      trace_.devices.push_back(device);
      return {};
    }
    case RecordKind::kProvenance: {
      GFXGRAPH_ASSIGN_OR_RETURN(std::vector<KnownWords> places, unpack_provenance(record.payload));
      trace_.provenance.made = true;
      for (KnownWords& known : places) {
        GFXGRAPH_TRY(checker_.add(known));
        trace_.provenance.places.push_back(std::move(known));
      }
      return {};
    }
    case RecordKind::kEvents: return add_events(record, record.payload);
    case RecordKind::kCompressedEvents: {
      GFXGRAPH_ASSIGN_OR_RETURN(const std::span<const std::byte> events,
                                decompressor_.decompress(record.payload));
      return add_events(record, events);
    }
    case RecordKind::kBlob: return add_blob(record);
    case RecordKind::kSummary: return check_summary(record);
    case RecordKind::kIndex: index_ = record; return {};
    case RecordKind::kFooter: trace_.sealed = true; return {};
  }
  return {};  // unknown and optional: the scanner rejected all others
}

Result<void> Loader::add(const RecordView& record) {
  directory_.before = record.index;
  Result<void> added = add_payload(record);
  if (!added) return with_context(added.error(), record.where());
  return {};
}

Error damaged(Error error, uint64_t before) {
  error.message += fmt::format(
      "; {} before it: `gfxgraph recover` copies them to a new trace, --allow-torn reads them",
      counted(before, "whole record"));
  return error;
}

namespace {

// Uses only the index and reads no blobs.
Result<LoadedTrace> load_indexed(std::span<const std::byte> file, FoundIndex found,
                                 const ReadOptions& options) {
  Loader loader(file.size(), options.max_decompressed_bytes, options.keep_events);
  LoadedTrace& trace = loader.trace();
  loader.use(std::move(found.index), file);
  const RecordIndex& index = *trace.blobs.index();
  for (uint64_t i = 0; i < index.records(); ++i) {
    const RecordKind kind = index.decoded(i).kind;
    if (kind == RecordKind::kBlob || !is_known(kind)) continue;
    uint64_t end = 0;
    const uint64_t offset = index.offset(i);
    GFXGRAPH_ASSIGN_OR_RETURN(const RecordView record, read_record_at(file, offset, i, true, end));
    if (!std::ranges::equal(index.header(i), file.subspan(offset, kRecordHeaderBytes))) {
      return fail(Status::kCorrupt,
                  fmt::format("byte {}: {} does not match the index", offset, record.where()));
    }
    GFXGRAPH_TRY(loader.add(record));
  }
  GFXGRAPH_TRY(loader.add(found.summary));
  trace.sealed = true;
  trace.whole_bytes = file.size();
  trace.whole_records = index.records() + 2;
  return std::move(trace);
}

}  // namespace

Result<LoadedTrace> load_trace(std::span<const std::byte> file, const ReadOptions& options) {
  RecordScanner scanner(file, options.lazy && !options.allow_torn);
  GFXGRAPH_TRY(scanner.read_head());
  if (options.lazy && !options.allow_torn) {
    GFXGRAPH_ASSIGN_OR_RETURN(std::optional<FoundIndex> index, find_index(file));
    if (index) return load_indexed(file, std::move(*index), options);
  }
  Loader loader(file.size(), options.max_decompressed_bytes,
                options.lazy ? options.keep_events : UINT64_MAX);
  LoadedTrace& trace = loader.trace();
  while (!trace.sealed) {
    const Result<std::optional<RecordView>> record = scanner.next();
    if (!record) {
      const Error& error = record.error();
      const bool torn = error.status == Status::kTruncated || error.status == Status::kCorrupt;
      if (!torn) return tl::unexpected<Error>(error);
      if (!options.allow_torn) {
        return tl::unexpected<Error>(damaged(error, scanner.records()));
      }
      trace.torn_status = error.status;
      trace.torn_reason = error.message;
      break;
    }
    GFXGRAPH_TRY(loader.add(**record));
  }
  trace.whole_bytes = scanner.offset();
  trace.whole_records = scanner.records();
  for (Event& event : trace.events) use_pointers(event, trace.provenance, options.pointers);
  for (Graph& graph : trace.graphs) use_pointers(graph, trace.provenance, options.pointers);
  return std::move(trace);
}

namespace {

Result<void> compare_id(BlobId expected, BlobId found) {
  if (expected == found) return {};
  return fail(Status::kCorrupt, fmt::format("blob {:016x}{:016x}: its bytes do not match its hash",
                                            expected.high, expected.low));
}

tl::unexpected<Error> at_blob(Error error, BlobId id) {
  return with_context(std::move(error), fmt::format("blob {:016x}{:016x}", id.high, id.low));
}

}  // namespace

Result<void> check_blob_id(const BlobHeader& header, std::span<const std::byte> bytes) {
  return compare_id(header.id, hash_bytes(bytes));
}

namespace {

Result<LoadedBlob> chunk_of(const ChunkListView& list, size_t index, const BlobTable& table) {
  const BlobId id = list[index];
  Result<LoadedBlob> found = table.find(id);
  if (!found && found.error().status == Status::kNotFound) {
    return fail(Status::kNotFound, fmt::format("chunk {} of a list, blob {:016x}{:016x}, is not in "
                                               "this trace",
                                               index, id.high, id.low));
  }
  if (!found) return found;
  const BlobHeader& header = found->view.header;
  if (header.codec == BlobCodec::kChunks || header.size_bytes != list.bytes_of(index)) {
    return fail(Status::kCorrupt, fmt::format("blob {:016x}{:016x} cannot be chunk {} of a list",
                                              id.high, id.low, index));
  }
  return found;
}

// A blob that is not a list; its id is not checked.
Result<void> unpack_blob(const BlobView& blob, std::span<std::byte> out) {
  GFXGRAPH_CHECK(out.size() == blob.header.size_bytes);
  if (blob.header.codec == BlobCodec::kPlain) {
    std::ranges::copy(blob.stored, out.begin());
    return {};
  }
  Result<void> done = decompress(blob.stored, out);
  if (!done) return at_blob(std::move(done).error(), blob.header.id);
  return {};
}

}  // namespace

Result<void> visit_chunks(const ChunkListView& list, const BlobTable& table,
                          const ChunkVisitor& visit) {
  std::vector<std::byte> scratch;
  for (size_t i = 0; i < list.count(); ++i) {
    std::span<const std::byte> bytes;
    if (const BlobId id = list[i]; is_fill_chunk(id)) {
      scratch.assign(list.bytes_of(i), static_cast<std::byte>(id.low));
      bytes = scratch;
    } else {
      GFXGRAPH_ASSIGN_OR_RETURN(const LoadedBlob chunk, chunk_of(list, i, table));
      bytes = chunk.view.stored;
      if (chunk.view.header.codec != BlobCodec::kPlain) {
        scratch.resize(list.bytes_of(i));
        GFXGRAPH_TRY(unpack_blob(chunk.view, scratch));
        bytes = scratch;
      }
    }
    GFXGRAPH_TRY(visit(i * list.chunk_bytes, bytes));
  }
  return {};
}

Result<void> check_blob(const BlobView& blob, const BlobTable& table) {
  RunningBlobId id;
  Result<void> done;
  switch (blob.header.codec) {
    case BlobCodec::kPlain: return check_blob_id(blob.header, blob.stored);
    case BlobCodec::kZstd:
      done = decompress(blob.stored, blob.header.size_bytes,
                        [&](std::span<const std::byte> piece) { id.add(piece); });
      break;
    case BlobCodec::kChunks: {
      GFXGRAPH_ASSIGN_OR_RETURN(const ChunkListView list,
                                decode_chunk_list(blob.header.size_bytes, blob.stored));
      done = visit_chunks(list, table, [&](uint64_t, std::span<const std::byte> piece) {
        id.add(piece);
        return Result<void>();
      });
      break;
    }
  }
  if (!done) return at_blob(std::move(done).error(), blob.header.id);
  return compare_id(blob.header.id, id.value());
}

// Unpacks chunks to their final place and compares them as a whole.
Result<void> decode_blob_into(const BlobView& blob, std::span<std::byte> out,
                              const BlobTable& table, bool trusted) {
  GFXGRAPH_CHECK(out.size() == blob.header.size_bytes);
  if (blob.header.codec == BlobCodec::kChunks) {
    GFXGRAPH_ASSIGN_OR_RETURN(const ChunkListView list,
                              decode_chunk_list(blob.header.size_bytes, blob.stored));
    for (size_t i = 0; i < list.count(); ++i) {
      const std::span<std::byte> place = out.subspan(i * list.chunk_bytes, list.bytes_of(i));
      if (const BlobId id = list[i]; is_fill_chunk(id)) {
        std::ranges::fill(place, static_cast<std::byte>(id.low));
        continue;
      }
      GFXGRAPH_ASSIGN_OR_RETURN(const LoadedBlob chunk, chunk_of(list, i, table));
      GFXGRAPH_TRY(unpack_blob(chunk.view, place));
    }
  } else {
    GFXGRAPH_TRY(unpack_blob(blob, out));
  }
  return trusted ? Result<void>() : check_blob_id(blob.header, out);
}

}  // namespace gfxgraph::format
