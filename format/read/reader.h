// Reads a trace from a memory-mapped file, or one that stays in memory. open() checks the hash of
// every record before it parses the payload, verifies every payload, and checks every id and range,
// so nothing that a Trace returns refers outside the file. A blob's bytes are checked against its
// id once, at first use.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "format/provenance.h"
#include "format/trace.h"

namespace gfxgraph::format {

struct HeldTrace;

struct ReadOptions {
  // Accept a file without a footer or with a damaged end, and read the records before the damage.
  bool allow_torn = false;
  // Limit for all decompressed blobs that are kept. Compressed events may take another sixteenth of
  // it, as decompressed FlatBuffers. 0: the size of physical memory.
  uint64_t max_decompressed_bytes = 0;
  // For callers that need only a part of a large trace. Events are checked but, if there are many,
  // not kept: visit_events() decodes them again, and events() returns them only after
  // load_events(). Blob bytes are not read until they are requested and, if the file has an index,
  // neither are blob records, so damage to an unused blob is not detected (unless `allow_torn` is
  // set, which must find where damage begins). open() reports all other damage.
  bool lazy = false;
  uint64_t keep_events = 4096;  // a lazy trace keeps its events if there are no more than this
  // Which relocations events() and graphs() have. statistics() always counts those of the file.
  PointerUse pointers = PointerUse::kRecorded;
};

// How much of a trace has been read so far; for tests and measurements.
struct ReadCounts {
  uint64_t events_decoded = 0;  // an event counts each time it is decoded
  uint64_t blobs_hashed = 0;    // checked against their ids; a list counts once, without its chunks
  uint64_t blob_bytes_hashed = 0;
};

// A set of action kinds, one bit each.
using ActionKinds = uint32_t;
constexpr ActionKinds kEveryAction = UINT32_MAX;
inline ActionKinds kind_of(const Action& action) { return ActionKinds{1} << action.index(); }
template <typename... Kinds>
constexpr ActionKinds kinds_of() {
  return (... | (ActionKinds{1} << action_index<Kinds>()));
}

// Immutable after open(), except that load_events() loads events; all methods are thread-safe. All
// that a Trace returns by reference or span is valid as long as the Trace.
class Trace {
 public:
  // Errors: kNotFound, kIo; kCorrupt, kTruncated, kVersion; kOutOfMemory.
  static Result<std::shared_ptr<const Trace>> open(const std::filesystem::path& path,
                                                   const ReadOptions& options = {});
  // Reads an open regular file. The caller keeps the descriptor and may close it after this
  // returns.
  static Result<std::shared_ptr<const Trace>> open_descriptor(int descriptor,
                                                              const ReadOptions& options = {});
  // Reads `bytes` in place. They must begin at a multiple of kBytesAlignment, and outlive the Trace
  // unchanged. For traces that are linked into a program.
  static Result<std::shared_ptr<const Trace>> view(std::span<const std::byte> bytes,
                                                   const ReadOptions& options = {});
  static constexpr size_t kBytesAlignment = 64;
  // Reads what a Writer of this process held instead of writing it (Writer::held); as a lazy trace
  // with many events: call load_events() before events().
  static Result<std::shared_ptr<const Trace>> of(std::shared_ptr<const HeldTrace> held);
  // Copies `bytes`. For tests and fuzzers.
  static Result<std::shared_ptr<const Trace>> from_bytes(std::span<const std::byte> bytes,
                                                         const ReadOptions& options = {});
  virtual ~Trace() = default;

  virtual const Environment& environment() const = 0;
  // Index = id - 1; so for kernels, graphs and sites.
  virtual const std::vector<CodeObject>& code_objects() const = 0;
  virtual const std::vector<Kernel>& kernels() const = 0;
  virtual const std::vector<Graph>& graphs() const = 0;
  virtual const std::vector<Site>& sites() const = 0;
  // For a trace opened `lazy` with more than `keep_events` events: call load_events() first.
  virtual const std::vector<Event>& events() const = 0;
  virtual Result<void> load_events() const { return {}; }
  // Visits events in order without keeping them; an event is valid only during its visit. Stops at
  // the first error of `visit` and returns it. May skip events whose kind is not in `kinds`.
  using EventVisitor = std::function<Result<void>(const Event&)>;
  virtual Result<void> visit_events(ActionKinds kinds, const EventVisitor& visit) const;
  virtual const std::vector<Finding>& findings() const = 0;
  virtual const Statistics& statistics() const = 0;
  virtual const Provenance& provenance() const;
  // The devices other than device 0, in file order.
  virtual const std::vector<Device>& devices() const;

  // Whether the recorder sealed the trace. False: it was read with allow_torn, and torn_reason()
  // says where it ends and why.
  virtual bool sealed() const = 0;
  virtual const std::string& torn_reason() const = 0;
  // The trace has no finding of kind kIncomplete.
  virtual bool complete() const = 0;

  // The uncompressed bytes of a blob. Errors: kNotFound; kCorrupt; kOutOfMemory beyond
  // ReadOptions::max_decompressed_bytes.
  virtual Result<std::span<const std::byte>> blob(BlobId id) const = 0;
  // Copies a blob to `out`, which must have exactly its size. Keeps no bytes.
  virtual Result<void> read_blob(BlobId id, std::span<std::byte> out) const = 0;
  // The bytes of a Content: its blob, or `fill` repeated. Fails if they are not stored.
  virtual Result<std::vector<std::byte>> content(const Content& content) const = 0;
  // The same in pieces, for callers that copy the bytes elsewhere: a content stored in chunks is
  // never in memory as a whole. Stops at the first error of `visit`. May fail after all pieces were
  // visited, when the hash is checked.
  using Visitor = std::function<Result<void>(uint64_t offset, std::span<const std::byte> piece)>;
  virtual Result<void> visit_content(const Content& content, const Visitor& visit) const = 0;
  // The bytes of a content's parts that are not zero throughout, as far as the trace says it
  // without reading them: at least as many as are not zero, and 0 for what is not stored.
  virtual uint64_t nonzero_bytes(const Content& content) const {
    return content.stored && (content.blob || content.fill != 0) ? content.size_bytes : 0;
  }
  // Checks the uncompressed blobs among `ids` against their ids, on several threads, so that later
  // reads need not.
  virtual Result<void> check_blobs(std::span<const BlobId> ids) const {
    (void)ids;
    return {};
  }
  virtual ReadCounts read_counts() const { return {}; }
};

// Fails unless `path` is a regular file that begins and ends like a sealed trace. Reads only the
// two ends.
Result<void> ends_as_sealed(const std::filesystem::path& path);

}  // namespace gfxgraph::format
