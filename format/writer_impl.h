// The inside of a Writer. Internal to format/.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "format/blob_queue.h"
#include "format/check.h"
#include "format/container_writer.h"
#include "format/event_codec.h"
#include "format/pack.h"
#include "format/serial_worker.h"
#include "format/trace.h"
#include "format/writer.h"

namespace gfxgraph::format {

// So short that std::string holds them without allocating: there may be no memory left for more.
inline constexpr const char* kNoMemory = "out of memory";
inline constexpr const char* kUnexpected = "internal error";

// Two locks. `state_mutex` guards what events mean and the events gathered; it is held for a move
// and a few look-ups. `io_mutex` guards the file. Who has something for the file takes io_mutex
// while still holding state_mutex, then lets go of the latter: so records reach the file in the
// order in which they were accepted, and packing, hashing and writing stop nobody who only adds.
// Never take state_mutex while holding io_mutex.
//
// Blobs are written by their callers (add_blob), or by the threads of `queue` (writer_chunks.cpp).
// A blob that is on its way has a number, and what names it waits for that number: the list of a
// content's chunks, and events, which wait in batches and stay in order. Whoever has written a blob
// writes what waited for it.
struct Writer::Impl {
  Impl(std::unique_ptr<OutputFile> file, const WriterOptions& given);

  const WriterOptions options;

  std::mutex state_mutex;
  Checker checker;
  Statistics statistics;
  uint64_t graphs = 0;
  uint64_t findings = 0;
  uint64_t next_sequence = 0;
  std::vector<Event> pending;
  uint64_t pending_bytes = 0;
  uint64_t pending_after = 0;  // the last blob that one of them names
  std::unordered_map<BlobId, uint64_t, BlobIdHash> blobs_in_progress;  // their numbers
  uint64_t last_blob = 0;                                              // number
  struct WaitingList {
    BlobId id;
    uint64_t size_bytes = 0;
    std::vector<std::byte> list;
    uint64_t after = 0;
  };
  std::deque<WaitingList> lists;
  struct WaitingEvents {
    std::vector<Event> events;
    uint64_t bytes = 0;
    uint64_t after = 0;
  };
  std::deque<WaitingEvents> batches;
  uint64_t waiting_bytes = 0;         // of batches
  std::condition_variable blob_done;  // and what waited for it
  struct Refusals {
    uint64_t count = 0;
    std::string first_reason;
  };
  std::map<std::string, Refusals> refused;  // by what was refused
  bool closed = false;  // seal() has begun: what comes now would miss the summary

  std::mutex io_mutex;
  ContainerWriter container;
  Packer packer;
  EventCompressor compressor;
  std::vector<Event> spare;  // keeps its memory from chunk to chunk
  std::atomic<bool> sealed = false;

  std::mutex error_mutex;
  std::optional<Error> error;
  std::atomic<bool> failed = false;
  std::atomic<bool> abandoned = false;

  BlobQueue queue;     // near the end: its threads use all the rest
  SerialWorker looks;  // hashes large contents (content_writer.cpp), and uses the queue

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

  // The first one stays.
  void set_error(Error fresh) noexcept {
    const std::lock_guard lock(error_mutex);
    if (!error) error = std::move(fresh);
    failed.store(true, std::memory_order_release);
  }

  tl::unexpected<Error> latch(Error fresh) {
    set_error(std::move(fresh));
    const std::lock_guard lock(error_mutex);
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

  // writer.cpp. What needs state_mutex says so.

  // An item that makes no sense is not written, as it could not be read back; the trace then says
  // that it lacks it. Needs state_mutex.
  tl::unexpected<Error> refuse(const char* what, Error reason);
  Result<void> open_for_more() const;  // needs state_mutex
  Result<void> append_locked(const PreparedRecord& record);
  Result<void> append_events_locked(std::span<const Event> events);
  // Writes the gathered events, or lets them wait for their blobs. Takes `state`, locked; leaves it
  // unlocked, and io_mutex in `io` unless they wait.
  Result<void> write_pending(std::unique_lock<std::mutex>& state, std::unique_lock<std::mutex>& io);
  template <typename Item, typename Accept>
  Result<void> add_record(RecordKind kind, const Item& item, Accept accept);
  Result<void> check_size(uint64_t bytes, const char* what);
  Result<uint64_t> add_event(Event event);
  Result<void> write_refusals();
  Result<void> seal();

  // writer_chunks.cpp

  Result<BlobId> add_blob(std::span<const std::byte> bytes);
  // The bytes as stored. Needs no lock.
  Result<uint64_t> write_blob(BlobId id, std::span<const std::byte> bytes);
  Result<uint64_t> write_list(const WaitingList& list);
  // A number; 0: it stands in the file. `job` is taken, unless its blob is known.
  Result<uint64_t> submit(BlobQueue::Job& job);
  // `list` waits for chunks up to the number `after`.
  Result<void> submit_list(WaitingList list);
  // On a thread of the queue.
  void perform(BlobQueue::Job job) noexcept;
  // Whether no blob up to this number is on its way. Needs state_mutex.
  [[nodiscard]] bool written_up_to(uint64_t number) const;
  // The last blob on its way that it names. Needs state_mutex.
  [[nodiscard]] uint64_t last_named(const Action& action) const;
  // A blob has been written, or never will be. Needs state_mutex.
  void blob_ended(BlobId id, uint64_t bytes, const Result<uint64_t>& stored);
  // Writes what waited, as far as it can be. Takes and leaves `state` locked.
  void write_waiting(std::unique_lock<std::mutex>& state);
  // Waits until all that was given has been written, or nothing more will be. `state` is locked.
  void settle(std::unique_lock<std::mutex>& state);
};

}  // namespace gfxgraph::format
