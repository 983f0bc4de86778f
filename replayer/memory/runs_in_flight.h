// Which runs of a step have ended. Runs have numbers, in the order of their submission, and end in
// this order: the caller orders those on several streams. Memory that they read may be written
// again behind the last one that reads it (rotation.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/result.h"
#include "replayer/abi/hip_library.h"

namespace gfxgraph::replayer {

// Not thread-safe.
class RunsInFlight {
 public:
  RunsInFlight() = default;
  virtual ~RunsInFlight() = default;
  RunsInFlight(const RunsInFlight&) = delete;
  RunsInFlight& operator=(const RunsInFlight&) = delete;

  uint64_t last() const { return last_; }         // submitted; 0: none
  hip::Stream stream() const { return stream_; }  // of the last one
  // Work of this run is about to be submitted, or is.
  void begin(uint64_t run, hip::Stream stream) noexcept {
    last_ = run;
    stream_ = stream;
  }
  void all_have_ended() noexcept { ended_ = last_; }
  // As far as is known without a call.
  bool has_ended(uint64_t run) const { return run <= ended_; }
  // Asks the device, once after each run: callers may have waited for their stream themselves.
  bool ask() {
    if (!has_ended(last_) && std::exchange(asked_, last_) != last_ && look()) all_have_ended();
    return has_ended(last_);
  }
  // Waits until the run has ended.
  Result<void> wait_for(uint64_t run) {
    if (has_ended(run)) return {};
    GFXGRAPH_ASSIGN_OR_RETURN(ended_, block(run));
    return {};
  }
  // From now on wait_for() can wait for the last run without those that follow it.
  virtual Result<void> fence() { return {}; }

 private:
  virtual bool look() = 0;  // whether the last run has ended
  // The run that has ended then: this one, or a later one.
  virtual Result<uint64_t> block(uint64_t run) = 0;

  uint64_t last_ = 0;
  uint64_t ended_ = 0;  // this one and those before it have ended
  uint64_t asked_ = 0;  // the last one when the device was asked
  hip::Stream stream_ = nullptr;
};

// Runs on streams of HIP, with events as fences.
class StreamRuns final : public RunsInFlight {
 public:
  explicit StreamRuns(const HipLibrary& library) : library_(library) {}
  ~StreamRuns() override;

  void begin(hip::Stream stream) noexcept { RunsInFlight::begin(last() + 1, stream); }
  Result<void> fence() override;

 private:
  struct Fence {
    hip::Event event = nullptr;
    uint64_t run = 0;  // behind which it was recorded
  };
  bool look() override;
  Result<uint64_t> block(uint64_t run) override;

  const HipLibrary& library_;    // of the session, which outlives it
  std::array<Fence, 4> fences_;  // as many as a rotation has places
  size_t oldest_ = 0;
};

}  // namespace gfxgraph::replayer
