// gfxgraph-record --flight-recorder: the recording is a row of segments, each of them a trace that
// replays alone, of which the last two are there. Whether one is over; what they share.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "format/trace.h"
#include "recorder/queue/call_gate.h"
#include "recorder/tool/segment_files.h"

namespace gfxgraph::recorder {

// Launches, or bytes of the file; the other one is 0.
struct SegmentSize {
  uint64_t launches = 0;
  uint64_t bytes = 0;
};
// "5000", or "64MiB", "512KiB", "2GiB". kInvalidArgument: what is wrong with it.
Result<SegmentSize> parse_segment_size(std::string_view text);

class Segments {
 public:
  Segments(SegmentSize size, bool keep_all) : size_(size), keep_all_(keep_all) {}

  // Any thread. Whether the next one is to begin before the launch that is about to be made.
  bool over() noexcept;
  void count(uint64_t launches) noexcept { launches_.fetch_add(launches); }
  // A moment for it was looked for and not found. `waited_ns`: what the program lost by that.
  void put_off(uint64_t waited_ns) noexcept;
  // Once: it was put off for so long that the file is several times as large as it should be.
  bool too_long() noexcept;
  // From here on a new one is recorded. `keep`: the one before stays.
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
