// A piece of work (gfxgraph_piece_t), and the way that its runs take: its step, or the caller's
// function.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <string_view>

#include "replayer/flow/flow_device.h"
#include "replayer/flow/work_counts.h"
#include "replayer/production/bucket.h"

namespace gfxgraph::replayer {

// Runs, warm() and recapture() follow each other by a lock; the rest takes none of a run.
class CapturedWork {
 public:
  struct Memory {  // that the function gets
    void* const* addresses = nullptr;
    uint64_t rows = 0;
  };

  // The name is for messages: "branch x".
  CapturedWork(std::shared_ptr<const FlowDevice> device, std::string name, uint32_t capture_ms);
  // Waits for its runs.
  ~CapturedWork();
  CapturedWork(const CapturedWork&) = delete;
  CapturedWork& operator=(const CapturedWork&) = delete;

  // Checks and takes what it does; once.
  Result<void> use(const gfxgraph_piece_t& piece);
  void use(const Memory& memory) { memory_ = memory; }

  // On the device. Counts the run.
  Result<void> run(hip::Stream stream, WorkResult& result);
  // Captures, unless that is done; then the work is done once.
  Result<void> warm(hip::Stream stream);
  Result<void> recapture();

  const std::string& name() const { return name_; }
  uint32_t next_way() const;
  // What its steps allocate.
  uint64_t device_bytes() const { return device_bytes_; }
  const WorkCounts& counts() const { return counts_; }
  std::string reason(uint32_t way) const { return reasons_.of(way); }

 private:
  Result<void> submit(hip::Stream stream, WorkResult& result);
  Result<void> call(hip::Stream stream, bool captured, WorkResult& result);
  Result<void> capture(hip::Stream stream, WorkResult& result);
  Result<void> run_step(hip::Stream stream, WorkResult& result);
  Result<void> run_own_step(hip::Stream stream);
  bool submitted_nothing(uint32_t way, const Error& error) const;
  void prepare_from(uint32_t way);
  void give_up(uint32_t way, uint32_t fall, const Error& why);
  void give_up_all(uint32_t fall, const Error& why);
  void count_run(const Result<void>& ran, const WorkResult& result, uint64_t nanoseconds);

  std::shared_ptr<const FlowDevice> device_;
  const std::string name_;
  const uint32_t capture_ms_;
  gfxgraph_piece_t piece_{};
  Memory memory_;
  std::mutex mutex_;
  StreamOrder order_;
  std::atomic<bool> captured_ = false;  // or will never be
  struct Way {
    uint32_t first = GFXGRAPH_WAY_GRAPH;
    std::atomic<uint32_t> now{GFXGRAPH_WAY_GRAPH};
    uint32_t fall = GFXGRAPH_FALL_NONE;  // why the first one was given up
  } way_;
  BucketStep step_;
  struct OwnStep {  // the caller's
    bool is_one_graph = false;
    uint64_t advanced = 0;
  } own_;
  std::atomic<uint64_t> device_bytes_{0};
  WorkCounts counts_;
  Reasons reasons_;
};

}  // namespace gfxgraph::replayer
