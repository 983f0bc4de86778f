// Blobs, and events that wait for blobs in flight.
#include <algorithm>
#include <array>

#include "format/container/chunks.h"
#include "format/container/zstd_codec.h"
#include "format/write/writer_impl.h"

namespace gfxgraph::format {

Result<BlobId> Writer::Impl::add_blob(std::span<const std::byte> bytes) {
  const BlobId id = hash_bytes(bytes);
  std::unique_lock state(state_mutex);
  if (bytes.size() > kMaxBlobBytes) {
    return refuse("blob", {Status::kInvalidArgument, "blob: larger than 1 TiB"});
  }
  // Another thread may be writing the same bytes: the caller may write a record with this id as
  // soon as it has the id.
  blob_done.wait(state, [&] { return !blobs_in_progress.contains(id); });
  if (Result<void> ready = usable(); !ready) return tl::unexpected<Error>(ready.error());
  GFXGRAPH_TRY(open_for_more());
  if (checker.has_blob(id)) return id;
  GFXGRAPH_TRY(checker.add_blob(id, bytes.size()));
  blobs_in_progress.emplace(id, ++last_blob);
  state.unlock();
  Result<uint64_t> stored = fail(Status::kOutOfMemory, kNoMemory);
  try {
    stored = write_blob(id, bytes);
  } catch (const std::bad_alloc&) {
    (void)latch(stored.error());
  }
  state.lock();
  blob_ended(id, bytes.size(), stored);
  write_waiting(state);
  if (!stored) return tl::unexpected<Error>(stored.error());
  return id;
}

Result<uint64_t> Writer::Impl::write_blob(BlobId id, std::span<const std::byte> bytes) {
  BlobHeader header{id, bytes.size(), BlobCodec::kPlain};
  std::optional<std::vector<std::byte>> compressed;
  if (options.compression_level != 0 && bytes.size() >= options.compress_min_bytes) {
    compressed = compress(bytes, options.compression_level);
  }
  if (compressed) header.codec = BlobCodec::kZstd;
  const std::span<const std::byte> stored =
      compressed ? std::span<const std::byte>(*compressed) : bytes;
  GFXGRAPH_TRY(append_blob(header, stored));
  return stored.size();
}

Result<uint64_t> Writer::Impl::write_list(const WaitingList& list) {
  GFXGRAPH_TRY(append_blob({list.id, list.size_bytes, BlobCodec::kChunks}, list.list));
  return list.list.size();
}

Result<void> Writer::Impl::append_blob(const BlobHeader& header,
                                       std::span<const std::byte> stored) {
  if (held) {
    const std::lock_guard io(io_mutex);
    held->keep(header, stored);
    return {};
  }
  const std::array<std::byte, kBlobHeaderBytes> encoded = encode_blob_header(header);
  const PreparedRecord record(RecordKind::kBlob, encoded, stored);
  const std::lock_guard io(io_mutex);
  return append_locked(record);
}

Result<uint64_t> Writer::Impl::submit(BlobQueue::Job& job) {
  std::unique_lock state(state_mutex);
  if (Result<void> ready = usable(); !ready) return tl::unexpected<Error>(ready.error());
  GFXGRAPH_TRY(open_for_more());
  const auto known = blobs_in_progress.find(job.id);
  const bool writes = known == blobs_in_progress.end() && !checker.has_blob(job.id);
  uint64_t number = known == blobs_in_progress.end() ? 0 : known->second;
  if (writes) {
    GFXGRAPH_TRY(checker.add_blob(job.id, job.size_bytes));
    number = ++last_blob;
    blobs_in_progress.emplace(job.id, number);
  }
  state.unlock();
  if (writes) queue.add(std::move(job));
  return number;
}

Result<void> Writer::Impl::submit_list(WaitingList list) {
  std::unique_lock state(state_mutex);
  if (Result<void> ready = usable(); !ready) return ready;
  GFXGRAPH_TRY(open_for_more());
  if (list.size_bytes > kMaxBlobBytes) {
    return refuse("blob", {Status::kInvalidArgument, "content: larger than 1 TiB"});
  }
  if (checker.has_blob(list.id)) return {};
  GFXGRAPH_ASSIGN_OR_RETURN(const ChunkListView view,
                            decode_chunk_list(list.size_bytes, list.list));
  GFXGRAPH_TRY(checker.add_chunk_list(list.id, view));
  blobs_in_progress.emplace(list.id, ++last_blob);
  lists.push_back(std::move(list));
  write_waiting(state);
  return usable();
}

void Writer::Impl::perform(BlobQueue::Job job) noexcept {
  Result<uint64_t> stored = fail(Status::kOutOfMemory, kNoMemory);
  try {
    if (usable()) stored = write_blob(job.id, {job.buffer.get(), job.size_bytes});
  } catch (const std::exception&) {
    set_error({Status::kOutOfMemory, kNoMemory});
  }
  queue.give_back(std::move(job.buffer));
  std::unique_lock state(state_mutex);
  blob_ended(job.id, job.size_bytes, stored);
  try {
    write_waiting(state);
  } catch (const std::exception&) {
    // Copying even the error failed; it is latched.
    set_error({Status::kOutOfMemory, kNoMemory});
    blob_done.notify_all();
  }
}

bool Writer::Impl::written_up_to(uint64_t number) const {
  if (number == 0 || blobs_in_progress.empty()) return true;
  return std::ranges::none_of(blobs_in_progress,
                              [&](const auto& blob) { return blob.second <= number; });
}

uint64_t Writer::Impl::last_named(const Action& action) const {
  if (blobs_in_progress.empty()) return 0;
  const auto number = [&](const Content& content) -> uint64_t {
    const auto found = blobs_in_progress.find(content.blob);
    return found == blobs_in_progress.end() ? 0 : found->second;
  };
  if (const auto* begin = std::get_if<AllocationBegin>(&action)) return number(begin->initial);
  if (const auto* end = std::get_if<AllocationEnd>(&action)) return number(end->post);
  if (const auto* write = std::get_if<HostWrite>(&action)) return number(write->content);
  if (const auto* copy = std::get_if<Copy>(&action)) {
    return std::max(number(copy->host_source), number(copy->host_result));
  }
  return 0;
}

void Writer::Impl::blob_ended(BlobId id, uint64_t bytes, const Result<uint64_t>& stored) {
  blobs_in_progress.erase(id);
  if (stored) {
    ++statistics.blobs;
    statistics.blob_bytes += bytes;
    statistics.stored_blob_bytes += *stored;
  }
  blob_done.notify_all();
}

void Writer::Impl::write_waiting(std::unique_lock<std::mutex>& state) {
  while (!failed.load(std::memory_order_acquire)) {
    const auto list = std::ranges::find_if(
        lists, [this](const WaitingList& one) { return written_up_to(one.after); });
    if (list != lists.end()) {
      const WaitingList taken = std::move(*list);
      lists.erase(list);
      state.unlock();
      const Result<uint64_t> stored = guarded([&] { return write_list(taken); });
      state.lock();
      blob_ended(taken.id, taken.list.size(), stored);
      continue;
    }
    if (batches.empty() || !written_up_to(batches.front().after)) return;
    const WaitingEvents taken = std::move(batches.front());
    batches.pop_front();
    std::unique_lock io(io_mutex);
    state.unlock();
    (void)guarded([&] { return append_events_locked(taken.events); });
    io.unlock();
    state.lock();
    waiting_bytes -= std::min(waiting_bytes, taken.bytes);
    blob_done.notify_all();
  }
  for (const WaitingList& list : lists) blobs_in_progress.erase(list.id);
  lists.clear();
  batches.clear();
  waiting_bytes = 0;
  blob_done.notify_all();
}

void Writer::Impl::settle(std::unique_lock<std::mutex>& state) {
  blob_done.wait(state, [this] {
    return failed.load(std::memory_order_acquire) ||
           (blobs_in_progress.empty() && batches.empty() && waiting_bytes == 0);
  });
}

}  // namespace gfxgraph::format
