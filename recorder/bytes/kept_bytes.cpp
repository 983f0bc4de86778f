#include "recorder/bytes/kept_bytes.h"

#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "base/file/file.h"
#include "base/result.h"
#include "recorder/lock_order.h"

namespace gfxgraph::recorder {
namespace {

constexpr uint64_t kGrain = 64;  // offsets in the file are multiples of it

uint64_t rounded(uint64_t size_bytes) { return (size_bytes + kGrain - 1) / kGrain * kGrain; }

}  // namespace

struct ByteStore::Inside {
  Mutex<LockRank::kLast> mutex;
  std::filesystem::path folder;
  const uint64_t most_in_memory;
  uint64_t in_memory = 0;
  File file;  // opened once; then used without the lock
  uint64_t file_bytes = 0;
  std::map<uint64_t, uint64_t> holes;  // holes in the file: offset -> size, never adjacent
  std::optional<std::string> error;
  std::atomic<bool> failed{false};  // there is an error that no caller has taken yet
  bool unusable = false;            // the file cannot be created
  std::atomic<bool> abandoned{false};

  explicit Inside(uint64_t most) : most_in_memory(most) {}

  void fail(const Error& why) {
    const std::lock_guard lock(mutex);
    if (!failed.load(std::memory_order_relaxed)) error = why.message;
    failed.store(true, std::memory_order_release);
  }

  // A place in the file for bytes that are not kept in memory.
  std::optional<uint64_t> take_place(uint64_t size_bytes) {
    const std::lock_guard lock(mutex);
    if (!file.is_open()) {
      if (unusable || abandoned) return std::nullopt;
      Result<File> made = folder.empty() ? File::open_unnamed(".") : File::open_unnamed(folder);
      if (!made) {
        unusable = true;
        if (!failed.load(std::memory_order_relaxed)) error = made.error().message;
        failed.store(true, std::memory_order_release);
        return std::nullopt;
      }
      file = std::move(*made);
    }
    const uint64_t size = rounded(size_bytes);
    for (auto hole = holes.begin(); hole != holes.end(); ++hole) {
      if (hole->second < size) continue;
      const uint64_t offset = hole->first;
      const uint64_t left = hole->second - size;
      holes.erase(hole);
      if (left != 0) holes[offset + size] = left;
      return offset;
    }
    return std::exchange(file_bytes, file_bytes + size);
  }

  void give_place_back(uint64_t offset, uint64_t size_bytes) {
    const std::lock_guard lock(mutex);
    uint64_t begin = offset;
    uint64_t end = offset + rounded(size_bytes);
    auto next = holes.lower_bound(offset);
    if (next != holes.end() && next->first == end) {
      end += next->second;
      next = holes.erase(next);
    }
    if (next != holes.begin() && std::prev(next)->first + std::prev(next)->second == begin) {
      begin = std::prev(next)->first;
      holes.erase(std::prev(next));
    }
    if (end != file_bytes) {
      holes[begin] = end - begin;
      return;
    }
    file_bytes = begin;
    (void)file.truncate(begin);  // if this fails, only disk space is lost
  }
};

// In memory, or in the file.
struct KeptBytes::Extent {
  explicit Extent(std::shared_ptr<ByteStore::Inside> in) : store(std::move(in)) {}
  ~Extent() {
    if (store->abandoned.load(std::memory_order_relaxed)) return;
    if (offset) {
      store->give_place_back(*offset, size_bytes);
      return;
    }
    const std::lock_guard lock(store->mutex);
    store->in_memory -= counted;
  }
  Extent(const Extent&) = delete;
  Extent& operator=(const Extent&) = delete;

  bool write(uint64_t at, std::span<const std::byte> from) {
    if (!offset) {
      std::ranges::copy(from, memory.begin() + static_cast<ptrdiff_t>(at));
      return true;
    }
    const Result<void> done = store->file.write_at(*offset + at, from);
    if (!done) store->fail(done.error());
    return done.has_value();
  }
  bool read(uint64_t at, std::span<std::byte> to) const {
    if (!offset) {
      std::memcpy(to.data(), memory.data() + at, to.size());
      return true;
    }
    const Result<void> done = store->file.read_at(*offset + at, to);
    if (!done) store->fail(done.error());
    return done.has_value();
  }

  const std::shared_ptr<ByteStore::Inside> store;
  uint64_t size_bytes = 0;
  uint64_t counted = 0;            // of the store's memory
  std::optional<uint64_t> offset;  // in the file
  std::vector<std::byte> memory;
};

bool KeptBytes::read(uint64_t offset, std::span<std::byte> to) const {
  return to.empty() || (extent_ && extent_->read(begin_ + offset, to));
}

bool KeptBytes::write(uint64_t offset, std::span<const std::byte> from) {
  if (from.empty()) return true;
  if (!extent_) return false;
  if (extent_.use_count() != 1) {
    ByteStore store(extent_->store);
    KeptBytes own = store.keep(size_bytes_, reader());
    if (!own) return false;
    *this = std::move(own);
  }
  // Other threads may have read the bytes until just now: releasing a share acquires what they did
  // before they released theirs. A fence would suffice, but the thread sanitizer does not support
  // fences.
  std::shared_ptr<Extent>(extent_).reset();
  return extent_->write(begin_ + offset, from);
}

KeptBytes KeptBytes::part(uint64_t offset, uint64_t size_bytes) const {
  KeptBytes part = *this;
  part.begin_ += offset;
  part.size_bytes_ = size_bytes;
  return part;
}

std::vector<std::byte> KeptBytes::all() const {
  std::vector<std::byte> bytes(size_bytes_);
  if (!read(0, bytes)) bytes.clear();
  return bytes;
}

ByteStore::ByteStore(uint64_t most_in_memory) : inside_(std::make_shared<Inside>(most_in_memory)) {}

void ByteStore::place_in(const std::filesystem::path& folder) {
  const std::lock_guard lock(inside_->mutex);
  std::error_code ignored;
  inside_->folder = std::filesystem::absolute(folder, ignored);
}

KeptBytes ByteStore::keep(std::span<const std::byte> bytes) {
  return keep(bytes.size(), [&](uint64_t offset, std::span<std::byte> piece) {
    std::ranges::copy(bytes.subspan(offset, piece.size()), piece.begin());
    return true;
  });
}

KeptBytes ByteStore::keep(uint64_t size_bytes, const ReadPiece& read) {
  if (size_bytes == 0) return {};
  KeptBytes kept;
  kept.size_bytes_ = size_bytes;
  kept.extent_ = std::make_shared<KeptBytes::Extent>(inside_);
  KeptBytes::Extent& extent = *kept.extent_;
  extent.size_bytes = size_bytes;
  {
    const std::lock_guard lock(inside_->mutex);
    if (size_bytes <= inside_->most_in_memory - inside_->in_memory) extent.counted = size_bytes;
    inside_->in_memory += extent.counted;
  }
  const bool in_memory = extent.counted != 0;
  if (in_memory) {
    extent.memory.resize(size_bytes);
  } else if (extent.offset = inside_->take_place(size_bytes); !extent.offset) {
    return {};
  }
  std::vector<std::byte> piece(in_memory ? 0 : std::min<uint64_t>(size_bytes, kPieceBytes));
  for (uint64_t at = 0; at < size_bytes;) {
    const size_t size = std::min<uint64_t>(size_bytes - at, kPieceBytes);
    const std::span<std::byte> room =
        in_memory ? std::span(extent.memory).subspan(at, size) : std::span(piece).first(size);
    if (!read(at, room)) return {};
    if (!in_memory && !extent.write(at, room)) return {};
    at += size;
  }
  return kept;
}

bool HashedBytes::holds(std::span<const std::byte> others) const {
  return bytes.size() == others.size() && hash == XXH3_64bits(others.data(), others.size());
}

void HashedBytes::write(uint64_t offset, std::span<const std::byte> from) {
  if (!bytes.write(offset, from)) bytes = {};
  const std::vector<std::byte> now = bytes.all();
  hash = XXH3_64bits(now.data(), now.size());
}

HashedBytes ByteStore::keep_hashed(std::span<const std::byte> bytes) {
  return {keep(bytes), XXH3_64bits(bytes.data(), bytes.size())};
}

std::optional<std::string> ByteStore::take_error() {
  const std::lock_guard lock(inside_->mutex);
  inside_->failed.store(false, std::memory_order_relaxed);
  return std::exchange(inside_->error, std::nullopt);
}

bool ByteStore::failed() const noexcept { return inside_->failed.load(std::memory_order_acquire); }

void ByteStore::abandon() noexcept { inside_->abandoned.store(true); }

}  // namespace gfxgraph::recorder
