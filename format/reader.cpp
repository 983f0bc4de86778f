#include "format/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <new>
#include <unordered_map>

#include "base/checked.h"
#include "base/file.h"
#include "format/loader.h"

namespace gfxgraph::format {
namespace {

// Blob alignment holds for copied and decompressed bytes, too.
class AlignedBytes {
 public:
  explicit AlignedBytes(size_t size)
      : data_(static_cast<std::byte*>(
            ::operator new(std::max<size_t>(size, 1), std::align_val_t(kRecordAlignment)))),
        size_(size) {}
  ~AlignedBytes() { ::operator delete(data_, std::align_val_t(kRecordAlignment)); }
  AlignedBytes(const AlignedBytes&) = delete;
  AlignedBytes& operator=(const AlignedBytes&) = delete;
  [[nodiscard]] std::span<std::byte> bytes() const { return {data_, size_}; }

 private:
  std::byte* data_;
  size_t size_;
};

// Blobs as callers want them: decompressed when first asked for, kept from then on.
class BlobStore {
 public:
  BlobStore(const BlobTable& blobs, uint64_t limit_bytes)
      : blobs_(blobs), limit_bytes_(limit_bytes != 0 ? limit_bytes : physical_memory_bytes()) {}

  Result<std::span<const std::byte>> get(BlobId id) const {
    GFXGRAPH_ASSIGN_OR_RETURN(const BlobView blob, find(id));
    const std::lock_guard lock(mutex_);
    if (const auto ready = ready_.find(id); ready != ready_.end()) {
      if (ready->second) return ready->second->bytes();
      if (blob.header.codec == BlobCodec::kPlain) return blob.stored;
    }
    if (blob.header.codec == BlobCodec::kPlain) {
      GFXGRAPH_TRY(check_blob_id(blob.header, blob.stored));
      ready_.emplace(id, nullptr);
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
    GFXGRAPH_TRY(decode_blob_into(blob, bytes->bytes(), blobs_));
    decompressed_bytes_ = *total;
    const std::span<const std::byte> answer = bytes->bytes();
    ready_.insert_or_assign(id, std::move(bytes));
    return answer;
  }

  Result<void> read(BlobId id, std::span<std::byte> out) const {
    GFXGRAPH_ASSIGN_OR_RETURN(const BlobView blob, find(id));
    if (blob.header.size_bytes != out.size()) {
      return fail(Status::kInvalidArgument,
                  fmt::format("blob {:016x}{:016x} has {} bytes, not {}", id.high, id.low,
                              blob.header.size_bytes, out.size()));
    }
    return decode_blob_into(blob, out, blobs_);
  }

  // Chunks are decompressed each time, as often as they are asked for.
  Result<void> visit(BlobId id, const Trace::Visitor& visit) const {
    GFXGRAPH_ASSIGN_OR_RETURN(const BlobView blob, find(id));
    if (blob.header.codec != BlobCodec::kChunks) {
      GFXGRAPH_ASSIGN_OR_RETURN(const std::span<const std::byte> bytes, get(id));
      return visit(0, bytes);
    }
    GFXGRAPH_ASSIGN_OR_RETURN(const ChunkListView list,
                              decode_chunk_list(blob.header.size_bytes, blob.stored));
    if (found_right(id)) return visit_chunks(list, blobs_, true, visit);
    RunningBlobId whole;
    GFXGRAPH_TRY(
        visit_chunks(list, blobs_, false, [&](uint64_t offset, std::span<const std::byte> piece) {
          whole.add(piece);
          return visit(offset, piece);
        }));
    if (whole.value() != id) {
      return fail(Status::kCorrupt, fmt::format("blob {:016x}{:016x}: its chunks are not what it "
                                                "stands for",
                                                id.high, id.low));
    }
    const std::lock_guard lock(mutex_);
    ready_.emplace(id, nullptr);
    return {};
  }

 private:
  bool found_right(BlobId id) const {
    const std::lock_guard lock(mutex_);
    return ready_.contains(id);
  }

  Result<BlobView> find(BlobId id) const {
    const auto found = blobs_.find(id);
    if (found != blobs_.end()) return found->second.view;
    return fail(Status::kNotFound,
                fmt::format("blob {:016x}{:016x} is not in this trace", id.high, id.low));
  }

  const BlobTable& blobs_;
  const uint64_t limit_bytes_;
  mutable std::mutex mutex_;
  // Blobs whose id was found right; no bytes for plain ones, and for lists that were visited.
  mutable std::unordered_map<BlobId, std::unique_ptr<AlignedBytes>, BlobIdHash> ready_;
  mutable uint64_t decompressed_bytes_ = 0;
};

class FileTrace : public Trace {
 public:
  // `mapped`, `copy` or the caller holds the bytes that `trace` points into.
  FileTrace(MappedFile mapped, std::unique_ptr<AlignedBytes> copy, LoadedTrace trace,
            const ReadOptions& options)
      : mapped_(std::move(mapped)),
        copy_(std::move(copy)),
        trace_(std::move(trace)),
        blobs_(trace_.blobs, options.max_decompressed_bytes) {}

  const Environment& environment() const override { return trace_.environment; }
  const std::vector<CodeObject>& code_objects() const override { return trace_.code_objects; }
  const std::vector<Kernel>& kernels() const override { return trace_.kernels; }
  const std::vector<Graph>& graphs() const override { return trace_.graphs; }
  const std::vector<Site>& sites() const override { return trace_.sites; }
  const std::vector<Event>& events() const override { return trace_.events; }
  const std::vector<Finding>& findings() const override { return trace_.findings; }
  const Statistics& statistics() const override { return trace_.statistics; }
  bool sealed() const override { return trace_.sealed; }
  const std::string& torn_reason() const override { return trace_.torn_reason; }

  bool complete() const override {
    return std::ranges::none_of(trace_.findings, [](const Finding& finding) {
      return finding.kind == FindingKind::kIncomplete;
    });
  }

  Result<std::span<const std::byte>> blob(BlobId id) const override {
    try {
      return blobs_.get(id);
    } catch (const std::bad_alloc&) {
      return fail(Status::kOutOfMemory, "no memory for a blob");
    }
  }

  Result<void> read_blob(BlobId id, std::span<std::byte> out) const override {
    return blobs_.read(id, out);
  }

  Result<std::vector<std::byte>> content(const Content& content) const override {
    if (!content.stored) {
      return fail(Status::kNotFound,
                  fmt::format("{} bytes are known by their hash only", content.size_bytes));
    }
    try {
      if (content.size_bytes > physical_memory_bytes()) {
        return fail(Status::kOutOfMemory,
                    fmt::format("{} bytes exceed the memory of this machine", content.size_bytes));
      }
      std::vector<std::byte> bytes(content.size_bytes, std::byte{content.fill});
      if (content.blob) GFXGRAPH_TRY(blobs_.read(content.blob, bytes));
      return bytes;
    } catch (const std::bad_alloc&) {
      return fail(Status::kOutOfMemory, fmt::format("no memory for {} bytes", content.size_bytes));
    }
  }

  Result<void> visit_content(const Content& given, const Visitor& visit) const override {
    try {
      if (given.stored && given.blob) return blobs_.visit(given.blob, visit);
      GFXGRAPH_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, content(given));
      return visit(0, bytes);
    } catch (const std::bad_alloc&) {
      return fail(Status::kOutOfMemory, "no memory for a chunk");
    }
  }

 private:
  MappedFile mapped_;
  std::unique_ptr<AlignedBytes> copy_;
  LoadedTrace trace_;
  BlobStore blobs_;
};

Result<std::shared_ptr<const Trace>> make_trace(std::span<const std::byte> bytes, MappedFile mapped,
                                                std::unique_ptr<AlignedBytes> copy,
                                                const ReadOptions& options) {
  GFXGRAPH_ASSIGN_OR_RETURN(LoadedTrace trace, load_trace(bytes, options));
  return std::make_shared<const FileTrace>(std::move(mapped), std::move(copy), std::move(trace),
                                           options);
}

Result<std::shared_ptr<const Trace>> make_trace(MappedFile mapped, const std::string& name,
                                                const ReadOptions& options) {
  const std::span<const std::byte> bytes = mapped.bytes();
  Result<std::shared_ptr<const Trace>> trace =
      make_trace(bytes, std::move(mapped), nullptr, options);
  if (!trace) return with_context(std::move(trace).error(), name);
  return trace;
}

}  // namespace

Result<std::shared_ptr<const Trace>> Trace::open(const std::filesystem::path& path,
                                                 const ReadOptions& options) {
  try {
    Result<MappedFile> mapped = MappedFile::open(path);
    if (!mapped) {
      const std::filesystem::path partial = path.string() + ".partial";
      std::error_code ignored;
      if (mapped.error().status == Status::kNotFound && std::filesystem::exists(partial, ignored)) {
        mapped.error().message += fmt::format(
            "; {} is there, a recording that still runs or has died: `gfxgraph recover` makes a "
            "trace of it",
            partial.string());
      }
      return tl::unexpected<Error>(std::move(mapped).error());
    }
    return make_trace(std::move(*mapped), path.string(), options);
  } catch (const std::bad_alloc&) {
    return fail(Status::kOutOfMemory, fmt::format("{}: no memory for it", path.string()));
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
    return fail(Status::kInvalidArgument,
                fmt::format("the trace's bytes do not begin at a multiple of {}: align the array "
                            "that holds them",
                            kBytesAlignment));
  }
  try {
    return make_trace(bytes, {}, nullptr, options);
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
    return make_trace(copied, {}, std::move(copy), options);
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
