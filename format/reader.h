// Reads a trace: memory-mapped, every record's hash checked before its payload is parsed, every
// payload verified, every id and range checked for meaning. After open() returned, nothing that a
// Trace hands out can lead outside the file.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "format/trace.h"

namespace gfxgraph::format {

struct ReadOptions {
  // Accept a file without footer, or with a damaged end: read the records before the damage.
  bool allow_torn = false;
  // Of all blobs that are decompressed and kept; events that the file has compressed may be a
  // sixteenth of it, in the form in which they were stored. 0: the memory of this machine.
  uint64_t max_decompressed_bytes = 0;
};

// Immutable after open(); all methods are thread-safe. Blob bytes stay valid as long as the Trace.
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
  virtual const std::vector<Event>& events() const = 0;
  virtual const std::vector<Finding>& findings() const = 0;
  virtual const Statistics& statistics() const = 0;

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
};

// Whether `path` is a regular file that begins and ends as a sealed trace does. Reads only both
// ends.
Result<void> ends_as_sealed(const std::filesystem::path& path);

}  // namespace gfxgraph::format
