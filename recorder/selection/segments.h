// gfxgraph-record --flight-recorder: the recording is a sequence of segments, each a trace that
// replays alone, of which the last two are kept. Decides when a segment is over, and holds their
// shared state.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "format/trace.h"
#include "recorder/contract/segment_files.h"
#include "recorder/queue/call_gate.h"

namespace gfxgraph::recorder {

// Launches, or bytes of the file; the other one is 0.
struct SegmentSize {
  uint64_t launches = 0;
  uint64_t bytes = 0;
};
// "5000", or "64MiB", "512KiB", "2GiB". kInvalidArgument: the message has the reason.
Result<SegmentSize> parse_segment_size(std::string_view text);

class Segments {
 public:
  Segments(SegmentSize size, bool keep_all) : size_(size), keep_all_(keep_all) {}

  // Any thread. Whether the next one should begin before the launch that is about to be made.
  bool over() noexcept;
  void count(uint64_t launches) noexcept { launches_.fetch_add(launches); }
  // A moment for it was searched for and not found. `waited_ns`: the time that the program lost.
  void put_off(uint64_t waited_ns) noexcept;
  // Once: it was delayed so long that the file is several times its intended size.
  bool too_long() noexcept;
  // A new one is recorded from here on. `keep`: the previous one stays.
  void begin() noexcept;
  bool keeps_all() const noexcept { return keep_all_; }
  std::string text() const;  // its size

  CallGate gate;
  SegmentFiles files;
  std::string partial;              // the file that is being written
  format::Environment environment;  // of all

 private:
  static constexpr uint64_t kTooLong = 4;
  static constexpr uint64_t kLaunchesBetweenLooks = 16;  // at the size of the file
  const SegmentSize size_;
  const bool keep_all_;
  std::atomic<uint64_t> launches_{0};
  std::atomic<uint64_t> look_at_{0};     // so many launches: not before
  std::atomic<uint64_t> not_before_{0};  // this time, after a wait for the device in vain
  std::atomic<bool> told_{false};
};

}  // namespace gfxgraph::recorder
