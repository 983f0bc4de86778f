// Applies events other than launches to device memory.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "check/memory/device_memory.h"
#include "check/memory/images.h"
#include "format/box.h"
#include "format/read/earlier_contents.h"
#include "format/read/reader.h"

namespace gfxgraph::check {

// Comparison of final buffer contents with the recorded ones.
struct Comparison {
  uint64_t compared = 0;
  uint64_t equal = 0;
  std::string first_different;
};

class MemoryEvents {
 public:
  // All arguments must outlive this. If an event fails with an exhausted budget, it was not
  // executed.
  MemoryEvents(const format::Trace& trace, DeviceMemory& memory, Images& images, Budget& budget,
               std::vector<std::string>& notes)
      : trace_(trace),
        memory_(memory),
        images_(images),
        budget_(budget),
        notes_(notes),
        earlier_(trace) {}

  // Arrays, and copies from and to them: as Images::placed() has them.
  Result<void> apply(const format::AllocationBegin& action);
  Result<void> apply(const format::AllocationEnd& action);
  Result<void> apply(const format::HostWrite& action);
  Result<void> apply(const format::Copy& action);
  Result<void> apply(const format::Memset& action);

  // A variable whose code was loaded so many bytes (modulo 2^64) behind its recorded address. From
  // now on the trace's words that lead there, or into its code, have the addresses of this run.
  void variable_moved(format::AllocationId variable, uint64_t distance) {
    if (distance != 0) moved_[variable] = distance;
  }
  // The launch with such arguments; nothing: it has none.
  std::optional<format::Launch> moved(const format::Launch& launch) const;

  const Comparison& comparison() const { return comparison_; }

  // The first bytes of a live allocation, of an array its texels without gaps: in `room`, or where
  // they are.
  Result<std::span<const std::byte>> contents(format::AllocationId id, uint64_t size_bytes,
                                              std::vector<std::byte>& room);
  // What a copy to the host takes, row behind row.
  Result<std::span<const std::byte>> taken(const format::Copy& copy, std::vector<std::byte>& room);

 private:
  Result<void> copy_from_host(const format::Copy& action, const format::Box& target,
                              std::span<std::byte> bytes);
  // Rows without gaps.
  Result<void> fill_from_host(const format::Content& content, const format::Box& target,
                              std::span<std::byte> bytes);
  Result<void> copy_box(const format::Box& target, std::span<std::byte> to,
                        const format::Box& source, std::span<const std::byte> from);
  template <typename Visit>
  Result<void> for_each_row(const format::Box& box, const Visit& visit);
  Result<void> write(format::AllocationId id, uint64_t offset, const format::Content& content,
                     const char* what);
  Result<void> write_array(format::AllocationId id, const ArrayLayout& layout,
                           const format::Content& content);
  void note_unknown(format::AllocationId id, const char* what);
  // From recorded addresses to those of this run, or back.
  bool leads_to_moved(const std::vector<format::Relocation>& words) const;
  void move_words(std::span<std::byte> bytes, const std::vector<format::Relocation>& words,
                  bool back) const;

  // Whether all differing bytes were written by nobody: here they are zero, in the recorded run
  // they kept their earlier contents. If only the hash is known: whether that is possible.
  Result<bool> unwritten_alone(format::AllocationId id, const format::Content& post,
                               std::span<const std::byte> bytes) const;

  const format::Trace& trace_;
  DeviceMemory& memory_;
  Images& images_;
  Budget& budget_;
  std::vector<std::string>& notes_;
  Comparison comparison_;
  uint64_t unknown_contents_ = 0;
  std::unordered_map<format::AllocationId, uint64_t> addresses_;  // of this run
  std::unordered_map<format::AllocationId, uint64_t> moved_;      // distance, of variables
  format::EarlierContents earlier_;
  std::unordered_set<format::AllocationId> unwritten_;  // allocations that began unwritten
};

}  // namespace gfxgraph::check
