#include "format/writer.h"

#include <fmt/format.h>

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "format/check.h"
#include "format/container_writer.h"
#include "format/pack.h"
#include "format/tally.h"
#include "format/writer_internal.h"
#include "format/zstd_codec.h"

namespace gfxgraph::format {
namespace {

// So short that std::string holds them without allocating: there may be no memory left for more.
constexpr const char* kNoMemory = "out of memory";
constexpr const char* kUnexpected = "internal error";

}  // namespace

// Two locks. `state_mutex` guards what events mean and the events gathered; it is held for a move
// and a few look-ups. `io_mutex` guards the file. Who has something for the file takes io_mutex
// while still holding state_mutex, then lets go of the latter: so records reach the file in the
// order in which they were accepted, and packing, hashing and writing stop nobody who only adds.
// Never take state_mutex while holding io_mutex.
struct Writer::Impl {
  Impl(std::unique_ptr<OutputFile> file, const WriterOptions& given)
      : options(given), container(std::move(file)) {
    pending.reserve(options.events_per_chunk);
    spare.reserve(options.events_per_chunk);
  }

  const WriterOptions options;

  std::mutex state_mutex;
  Checker checker;
  Statistics statistics;
  uint64_t graphs = 0;
  uint64_t findings = 0;
  uint64_t next_sequence = 0;
  std::vector<Event> pending;
  uint64_t pending_bytes = 0;
  std::unordered_set<BlobId, BlobIdHash> blobs_in_progress;
  std::condition_variable blob_done;
  struct Refusals {
    uint64_t count = 0;
    std::string first_reason;
  };
  std::map<std::string, Refusals> refused;  // by what was refused
  bool closed = false;  // seal() has begun: what comes now would miss the summary

  std::mutex io_mutex;
  ContainerWriter container;
  Packer packer;
  std::vector<Event> spare;  // keeps its memory from chunk to chunk
  std::atomic<bool> sealed = false;

  std::mutex error_mutex;
  std::optional<Error> error;
  std::atomic<bool> failed = false;
  std::atomic<bool> abandoned = false;

  Result<void> usable() {
    if (abandoned.load(std::memory_order_acquire)) {
      return fail(Status::kInvalidArgument, "the trace writer was abandoned after fork");
    }
    if (failed.load(std::memory_order_acquire)) {
      const std::lock_guard lock(error_mutex);
      return tl::unexpected<Error>(*error);
    }
    return {};
  }

  tl::unexpected<Error> latch(Error fresh) {
    const std::lock_guard lock(error_mutex);
    if (!error) error = std::move(fresh);
    failed.store(true, std::memory_order_release);
    return tl::unexpected<Error>(*error);
  }

  // Runs a method's body: nothing is thrown into a foreign program.
  template <typename Body>
  auto guarded(Body&& body) -> decltype(body()) {
    try {
      if (Result<void> ready = usable(); !ready) return tl::unexpected<Error>(ready.error());
      return body();
    } catch (const std::bad_alloc&) {
      return latch({Status::kOutOfMemory, kNoMemory});
    } catch (const std::exception&) {
      return latch({Status::kInternal, kUnexpected});
    }
  }

  // An item that makes no sense is not written, as it could not be read back; the trace then says
  // that it lacks it. Needs state_mutex.
  tl::unexpected<Error> refuse(const char* what, Error reason) {
    Refusals& refusals = refused[what];
    if (refusals.count++ == 0) refusals.first_reason = reason.message;
    reason.status = Status::kInvalidArgument;
    return tl::unexpected<Error>(std::move(reason));
  }

  // Needs state_mutex.
  Result<void> open_for_more() const {
    if (closed) return fail(Status::kInvalidArgument, "the trace is sealed already");
    return {};
  }

  Result<void> append_locked(const PreparedRecord& record) {
    if (Result<void> ready = usable(); !ready) return ready;
    Result<void> written = container.append(record);
    if (!written) return latch(std::move(written).error());
    return {};
  }

  // Writes the gathered events. Takes `state`, locked; leaves it unlocked, and io_mutex in `io`.
  Result<void> write_pending(std::unique_lock<std::mutex>& state,
                             std::unique_lock<std::mutex>& io) {
    io = std::unique_lock(io_mutex);
    pending.swap(spare);
    pending_bytes = 0;
    state.unlock();
    if (spare.empty()) return {};
    struct Clear {
      std::vector<Event>& events;
      ~Clear() { events.clear(); }
    } clear{spare};
    return append_locked(PreparedRecord(RecordKind::kEvents, packer.pack(spare)));
  }

  // A record that must stand before what refers to it. `accept` runs under state_mutex.
  template <typename Item, typename Accept>
  Result<void> add_record(RecordKind kind, const Item& item, Accept accept) {
    return guarded([&]() -> Result<void> {
      std::unique_lock state(state_mutex);
      GFXGRAPH_TRY(open_for_more());
      if (Result<void> checked = checker.add(item); !checked) {
        return refuse(record_kind_name(kind), checked.error());
      }
      accept();
      std::unique_lock<std::mutex> io;
      if (kind == RecordKind::kGraph) {
        // A graph names allocations whose events may still wait here.
        GFXGRAPH_TRY(write_pending(state, io));
      } else {
        io = std::unique_lock(io_mutex);
        state.unlock();
      }
      return append_locked(PreparedRecord(kind, packer.pack(item), {}, record_flags(kind)));
    });
  }

  Result<void> check_size(uint64_t bytes, const char* what) {
    if (bytes <= kMaxStructuredBytes) return {};
    const std::lock_guard lock(state_mutex);
    return refuse(what, {Status::kInvalidArgument,
                         fmt::format("{}: {} bytes are more than a record may hold ({})", what,
                                     bytes, kMaxStructuredBytes)});
  }

  Result<BlobId> add_blob(std::span<const std::byte> bytes) {
    const BlobId id = hash_bytes(bytes);
    if (bytes.size() > kMaxBlobBytes) {
      const std::lock_guard lock(state_mutex);
      return refuse("blob", {Status::kInvalidArgument, "blob: larger than 1 TiB"});
    }
    {
      std::unique_lock state(state_mutex);
      // Another thread may be writing the same bytes: an id is handed out only when its record
      // stands in the file, else an event could get there before it.
      blob_done.wait(state, [&] { return !blobs_in_progress.contains(id); });
      if (Result<void> ready = usable(); !ready) return tl::unexpected<Error>(ready.error());
      GFXGRAPH_TRY(open_for_more());
      if (checker.has_blob(id)) return id;
      blobs_in_progress.insert(id);
    }
    Result<uint64_t> stored = fail(Status::kOutOfMemory, kNoMemory);
    try {
      stored = write_blob(id, bytes);
    } catch (const std::bad_alloc&) {
      (void)latch(stored.error());
    }
    const std::lock_guard state(state_mutex);
    blobs_in_progress.erase(id);
    blob_done.notify_all();
    if (!stored) return tl::unexpected<Error>(stored.error());
    GFXGRAPH_TRY(checker.add_blob(id, bytes.size()));
    ++statistics.blobs;
    statistics.blob_bytes += bytes.size();
    statistics.stored_blob_bytes += *stored;
    return id;
  }

  // Bytes as stored.
  Result<uint64_t> write_blob(BlobId id, std::span<const std::byte> bytes) {
    BlobHeader header{id, bytes.size(), BlobCodec::kPlain};
    std::optional<std::vector<std::byte>> compressed;
    if (options.compression_level != 0 && bytes.size() >= options.compress_min_bytes) {
      compressed = compress(bytes, options.compression_level);
    }
    if (compressed) header.codec = BlobCodec::kZstd;
    const std::span<const std::byte> stored =
        compressed ? std::span<const std::byte>(*compressed) : bytes;
    const std::array<std::byte, kBlobHeaderBytes> encoded = encode_blob_header(header);
    const PreparedRecord record(RecordKind::kBlob, encoded, stored);
    const std::lock_guard io(io_mutex);
    GFXGRAPH_TRY(append_locked(record));
    return stored.size();
  }

  Result<uint64_t> add_event(Event event) {
    const uint64_t bytes = packed_bytes_bound(event);
    GFXGRAPH_TRY(check_size(bytes, action_name(event.action)));
    normalize(event);
    std::unique_lock<std::mutex> io;
    std::unique_lock state(state_mutex);
    GFXGRAPH_TRY(open_for_more());
    if (pending_bytes + bytes > kMaxStructuredBytes) {
      GFXGRAPH_TRY(write_pending(state, io));
      io.unlock();
      state.lock();
    }
    event.sequence = next_sequence;
    if (pending.capacity() == pending.size()) pending.reserve(2 * pending.size() + 1);
    if (Result<void> checked = checker.add(event); !checked) {
      return refuse(action_name(event.action), checked.error());
    }
    count(statistics, event);
    const uint64_t sequence = next_sequence++;
    pending.push_back(std::move(event));
    pending_bytes += bytes;
    if (pending.size() >= options.events_per_chunk || pending_bytes >= options.chunk_bytes) {
      GFXGRAPH_TRY(write_pending(state, io));
    }
    return sequence;
  }

  Result<void> write_refusals() {
    std::unique_lock state(state_mutex);
    const auto all = std::exchange(refused, {});
    state.unlock();
    for (const auto& [what, refusals] : all) {
      Finding finding{FindingKind::kIncomplete, what, refusals.count,
                      "refused by the trace writer: " + refusals.first_reason};
      GFXGRAPH_TRY(add_record(RecordKind::kFinding, finding, [&] { ++findings; }));
    }
    return {};
  }

  Result<void> seal() {
    GFXGRAPH_TRY(write_refusals());
    std::unique_lock<std::mutex> io;
    std::unique_lock state(state_mutex);
    GFXGRAPH_TRY(open_for_more());
    // A blob on its way into the file is counted when it has arrived.
    blob_done.wait(state, [this] { return blobs_in_progress.empty(); });
    closed = true;
    const Statistics last = statistics;
    const uint64_t last_graphs = graphs;
    const uint64_t last_findings = findings;
    GFXGRAPH_TRY(write_pending(state, io));
    const PreparedRecord summary(RecordKind::kSummary,
                                 packer.pack_summary(last, last_graphs, last_findings));
    if (Result<void> done = container.seal(summary); !done) return latch(done.error());
    sealed = true;
    return {};
  }
};

Writer::Writer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Writer::~Writer() {
  if (impl_->abandoned.load(std::memory_order_acquire)) {
    // Another thread of the parent may have been in the middle of anything: nothing here is safe to
    // touch, not even to free.
    (void)impl_.release();
    return;
  }
  if (!impl_->sealed) (void)flush();
}

Result<std::unique_ptr<Writer>> create_writer(std::unique_ptr<OutputFile> file,
                                              const WriterOptions& options) {
  return Writer::create_on(std::move(file), options);
}

Result<std::unique_ptr<Writer>> Writer::create_on(std::unique_ptr<OutputFile> file,
                                                  const WriterOptions& options) {
  try {
    auto impl = std::make_unique<Impl>(std::move(file), options);
    GFXGRAPH_TRY(impl->container.write_head());
    return std::unique_ptr<Writer>(new Writer(std::move(impl)));
  } catch (const std::bad_alloc&) {
    return fail(Status::kOutOfMemory, kNoMemory);
  }
}

Result<std::unique_ptr<Writer>> Writer::create(const std::filesystem::path& path,
                                               const WriterOptions& options) {
  try {
    GFXGRAPH_ASSIGN_OR_RETURN(std::unique_ptr<OutputFile> file, create_partial_file(path));
    return create_on(std::move(file), options);
  } catch (const std::bad_alloc&) {
    return fail(Status::kOutOfMemory, kNoMemory);
  }
}

Result<BlobId> Writer::add_blob(std::span<const std::byte> bytes) {
  return impl_->guarded([&] { return impl_->add_blob(bytes); });
}

Result<void> Writer::add(const Environment& environment) {
  return impl_->guarded([&]() -> Result<void> {
    GFXGRAPH_TRY(impl_->check_size(packed_bytes_bound(environment), "environment"));
    return impl_->add_record(RecordKind::kEnvironment, environment, [] {});
  });
}

Result<void> Writer::add(const CodeObject& code_object) {
  return impl_->add_record(RecordKind::kCodeObject, code_object,
                           [this] { ++impl_->statistics.code_objects; });
}

Result<void> Writer::add(const Kernel& kernel) {
  return impl_->guarded([&]() -> Result<void> {
    GFXGRAPH_TRY(impl_->check_size(packed_bytes_bound(kernel), "kernel"));
    return impl_->add_record(RecordKind::kKernel, kernel, [this] { ++impl_->statistics.kernels; });
  });
}

Result<void> Writer::add(const Graph& graph) {
  return impl_->guarded([&]() -> Result<void> {
    GFXGRAPH_TRY(impl_->check_size(packed_bytes_bound(graph), "graph"));
    Graph ordered = graph;
    normalize(ordered);
    return impl_->add_record(RecordKind::kGraph, ordered, [&] {
      ++impl_->graphs;
      count(impl_->statistics, ordered);
    });
  });
}

Result<void> Writer::add(const Finding& finding) {
  return impl_->add_record(RecordKind::kFinding, finding, [this] { ++impl_->findings; });
}

Result<void> Writer::add(const Site& site) {
  return impl_->add_record(RecordKind::kSite, site, [] {});
}

Result<uint64_t> Writer::add(Event event) {
  return impl_->guarded([&] { return impl_->add_event(std::move(event)); });
}

Result<void> Writer::flush() {
  return impl_->guarded([&]() -> Result<void> {
    std::unique_lock<std::mutex> io;
    std::unique_lock state(impl_->state_mutex);
    return impl_->write_pending(state, io);
  });
}

Result<void> Writer::seal() {
  return impl_->guarded([&] { return impl_->seal(); });
}

void Writer::abandon() noexcept {
  impl_->abandoned.store(true, std::memory_order_release);
  impl_->container.abandon();
}

Statistics Writer::statistics() const {
  if (impl_->abandoned.load(std::memory_order_acquire)) return {};
  const std::lock_guard lock(impl_->state_mutex);
  return impl_->statistics;
}

}  // namespace gfxgraph::format
