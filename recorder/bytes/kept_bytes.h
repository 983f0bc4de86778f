// Keeps bytes of the program that the recorder needs again later: memory before a host function or
// a kernel could write it, sources of copies that may still be written. Programs have gigabytes of
// such memory: all but a small part is in an unnamed file beside the trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gfxgraph::recorder {

// Reads or makes the bytes from `offset` on. False: they are not available.
using ReadPiece = std::function<bool(uint64_t offset, std::span<std::byte> piece)>;

class ByteStore;

// A value: copies are cheap, and writes to one are not visible in the others. A single object is
// not thread-safe.
class KeptBytes {
 public:
  KeptBytes() = default;
  // Whether there are any: none for an empty span, or if the store was full.
  explicit operator bool() const noexcept { return extent_ != nullptr; }
  uint64_t size() const noexcept { return size_bytes_; }
  // False: the store's file cannot be read; `to` is then undefined.
  bool read(uint64_t offset, std::span<std::byte> to) const;
  // False: there is no space, and nothing has changed.
  bool write(uint64_t offset, std::span<const std::byte> from);
  // [offset, offset + size_bytes) of them.
  KeptBytes part(uint64_t offset, uint64_t size_bytes) const;
  // Of up to 64 KiB; empty: they cannot be read.
  std::vector<std::byte> all() const;
  ReadPiece reader() const {
    return [self = *this](uint64_t offset, std::span<std::byte> piece) {
      return self.read(offset, piece);
    };
  }

 private:
  friend class ByteStore;
  struct Extent;
  std::shared_ptr<Extent> extent_;
  uint64_t begin_ = 0;  // in the extent
  uint64_t size_bytes_ = 0;
};

// Such bytes with their hash (XXH3), which identifies equal ones.
struct HashedBytes {
  KeptBytes bytes;
  uint64_t hash = 0;
  bool holds(std::span<const std::byte> others) const;
  // Of up to 64 KiB. None are left if there is no space.
  void write(uint64_t offset, std::span<const std::byte> from);
};

// Thread-safe. Its results may outlive it.
class ByteStore {
 public:
  // Contents are handled in pieces of at most this many bytes.
  static constexpr size_t kPieceBytes = size_t{256} << 10;
  // In memory, for all kept bytes; the rest is in the file.
  static constexpr uint64_t kMostInMemory = uint64_t{48} << 20;

  explicit ByteStore(uint64_t most_in_memory = kMostInMemory);
  // The folder of the file. Before it is set there is none.
  void place_in(const std::filesystem::path& folder);

  KeptBytes keep(std::span<const std::byte> bytes);
  HashedBytes keep_hashed(std::span<const std::byte> bytes);
  // As `read` returns them, in pieces and in order. Empty: it failed, or there is no space.
  KeptBytes keep(uint64_t size_bytes, const ReadPiece& read);

  // Why something could not be kept or read again, for the first time since the last call.
  std::optional<std::string> take_error();
  bool failed() const noexcept;
  // In a forked child: the file is the parent's. Takes no lock.
  void abandon() noexcept;

 private:
  friend class KeptBytes;
  struct Inside;
  explicit ByteStore(std::shared_ptr<Inside> inside) : inside_(std::move(inside)) {}
  std::shared_ptr<Inside> inside_;
};

}  // namespace gfxgraph::recorder
