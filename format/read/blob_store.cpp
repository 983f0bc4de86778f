#include "format/read/blob_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "base/checked.h"
#include "base/file/file.h"

namespace gfxgraph::format {
namespace {

// Memory bandwidth limits hashing: more threads would not be faster.
constexpr size_t kMostThreads = 4;
// Smaller work is not worth a thread.
constexpr uint64_t kBytesPerThread = UINT64_C(4) << 20;

}  // namespace

AlignedBytes::AlignedBytes(size_t size)
    : data_(static_cast<std::byte*>(
          ::operator new(std::max<size_t>(size, 1), std::align_val_t(kRecordAlignment)))),
      size_(size) {}

AlignedBytes::~AlignedBytes() { ::operator delete(data_, std::align_val_t(kRecordAlignment)); }

BlobStore::BlobStore(const BlobTable& blobs, std::string name, uint64_t limit_bytes)
    : blobs_(blobs),
      name_(std::move(name)),
      limit_bytes_(limit_bytes != 0 ? limit_bytes : physical_memory_bytes()) {}

Result<std::span<const std::byte>> BlobStore::get(BlobId id) const {
  GFXGRAPH_ASSIGN_OR_RETURN(const LoadedBlob loaded, find(id));
  const BlobView& blob = loaded.view;
  const std::lock_guard lock(mutex_);
  if (const auto ready = ready_.find(id); ready != ready_.end()) {
    if (ready->second) return ready->second->bytes();
    if (blob.header.codec == BlobCodec::kPlain) return blob.stored;
  }
  if (blob.header.codec == BlobCodec::kPlain) {
    if (Result<void> right = check_blob_id(blob.header, blob.stored); !right) {
      return explained(loaded, std::move(right).error());
    }
    enter(blob, nullptr);
    return blob.stored;
  }
  const std::optional<uint64_t> total = checked_add(decompressed_bytes_, blob.header.size_bytes);
  if (!total || *total > limit_bytes_) {
    return fail(
        Status::kOutOfMemory,
        fmt::format("blob {:016x}{:016x}: {} uncompressed bytes and {} of others exceed "
                    "the limit of {}",
                    id.high, id.low, blob.header.size_bytes, decompressed_bytes_, limit_bytes_));
  }
  auto bytes = std::make_unique<AlignedBytes>(blob.header.size_bytes);
  if (Result<void> done = decode_blob_into(blob, bytes->bytes(), blobs_, ready_.contains(id));
      !done) {
    return explained(loaded, std::move(done).error());
  }
  decompressed_bytes_ = *total;
  const std::span<const std::byte> answer = bytes->bytes();
  enter(blob, std::move(bytes));
  return answer;
}

Result<void> BlobStore::read(BlobId id, std::span<std::byte> out) const {
  GFXGRAPH_ASSIGN_OR_RETURN(const LoadedBlob loaded, find(id));
  const BlobView& blob = loaded.view;
  if (blob.header.size_bytes != out.size()) {
    return fail(Status::kInvalidArgument,
                fmt::format("blob {:016x}{:016x} has {} bytes, not {}", id.high, id.low,
                            blob.header.size_bytes, out.size()));
  }
  const bool right = found_right(id);
  if (Result<void> done = decode_blob_into(blob, out, blobs_, right); !done) {
    return explained(loaded, std::move(done).error());
  }
  const std::lock_guard lock(mutex_);
  if (!right) enter(blob, nullptr);
  return {};
}

Result<void> BlobStore::visit(BlobId id, const Trace::Visitor& visit) const {
  GFXGRAPH_ASSIGN_OR_RETURN(const LoadedBlob loaded, find(id));
  const BlobView& blob = loaded.view;
  if (blob.header.codec == BlobCodec::kPlain) {
    GFXGRAPH_ASSIGN_OR_RETURN(const std::span<const std::byte> bytes, get(id));
    return visit(0, bytes);
  }
  if (blob.header.codec != BlobCodec::kChunks) {
    const AlignedBytes bytes(blob.header.size_bytes);
    GFXGRAPH_TRY(read(id, bytes.bytes()));
    return visit(0, bytes.bytes());
  }
  GFXGRAPH_ASSIGN_OR_RETURN(const ChunkListView list,
                            decode_chunk_list(blob.header.size_bytes, blob.stored));
  if (found_right(id)) return visit_chunks(list, blobs_, visit);
  RunningBlobId whole;
  bool refused = false;
  Result<void> done =
      visit_chunks(list, blobs_, [&](uint64_t offset, std::span<const std::byte> piece) {
        whole.add(piece);
        Result<void> taken = visit(offset, piece);
        refused = !taken;
        return taken;
      });
  if (refused) return done;
  if (!done) return explained(loaded, std::move(done).error());
  if (whole.value() != id) {
    return explained(
        loaded, {Status::kCorrupt, fmt::format("blob {:016x}{:016x}: its chunks are not what it "
                                               "stands for",
                                               id.high, id.low)});
  }
  const std::lock_guard lock(mutex_);
  enter(blob, nullptr);
  return {};
}

uint64_t BlobStore::nonzero_bytes(BlobId id) const {
  const Result<LoadedBlob> loaded = find(id);
  if (!loaded) return 0;
  const BlobHeader& header = loaded->view.header;
  if (header.codec != BlobCodec::kChunks) return header.size_bytes;
  const Result<ChunkListView> list = decode_chunk_list(header.size_bytes, loaded->view.stored);
  uint64_t bytes = 0;
  for (size_t i = 0; list && i < list->count(); ++i) {
    if ((*list)[i] != fill_chunk(0)) bytes += list->bytes_of(i);
  }
  return bytes;
}

Result<void> BlobStore::check(std::span<const BlobId> ids) const {
  std::vector<LoadedBlob> blobs;
  uint64_t bytes = 0;
  for (const BlobId id : ids) {
    GFXGRAPH_ASSIGN_OR_RETURN(const LoadedBlob blob, find(id));
    if (found_right(id) || !is_plain(blob.view)) continue;
    blobs.push_back(blob);
    bytes += blob.view.header.size_bytes;
  }
  std::vector<Result<void>> results(blobs.size());
  std::atomic<size_t> next = 0;
  const auto work = [&]() noexcept {
    for (size_t i = next++; i < blobs.size(); i = next++) {
      try {
        if (found_right(blobs[i].view.header.id)) continue;  // it was listed twice
        results[i] = check_blob(blobs[i].view, blobs_);
        const std::lock_guard lock(mutex_);
        if (results[i]) enter(blobs[i].view, nullptr);
      } catch (const std::bad_alloc&) {
        results[i] = fail(Status::kOutOfMemory, {});
      }
    }
  };
  std::vector<std::jthread> helpers;
  const size_t most = std::min<size_t>(kMostThreads, std::thread::hardware_concurrency());
  try {
    while (helpers.size() + 1 < most && bytes / kBytesPerThread > helpers.size())
      helpers.emplace_back(work);
  } catch (const std::system_error&) {
    // The existing threads do all the work.
  }
  work();
  helpers.clear();
  for (size_t i = 0; i < blobs.size(); ++i) {
    if (results[i]) continue;
    if (results[i].error().status == Status::kOutOfMemory) throw std::bad_alloc();
    return explained(blobs[i], std::move(results[i]).error());
  }
  return {};
}

ReadCounts BlobStore::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

bool BlobStore::found_right(BlobId id) const {
  const std::lock_guard lock(mutex_);
  return ready_.contains(id);
}

bool BlobStore::is_plain(const BlobView& blob) const {
  if (blob.header.codec != BlobCodec::kChunks) return blob.header.codec == BlobCodec::kPlain;
  const Result<ChunkListView> list = decode_chunk_list(blob.header.size_bytes, blob.stored);
  for (size_t i = 0; list && i < list->count(); ++i) {
    const auto chunk = blobs_.find((*list)[i]);
    if (chunk && chunk->view.header.codec != BlobCodec::kPlain) return false;
  }
  return list.has_value();
}

void BlobStore::enter(const BlobView& blob, std::unique_ptr<AlignedBytes> bytes) const {
  const bool keeps = bytes != nullptr;
  const auto [entry, added] = ready_.try_emplace(blob.header.id, std::move(bytes));
  if (!added && keeps) entry->second = std::move(bytes);
  if (!added) return;
  ++counts_.blobs_hashed;
  counts_.blob_bytes_hashed += blob.header.size_bytes;
}

Result<LoadedBlob> BlobStore::find(BlobId id) const {
  Result<LoadedBlob> found = blobs_.find(id);
  if (found || found.error().status == Status::kNotFound || name_.empty()) return found;
  return with_context(std::move(found).error(), name_);
}

tl::unexpected<Error> BlobStore::explained(const LoadedBlob& blob, Error error) const {
  const auto look = [&](const LoadedBlob& one) {
    const RecordView record = one.record_view();
    const Result<void> whole = record.check_hash();
    if (whole) return false;
    error = damaged(whole.error(), record.index);
    if (!name_.empty()) error.message = name_ + ": " + error.message;
    return true;
  };
  if (look(blob) || blob.view.header.codec != BlobCodec::kChunks)
    return tl::unexpected<Error>(std::move(error));
  const Result<ChunkListView> list =
      decode_chunk_list(blob.view.header.size_bytes, blob.view.stored);
  for (size_t i = 0; list && i < list->count(); ++i) {
    const auto chunk = blobs_.find((*list)[i]);
    if (chunk && look(*chunk)) break;
  }
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace gfxgraph::format
