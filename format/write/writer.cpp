#include "format/write/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

#include "format/names.h"
#include "format/write/tally.h"
#include "format/write/writer_impl.h"
#include "format/write/writer_internal.h"

namespace gfxgraph::format {
namespace {

// Limit for events that wait for their blobs: a thread that adds more has to wait.
constexpr uint64_t kMostWaitingBytes = 16u << 20;

unsigned writing_threads() {
  // Compression takes longer than reading; the program needs cores of its own.
  return std::clamp(std::thread::hardware_concurrency() / 2, 1u, 4u);
}

}  // namespace

Writer::Impl::Impl(std::unique_ptr<OutputFile> file, const WriterOptions& given)
    : options(given),
      container(std::move(file)),
      queue(given.content_chunk_bytes,
            std::max<size_t>(given.chunks_in_memory_bytes / given.content_chunk_bytes, 2),
            given.threads != 0 ? given.threads : writing_threads(),
            [this](BlobQueue::Job job) { perform(std::move(job)); }) {
  if (!container.has_file()) {
    held = std::make_shared<HeldTrace>();
    return;
  }
  pending.reserve(options.events_per_chunk);
  spare.reserve(options.events_per_chunk);
}

tl::unexpected<Error> Writer::Impl::refuse(const char* what, Error reason) {
  Refusals& refusals = refused[what];
  if (refusals.count++ == 0) refusals.first_reason = reason.message;
  reason.status = Status::kInvalidArgument;
  return tl::unexpected<Error>(std::move(reason));
}

Result<void> Writer::Impl::open_for_more() const {
  if (closed) return fail(Status::kInvalidArgument, "the trace is sealed already");
  return {};
}

Result<void> Writer::Impl::append_locked(const PreparedRecord& record) {
  if (Result<void> ready = usable(); !ready) return ready;
  Result<void> written = container.append(record);
  if (!written) return latch(std::move(written).error());
  return {};
}

Result<void> Writer::Impl::append_events_locked(std::span<const Event> events) {
  const std::span<const std::byte> plain = packer.pack(events);
  if (options.compression_level != 0 && plain.size() >= options.compress_events_min_bytes) {
    const auto compressed = compressor.compress(plain, options.compression_level);
    if (!compressed.empty()) {
      return append_locked(PreparedRecord(RecordKind::kCompressedEvents, compressed));
    }
  }
  return append_locked(PreparedRecord(RecordKind::kEvents, plain));
}

Result<void> Writer::Impl::write_pending(std::unique_lock<std::mutex>& state,
                                         std::unique_lock<std::mutex>& io) {
  if (!pending.empty() && (!batches.empty() || !written_up_to(pending_after))) {
    std::vector<Event> fresh;
    fresh.reserve(options.events_per_chunk);
    batches.push_back({std::move(pending), pending_bytes, pending_after});
    pending = std::move(fresh);
    waiting_bytes += std::exchange(pending_bytes, 0);
    pending_after = 0;
    blob_done.wait(state, [this] {
      return waiting_bytes <= kMostWaitingBytes || failed.load(std::memory_order_acquire);
    });
    state.unlock();
    return {};
  }
  io = std::unique_lock(io_mutex);
  pending.swap(spare);
  pending_bytes = pending_after = 0;
  state.unlock();
  if (spare.empty()) return {};
  struct Clear {
    std::vector<Event>& events;
    ~Clear() { events.clear(); }
  } clear{spare};
  return append_events_locked(spare);
}

// Writes a record that must precede the records that refer to it. `accept` runs under state_mutex.
template <typename Item, typename Accept>
Result<void> Writer::Impl::add_record(RecordKind kind, const Item& item, Accept accept) {
  return guarded([&]() -> Result<void> {
    std::unique_lock state(state_mutex);
    GFXGRAPH_TRY(open_for_more());
    if constexpr (std::is_same_v<Item, Graph>) {
      // It refers to blobs, and to allocations whose events may still wait here.
      blob_done.wait(state, [this, given = last_blob] {
        return failed.load(std::memory_order_acquire) ||
               (batches.empty() && written_up_to(std::max(given, pending_after)));
      });
    } else if constexpr (std::is_same_v<Item, CodeObject>) {
      blob_done.wait(state, [&] { return !blobs_in_progress.contains(item.elf); });
    }
    if (Result<void> checked = checker.add(item); !checked) {
      return refuse(record_kind_name(kind), checked.error());
    }
    accept();
    if (held) {
      held->keep(item);
      return {};
    }
    std::unique_lock<std::mutex> io;
    if (kind == RecordKind::kGraph) {
      GFXGRAPH_TRY(write_pending(state, io));
    } else {
      io = std::unique_lock(io_mutex);
      state.unlock();
    }
    return append_locked(PreparedRecord(kind, packer.pack(item), {}, record_flags(kind)));
  });
}

Result<void> Writer::Impl::check_size(uint64_t bytes, const char* what) {
  if (bytes <= kMaxStructuredBytes) return {};
  const std::lock_guard lock(state_mutex);
  return refuse(what, {Status::kInvalidArgument,
                       fmt::format("{}: {} bytes are more than a record may hold ({})", what, bytes,
                                   kMaxStructuredBytes)});
}

Result<uint64_t> Writer::Impl::add_event(Event& event) {
  const uint64_t bytes = packed_bytes_bound(event);
  GFXGRAPH_TRY(check_size(bytes, name_of(event.action).words));
  normalize(event);
  std::unique_lock<std::mutex> io;
  std::unique_lock state(state_mutex);
  GFXGRAPH_TRY(open_for_more());
  // Complete events need not wait for incomplete ones.
  const auto waits = [&] {
    const uint64_t after = last_named(event.action);
    return after > pending_after && !pending.empty() && !written_up_to(after);
  };
  while (!held && (pending_bytes + bytes > kMaxStructuredBytes || waits())) {
    GFXGRAPH_TRY(write_pending(state, io));
    if (io.owns_lock()) io.unlock();
    state.lock();
  }
  GFXGRAPH_TRY(open_for_more());
  event.sequence = next_sequence;
  if (!held && pending.capacity() == pending.size()) pending.reserve(2 * pending.size() + 1);
  if (Result<void> checked = checker.add(event); !checked) {
    return refuse(name_of(event.action).words, checked.error());
  }
  count(statistics, event);
  const uint64_t sequence = next_sequence++;
  if (held) {
    held->keep(event);
    return sequence;
  }
  pending_after = std::max(pending_after, last_named(event.action));
  pending.push_back(std::move(event));
  pending_bytes += bytes;
  if (pending.size() >= options.events_per_chunk || pending_bytes >= options.chunk_bytes) {
    GFXGRAPH_TRY(write_pending(state, io));
  }
  return sequence;
}

Result<void> Writer::Impl::write_refusals() {
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

Result<void> Writer::Impl::seal() {
  GFXGRAPH_TRY(write_refusals());
  std::unique_lock<std::mutex> io;
  std::unique_lock state(state_mutex);
  GFXGRAPH_TRY(open_for_more());
  closed = true;
  // Bytes in flight to the file count when they have arrived.
  settle(state);
  const Statistics last = statistics;
  const uint64_t last_graphs = graphs;
  const uint64_t last_findings = findings;
  if (held) {
    held->statistics = last;
    sealed = true;
    return {};
  }
  GFXGRAPH_TRY(write_pending(state, io));
  const Result<uint64_t> index = container.append_index(options.index_min_records);
  if (!index) return latch(index.error());
  const PreparedRecord summary(RecordKind::kSummary,
                               packer.pack_summary(last, last_graphs, last_findings, *index));
  if (Result<void> done = container.seal(summary); !done) return latch(done.error());
  sealed = true;
  return {};
}

Writer::Writer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Writer::~Writer() {
  if (impl_->abandoned.load(std::memory_order_acquire)) {
    // Another thread of the parent may have been anywhere in this code: nothing here is safe to
    // access, not even to free.
    [[maybe_unused]] const Impl* const left = impl_.release();
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
    if (!impl->held) GFXGRAPH_TRY(impl->container.write_head());
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

Result<std::unique_ptr<Writer>> Writer::create_unnamed(const std::filesystem::path& path,
                                                       const WriterOptions& options) {
  try {
    GFXGRAPH_ASSIGN_OR_RETURN(std::unique_ptr<OutputFile> file, create_new_file(path));
    return create_on(std::move(file), options);
  } catch (const std::bad_alloc&) {
    return fail(Status::kOutOfMemory, kNoMemory);
  }
}

Result<std::unique_ptr<Writer>> Writer::create_in_memory(File& file, const WriterOptions& options) {
  try {
    GFXGRAPH_ASSIGN_OR_RETURN(std::unique_ptr<OutputFile> memory, create_memory_file(file));
    return create_on(std::move(memory), options);
  } catch (const std::bad_alloc&) {
    return fail(Status::kOutOfMemory, kNoMemory);
  }
}

Result<std::unique_ptr<Writer>> Writer::create_held(const WriterOptions& options) {
  WriterOptions plain = options;
  plain.compression_level = 0;
  return create_on(nullptr, plain);
}

std::shared_ptr<const HeldTrace> Writer::held() noexcept {
  return impl_->sealed ? impl_->held : nullptr;
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

Result<void> Writer::add(const Device& device) {
  return impl_->add_record(RecordKind::kDevice, device, [] {});
}

Result<uint64_t> Writer::add(Event&& event) {
  return impl_->guarded([&] { return impl_->add_event(event); });
}

Result<void> Writer::flush() {
  return impl_->guarded([&]() -> Result<void> {
    std::unique_lock<std::mutex> io;
    std::unique_lock state(impl_->state_mutex);
    return impl_->write_pending(state, io);
  });
}

Result<void> Writer::settle() {
  GFXGRAPH_TRY(flush());
  return impl_->guarded([&]() -> Result<void> {
    std::unique_lock state(impl_->state_mutex);
    impl_->settle(state);
    return impl_->usable();
  });
}

Result<void> Writer::seal() {
  return impl_->guarded([&] { return impl_->seal(); });
}

void Writer::abandon() noexcept {
  impl_->abandoned.store(true, std::memory_order_release);
  if (impl_->container.has_file()) impl_->container.abandon();
}

Statistics Writer::statistics() const {
  if (impl_->abandoned.load(std::memory_order_acquire)) return {};
  const std::lock_guard lock(impl_->state_mutex);
  return impl_->statistics;
}

}  // namespace gfxgraph::format
