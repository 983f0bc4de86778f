// Reads a trace: memory-mapped, every record's hash checked before its payload is parsed, every
// payload verified, every id and range checked for meaning. After open() returned, nothing that a
// Trace hands out can lead outside the file. The bytes of a blob are compared with its id when they
// are first asked for, and once.
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

struct ReadOptions {
  // Accept a file without footer, or with a damaged end: read the records before the damage.
  bool allow_torn = false;
  // Of all blobs that are decompressed and kept; events that the file has compressed may be a
  // sixteenth of it, in the form in which they were stored. 0: the memory of this machine.
  uint64_t max_decompressed_bytes = 0;
  // For who needs a part of a large trace. Events are checked, but not kept if there are many:
  // visit_events() decodes them again, events() has them after load_events() only. A blob's bytes
  // are not read before they are asked for, and where the file has an index neither is its record:
  // damage to one that nobody asks for stays unknown (unless `allow_torn`, which must find where
  // the damage begins). Any other damage is an error of open(), as without it.
  bool lazy = false;
  uint64_t keep_events = 4096;  // of a lazy trace: up to so many are kept
  // Which relocations the events have. statistics() counts those of the file.
  PointerUse pointers = PointerUse::kRecorded;
};

// What was read of a trace so far; for tests and measurements.
struct ReadCounts {
  uint64_t events_decoded = 0;  // each as often as it was
  uint64_t blobs_hashed = 0;    // compared with their ids: lists once, not their chunks
  uint64_t blob_bytes_hashed = 0;
};

// Sets of kinds of actions.
using ActionKinds = uint32_t;
constexpr ActionKinds kEveryAction = UINT32_MAX;
inline ActionKinds kind_of(const Action& action) { return ActionKinds{1} << action.index(); }
template <typename... Kinds>
constexpr ActionKinds kinds_of() {
  return (... | (ActionKinds{1} << action_index<Kinds>()));
}

// What it says is immutable after open(); all methods are thread-safe. Blob bytes stay valid as
// long as the Trace.
class Trace {
 public:
  static Result<std::shared_ptr<const Trace>> open(const std::filesystem::path& path,
                                                   const ReadOptions& options = {});
  // An open regular file, which is not closed and may be closed afterwards.
  static Result<std::shared_ptr<const Trace>> open_descriptor(int descriptor,
                                                              const ReadOptions& options = {});
  // `bytes` are not copied: they begin at a multiple of kBytesAlignment, and stay there, and as
  // they are, as long as the Trace. For traces that are linked into a program.
  static Result<std::shared_ptr<const Trace>> view(std::span<const std::byte> bytes,
                                                   const ReadOptions& options = {});
  static constexpr size_t kBytesAlignment = 64;
  // `bytes` are copied. For tests and fuzzers.
  static Result<std::shared_ptr<const Trace>> from_bytes(std::span<const std::byte> bytes,
                                                         const ReadOptions& options = {});
  virtual ~Trace() = default;

  virtual const Environment& environment() const = 0;
  // Index = id - 1, as with the next three.
  virtual const std::vector<CodeObject>& code_objects() const = 0;
  virtual const std::vector<Kernel>& kernels() const = 0;
  virtual const std::vector<Graph>& graphs() const = 0;
  virtual const std::vector<Site>& sites() const = 0;
  // Of a trace that was opened `lazy`: after load_events(), unless they are few.
  virtual const std::vector<Event>& events() const = 0;
  virtual Result<void> load_events() const { return {}; }
  // In order, without keeping them; an event is valid during its visit. An error of `visit` ends
  // it. Those of other kinds than `kinds` may be left out.
  using EventVisitor = std::function<Result<void>(const Event&)>;
  virtual Result<void> visit_events(ActionKinds kinds, const EventVisitor& visit) const;
  virtual const std::vector<Finding>& findings() const = 0;
  virtual const Statistics& statistics() const = 0;
  virtual const Provenance& provenance() const;
  // Those beside device 0, in file order.
  virtual const std::vector<Device>& devices() const;

  // Whether a recorder sealed it. False: read with allow_torn, and torn_reason() says where it
  // ends.
  virtual bool sealed() const = 0;
  virtual const std::string& torn_reason() const = 0;
  // No finding of kind kIncomplete.
  virtual bool complete() const = 0;

  virtual Result<std::span<const std::byte>> blob(BlobId id) const = 0;
  // Writes a blob of exactly the size of `out` there; keeps nothing.
  virtual Result<void> read_blob(BlobId id, std::span<std::byte> out) const = 0;
  // The bytes of a Content: its blob, or `fill` spread out. Error when not stored.
  virtual Result<std::vector<std::byte>> content(const Content& content) const = 0;
  // The same, piece by piece, for who copies them elsewhere: what is stored in chunks never stands
  // in memory as a whole. An error of `visit` ends it; so does one that is found only at the end.
  using Visitor = std::function<Result<void>(uint64_t offset, std::span<const std::byte> piece)>;
  virtual Result<void> visit_content(const Content& content, const Visitor& visit) const = 0;
  // Compares those of the blobs that the file holds uncompressed with their ids, on several
  // threads: who reads them later finds it done.
  virtual Result<void> check_blobs(std::span<const BlobId> ids) const {
    (void)ids;
    return {};
  }
  virtual ReadCounts read_counts() const { return {}; }
};

// Whether `path` is a regular file that begins and ends as a sealed trace does. Reads only both
// ends.
Result<void> ends_as_sealed(const std::filesystem::path& path);

}  // namespace gfxgraph::format
