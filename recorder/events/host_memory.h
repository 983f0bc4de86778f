// Sources and results of copies that lie in no allocation. Called only with ranges that HIP has
// accepted, or is about to check.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "format/box.h"
#include "recorder/bytes/kept_bytes.h"
#include "recorder/objects/raw_actions.h"

namespace gfxgraph::recorder {

// The rows of a copy's box at one end, as if they were packed: read piece by piece.
class HostRows {
 public:
  // Returns nothing if the sizes overflow.
  static std::optional<HostRows> of(const RawCopy& raw, const RawCopyEnd& end);
  uint64_t size_bytes() const { return box_.packed_bytes(); }
  // Returns false if any byte is not mapped; never causes a fault in the program.
  bool read(uint64_t offset, std::span<std::byte> piece) const;

 private:
  uint64_t address_ = 0;
  format::Box box_;
};

format::Box box_of(const RawCopy& raw, const RawCopyEnd& end);
// Bytes from the first to the last one that the copy touches at one end.
uint64_t copy_extent(const RawCopy& raw, const RawCopyEnd& end);
// Returns all of them; none if the sizes overflow or any byte is not mapped.
KeptBytes keep_host_rows(ByteStore& store, const RawCopy& raw, const RawCopyEnd& end);
KeptBytes keep_host_bytes(ByteStore& store, uint64_t address, uint64_t size_bytes);

}  // namespace gfxgraph::recorder
