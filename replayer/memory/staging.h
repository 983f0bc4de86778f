// Pinned memory for sources and destinations of copies that lie outside of HIP's memory. Its size
// is bounded: copies that get no place of their own share a ring.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "replayer/memory/memory_source.h"
#include "replayer/program/program.h"

namespace gfxgraph::replayer {

// Which copies of a program have a place of their own, where their bytes stay between runs: all of
// them, if they fit; else the smaller ones, in half of the bound, and the rest shares a ring in the
// other half.
struct StagingPlan {
  uint64_t resident_bytes = 0;
  uint64_t ring_bytes = 0;      // 0: no ring is needed
  uint64_t received_bytes = 0;  // of copies to the host that go through it, kept in plain memory
  uint64_t largest_resident = UINT64_MAX;

  // Bytes of pinned memory.
  uint64_t pinned_bytes() const { return resident_bytes + ring_bytes; }
  uint64_t host_bytes() const { return pinned_bytes() + received_bytes; }
};

// How much a copy takes, to kStagingAlignment; 0: both of its ends are HIP's.
uint64_t staging_bytes(const format::Copy& copy);
// kCorrupt: the copies move more than an address space has.
Result<StagingPlan> plan_staging(const Program& program, uint64_t most_bytes);

// Pinned memory that copies have in turns. Not thread-safe; work that uses it has ended before it
// is destroyed.
class StagingRing {
 public:
  explicit StagingRing(const MemorySource& source) : source_(source) {}
  ~StagingRing();
  StagingRing(const StagingRing&) = delete;
  StagingRing& operator=(const StagingRing&) = delete;

  Result<void> allocate(uint64_t size_bytes);
  // Several of these can be in flight at a time.
  uint64_t largest_piece() const { return size_bytes_ / 4; }
  // A place for `size_bytes`, at most largest_piece(). Waits only if all of the ring is in flight
  // there, and for the copies that have this part of it.
  hip::Error take(uint64_t size_bytes, uint8_t*& place) noexcept;
  // What take() gave last is used by what `stream` holds by now. `received`: where its bytes go
  // then; null: nowhere.
  hip::Error given_to(hip::Stream stream, uint8_t* received) noexcept;
  // All copies have ended: everything received goes where it belongs.
  void collect() noexcept;

 private:
  struct Piece {
    uint64_t begin = 0;
    uint64_t end = 0;
    uint8_t* received = nullptr;
    hip::Event event = nullptr;  // behind the copy
  };
  static constexpr size_t kMostPieces = 64;

  Piece& piece(size_t number) { return pieces_[(oldest_ + number) % kMostPieces]; }
  bool in_the_way(uint64_t begin, uint64_t end);
  void retire_oldest() noexcept;

  const MemorySource& source_;  // of the session, which outlives it
  uint8_t* memory_ = nullptr;
  uint64_t size_bytes_ = 0;
  uint64_t next_ = 0;  // behind the piece taken last
  std::array<Piece, kMostPieces> pieces_;
  size_t oldest_ = 0;  // in flight, or not collected
  size_t count_ = 0;
};

// Parts of a copy in the order of its packed bytes: whole rows, or parts of one.
class CopyBlocks {
 public:
  // With at most `most_bytes` each.
  CopyBlocks(uint64_t width, uint64_t height, uint64_t depth, uint64_t most_bytes);
  // No: that was the last one.
  bool next();

  uint64_t slice = 0;
  uint64_t row = 0;     // in the slice
  uint64_t column = 0;  // byte in the row; not 0 only where rows is 1
  uint64_t width = 0;   // bytes
  uint64_t rows = 0;
  uint64_t packed_offset = 0;
  uint64_t bytes() const { return width * rows; }

 private:
  uint64_t whole_width_, height_, depth_, most_bytes_;
};

}  // namespace gfxgraph::replayer
