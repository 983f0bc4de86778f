// From recorded addresses to replay addresses, and back for comparing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "format/trace.h"

namespace gfxgraph::replayer {

// Where an allocation was and where it is now. Host addresses are 0 where the host cannot see it.
struct Placement {
  uint64_t size_bytes = 0;
  uint64_t recorded_device = 0;
  uint64_t recorded_host = 0;
  uint64_t replay_device = 0;
  uint64_t replay_host = 0;
};

// Reads and writes the 8-byte little-endian word at `offset`; the caller has checked the range.
uint64_t load_word(std::span<const std::byte> bytes, uint64_t offset) noexcept;
void store_word(std::span<std::byte> bytes, uint64_t offset, uint64_t word) noexcept;

class AddressMap {
 public:
  AddressMap() = default;
  // Index = allocation id - 1.
  // With `keep_ambiguous` the words of ambiguous relocations keep their recorded value.
  explicit AddressMap(std::vector<Placement> placements, bool keep_ambiguous = false);

  // Says where an allocation stands from now on. Allocates nothing.
  void place(format::AllocationId id, uint64_t device, uint64_t host) noexcept;
  const Placement& placement(format::AllocationId id) const { return placements_[id - 1]; }
  size_t size() const { return placements_.size(); }

  // The replay address of a relocated word. Memory that host and device know by two addresses is
  // followed by the one that `recorded_word` held.
  uint64_t relocated(const format::Relocation& relocation, uint64_t recorded_word) const noexcept;
  // What the recording held where the replay holds `replay_word`; the word itself when that is not
  // the address that the relocation asks for. Addresses are recycled, so the recording may know one
  // by another allocation than the replay does: any that both lie in, at one offset, will do.
  uint64_t unrelocated(const format::Relocation& relocation, uint64_t replay_word) const noexcept;
  // Whether `replay_word` is the address here of what the recording knew by `recorded_word`: both
  // lie in one allocation (or one past its end), at the same offset.
  bool denotes(uint64_t replay_word, uint64_t recorded_word) const noexcept;
  // The same for what a kernel makes of an argument with Relocation::outside: both lie beside one
  // allocation, or in it. Says nothing of a recorded word that lay in live memory.
  bool denotes_outside(uint64_t replay_word, uint64_t recorded_word) const noexcept;

  // Whether allocations that share bytes here did so in the recording, at the same distance.
  bool shares_as_recorded() const noexcept;
  // Whether any of these bytes belong to an allocation.
  bool holds_any(uint64_t address, uint64_t size_bytes) const noexcept;

  // The most significant byte of every `replay_word` for which the two above may hold; empty: it is
  // not the same one. For skipping memory that can hold no address.
  std::optional<std::byte> top_byte() const noexcept;

  // Relocates `bytes` in place. kCorrupt when a relocation lies outside of them; `where` names
  // them.
  Result<void> apply(std::span<std::byte> bytes, const std::vector<format::Relocation>& relocations,
                     const std::string& where) const;
  // The reverse, for hashes of memory read back.
  Result<void> unapply(std::span<std::byte> bytes,
                       const std::vector<format::Relocation>& relocations,
                       const std::string& where) const;

 private:
  void sort_ranges();
  Result<void> check(size_t size, const format::Relocation& relocation,
                     const std::string& where) const;
  bool fits_near(uint64_t replay_word, uint64_t recorded_word, uint64_t reach) const noexcept;

  // Where memory stands here, as device and host know it. By address.
  struct Range {
    uint64_t begin = 0;
    uint64_t size_bytes = 0;
    uint64_t recorded = 0;
    // The first of those that overlap each other up to here; its place in ranges_.
    size_t overlaps_from = 0;
  };
  std::vector<Placement> placements_;
  std::vector<Range> ranges_;
  uint64_t low_ = 0, high_ = 0;  // bounds of ranges_, with kOutsideMostBytes on both sides
  bool keep_ambiguous_ = false;
};

}  // namespace gfxgraph::replayer
