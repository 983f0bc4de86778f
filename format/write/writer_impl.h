// The implementation of Writer. Internal to format/.
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
#include "format/check/check.h"
#include "format/codec/pack.h"
#include "format/container/blob_queue.h"
#include "format/container/container_writer.h"
#include "format/container/event_codec.h"
#include "format/container/serial_worker.h"
#include "format/held_trace.h"
#include "format/trace.h"
#include "format/write/writer.h"

namespace gfxgraph::format {

// Short enough for std::string's internal buffer: there may be no memory left to allocate.
inline constexpr const char* kNoMemory = "out of memory";
inline constexpr const char* kUnexpected = "internal error";

// Two locks. `state_mutex` guards the checker and the gathered events, and is held only for a move
// and a few look-ups. `io_mutex` guards the file. A thread with something to write takes io_mutex
// while it still holds state_mutex, then releases state_mutex: records reach the file in the order
// in which they were accepted, and packing, hashing and writing do not block threads that only add.
// Never take state_mutex while holding io_mutex.
//
// Blobs are written by the calling thread (add_blob), or by the threads of `queue`
// (writer_chunks.cpp). A blob in progress has a number. Chunk lists and events that name it wait
// for that number; events wait in batches and stay in order. The thread that wrote a blob then
// writes what waited for it.
struct Writer::Impl {
  // `file` null: what is added is held.
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
  uint64_t pending_after = 0;  // number of the last blob that one of them names
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
  uint64_t waiting_bytes = 0;         // of `batches`
  std::condition_variable blob_done;  // and so is what waited for it
  struct Refusals {
    uint64_t count = 0;
    std::string first_reason;
  };
  std::map<std::string, Refusals> refused;  // by kind of item
  bool closed = false;  // seal() has begun: later items would be missing from the summary
  // Takes the place of the file. Null: there is a file. Its blobs are guarded by io_mutex.
  std::shared_ptr<HeldTrace> held;

  std::mutex io_mutex;
  ContainerWriter container;
  Packer packer;
  EventCompressor compressor;
  std::vector<Event> spare;  // reuses its memory between chunks
  std::atomic<bool> sealed = false;

  std::mutex error_mutex;
  std::optional<Error> error;
  std::atomic<bool> failed = false;
  std::atomic<bool> abandoned = false;

  BlobQueue queue;     // near the end: its threads use all members above
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

  // Keeps the first error.
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

  // Runs a method's body; no exception escapes into the recorded program.
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

  // writer.cpp. A comment says where the caller must hold state_mutex.

  // Counts an invalid item, which is not written because it could not be read back; seal() adds a
  // finding. Needs state_mutex.
  tl::unexpected<Error> refuse(const char* what, Error reason);
  Result<void> open_for_more() const;  // needs state_mutex
  Result<void> append_locked(const PreparedRecord& record);
  Result<void> append_events_locked(std::span<const Event> events);
  // Writes the gathered events, or makes them wait for their blobs. `state` must be locked and is
  // unlocked on return; `io` then holds io_mutex unless the events wait.
  Result<void> write_pending(std::unique_lock<std::mutex>& state, std::unique_lock<std::mutex>& io);
  template <typename Item, typename Accept>
  Result<void> add_record(RecordKind kind, const Item& item, Accept accept);
  Result<void> check_size(uint64_t bytes, const char* what);
  Result<uint64_t> add_event(Event& event);
  Result<void> write_refusals();
  Result<void> seal();

  // writer_chunks.cpp

  Result<BlobId> add_blob(std::span<const std::byte> bytes);
  // Returns the stored size. Needs no lock.
  Result<uint64_t> write_blob(BlobId id, std::span<const std::byte> bytes);
  Result<uint64_t> write_list(const WaitingList& list);
  Result<void> append_blob(const BlobHeader& header, std::span<const std::byte> stored);
  // Returns the blob's number; 0: it is in the file already. Moves from `job` unless its blob is
  // known.
  Result<uint64_t> submit(BlobQueue::Job& job);
  // `list` waits for all blobs up to number `list.after`.
  Result<void> submit_list(WaitingList list);
  // Runs on a thread of the queue.
  void perform(BlobQueue::Job job) noexcept;
  // Whether all blobs up to this number are done. Needs state_mutex.
  [[nodiscard]] bool written_up_to(uint64_t number) const;
  // The number of the last blob in progress that the action names; 0: none. Needs state_mutex.
  [[nodiscard]] uint64_t last_named(const Action& action) const;
  // Call when a blob has been written or has failed. Needs state_mutex.
  void blob_ended(BlobId id, uint64_t bytes, const Result<uint64_t>& stored);
  // Writes the waiting lists and events whose blobs are done. `state` is locked before and after.
  void write_waiting(std::unique_lock<std::mutex>& state);
  // Waits until everything has been written, or the writer has failed. `state` is locked.
  void settle(std::unique_lock<std::mutex>& state);
};

}  // namespace gfxgraph::format
