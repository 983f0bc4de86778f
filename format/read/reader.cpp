#include "format/read/reader.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <new>

#include "base/file/file.h"
#include "format/codec/unpack.h"
#include "format/container/chunks.h"
#include "format/read/blob_store.h"
#include "format/read/loader.h"
#include "format/read/stored_trace.h"

namespace gfxgraph::format {
namespace {

// Frees the memory of the mapping's pages read so far; the pages can be read again.
void forget(const MappedFile& mapped) noexcept {
  const std::span<const std::byte> bytes = mapped.bytes();
  if (!bytes.empty()) ::madvise(const_cast<std::byte*>(bytes.data()), bytes.size(), MADV_DONTNEED);
}

class FileTrace : public StoredTrace {
 public:
  // `mapped`, `copy` or the caller owns the bytes that `trace` points into.
  FileTrace(MappedFile mapped, std::unique_ptr<AlignedBytes> copy, LoadedTrace trace,
            std::string name, const ReadOptions& options)
      : StoredTrace(std::move(trace.blobs), std::move(name), options.max_decompressed_bytes),
        mapped_(std::move(mapped)),
        copy_(std::move(copy)),
        trace_(std::move(trace)),
        events_kept_(trace_.events_kept),
        events_decoded_(trace_.statistics.events),
        pointers_(options.pointers) {
    if (options.lazy && (!trace_.events_kept || table().index() == nullptr)) forget(mapped_);
  }

  const Environment& environment() const override { return trace_.environment; }
  const std::vector<CodeObject>& code_objects() const override { return trace_.code_objects; }
  const std::vector<Kernel>& kernels() const override { return trace_.kernels; }
  const std::vector<Graph>& graphs() const override { return trace_.graphs; }
  const std::vector<Site>& sites() const override { return trace_.sites; }
  const std::vector<Event>& events() const override {
    GFXGRAPH_CHECK(events_kept_);
    return trace_.events;
  }
  const std::vector<Finding>& findings() const override { return trace_.findings; }
  const Statistics& statistics() const override { return trace_.statistics; }
  const Provenance& provenance() const override { return trace_.provenance; }
  const std::vector<Device>& devices() const override { return trace_.devices; }
  bool sealed() const override { return trace_.sealed; }
  const std::string& torn_reason() const override { return trace_.torn_reason; }

  Result<void> load_events() const override {
    const std::lock_guard lock(loading_);
    if (events_kept_) return {};
    try {
      trace_.events.reserve(trace_.statistics.events);
      GFXGRAPH_TRY(decode_events(kEveryAction, [&](Event&& event) -> Result<void> {
        trace_.events.push_back(std::move(event));
        return {};
      }));
    } catch (const std::bad_alloc&) {
      trace_.events.clear();
      return fail(Status::kOutOfMemory, "no memory for the events");
    }
    events_kept_ = true;
    return {};
  }

  Result<void> visit_events(ActionKinds kinds, const EventVisitor& visit) const override {
    if (events_kept_) return Trace::visit_events(kinds, visit);
    return decode_events(kinds, visit);
  }

  ReadCounts read_counts() const override {
    ReadCounts counts = StoredTrace::read_counts();
    counts.events_decoded = events_decoded_;
    return counts;
  }

 private:
  Result<void> decode_events(ActionKinds kinds,
                             const std::function<Result<void>(Event&&)>& take) const {
    EventDecompressor decompressor(UINT64_MAX);  // open() has checked the size
    for (const EventChunk& chunk : trace_.chunks) {
      if ((chunk.kinds & kinds) == 0) continue;
      std::span<const std::byte> payload = chunk.payload;
      if (chunk.compressed) {
        GFXGRAPH_ASSIGN_OR_RETURN(payload, decompressor.decompress(payload));
      }
      GFXGRAPH_ASSIGN_OR_RETURN(std::vector<Event> events, unpack_events(payload));
      events_decoded_ += events.size();
      for (Event& event : events) {
        use_pointers(event, trace_.provenance, pointers_);
        GFXGRAPH_TRY(take(std::move(event)));
      }
    }
    forget(mapped_);
    return {};
  }

  MappedFile mapped_;
  std::unique_ptr<AlignedBytes> copy_;
  mutable LoadedTrace trace_;  // its events are added later
  mutable std::mutex loading_;
  mutable std::atomic<bool> events_kept_;
  mutable std::atomic<uint64_t> events_decoded_;
  const PointerUse pointers_;
};

Result<std::shared_ptr<const Trace>> make_trace(std::span<const std::byte> bytes, MappedFile mapped,
                                                std::unique_ptr<AlignedBytes> copy,
                                                const std::string& name,
                                                const ReadOptions& options) {
  Result<LoadedTrace> trace = load_trace(bytes, options);
  if (!trace && options.lazy && trace.error().status != Status::kOutOfMemory) {
    // The error may follow from an earlier damaged blob: report that one.
    ReadOptions thorough = options;
    thorough.lazy = false;
    Result<LoadedTrace> looked_at = load_trace(bytes, thorough);
    if (!looked_at) trace = std::move(looked_at);
  }
  if (!trace) return tl::unexpected<Error>(std::move(trace).error());
  return std::make_shared<const FileTrace>(std::move(mapped), std::move(copy), std::move(*trace),
                                           name, options);
}

Result<std::shared_ptr<const Trace>> make_trace(MappedFile mapped, const std::string& name,
                                                const ReadOptions& options) {
  const std::span<const std::byte> bytes = mapped.bytes();
  Result<std::shared_ptr<const Trace>> trace =
      make_trace(bytes, std::move(mapped), nullptr, name, options);
  if (!trace) return with_context(std::move(trace).error(), name);
  return trace;
}

}  // namespace

const std::vector<Device>& Trace::devices() const {
  static const std::vector<Device> none;
  return none;
}

const Provenance& Trace::provenance() const {
  static const Provenance none;
  return none;
}

Result<void> Trace::visit_events(ActionKinds kinds, const EventVisitor& visit) const {
  for (const Event& event : events()) {
    if ((kind_of(event.action) & kinds) != 0) GFXGRAPH_TRY(visit(event));
  }
  return {};
}

Result<std::shared_ptr<const Trace>> Trace::open(const std::filesystem::path& path,
                                                 const ReadOptions& options) {
  try {
    Result<MappedFile> mapped = MappedFile::open(path);
    if (!mapped) {
      const std::filesystem::path partial = path.string() + ".partial";
      std::error_code ignored;
      if (mapped.error().status == Status::kNotFound && std::filesystem::exists(partial, ignored)) {
        mapped.error().message += fmt::format(
            "; {} exists, a recording that is still running or has died: `gfxgraph recover` makes "
            "a trace of it",
            partial.string());
      }
      return tl::unexpected<Error>(std::move(mapped).error());
    }
    return make_trace(std::move(*mapped), path.string(), options);
  } catch (const std::bad_alloc&) {
    return fail(Status::kOutOfMemory, fmt::format("{}: out of memory", path.string()));
  }
}

Result<std::shared_ptr<const Trace>> Trace::open_descriptor(int descriptor,
                                                            const ReadOptions& options) {
  try {
    const std::string name = fmt::format("descriptor {}", descriptor);
    GFXGRAPH_ASSIGN_OR_RETURN(MappedFile mapped, MappedFile::map(descriptor, name));
    return make_trace(std::move(mapped), name, options);
  } catch (const std::bad_alloc&) {
    return fail(Status::kOutOfMemory, "no memory for the trace");
  }
}

Result<std::shared_ptr<const Trace>> Trace::view(std::span<const std::byte> bytes,
                                                 const ReadOptions& options) {
  static_assert(kBytesAlignment == kRecordAlignment);
  if (reinterpret_cast<uintptr_t>(bytes.data()) % kBytesAlignment != 0) {
    return fail(
        Status::kInvalidArgument,
        fmt::format("the bytes of the trace are not aligned to {}: align the array that holds them",
                    kBytesAlignment));
  }
  try {
    return make_trace(bytes, {}, nullptr, {}, options);
  } catch (const std::bad_alloc&) {
    return fail(Status::kOutOfMemory, "no memory for the trace");
  }
}

Result<std::shared_ptr<const Trace>> Trace::from_bytes(std::span<const std::byte> bytes,
                                                       const ReadOptions& options) {
  try {
    auto copy = std::make_unique<AlignedBytes>(bytes.size());
    std::ranges::copy(bytes, copy->bytes().begin());
    const std::span<const std::byte> copied = copy->bytes();
    return make_trace(copied, {}, std::move(copy), {}, options);
  } catch (const std::bad_alloc&) {
    return fail(Status::kOutOfMemory, "no memory for the trace");
  }
}

Result<std::shared_ptr<const Trace>> Trace::of(std::shared_ptr<const HeldTrace> held) {
  try {
    return open_held(std::move(held));
  } catch (const std::bad_alloc&) {
    return fail(Status::kOutOfMemory, "no memory for the trace");
  }
}

Result<void> ends_as_sealed(const std::filesystem::path& path) {
  GFXGRAPH_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::open(path));
  const std::span<const std::byte> bytes = file.bytes();
  const bool sealed =
      bytes.size() >= kHeadBytes + kFooterBytes &&
      std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) == 0 &&
      std::memcmp(bytes.last(kMagic.size()).data(), kMagic.data(), kMagic.size()) == 0;
  if (sealed) return {};
  return fail(Status::kTruncated, fmt::format("{}: not a sealed trace", path.string()));
}

}  // namespace gfxgraph::format
