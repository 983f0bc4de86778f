// A piece of work (gfxgraph_piece_t), and the way that its runs take: its step, or the caller's
// function.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <string_view>

#include "replayer/flow/flow_device.h"
#include "replayer/production/ways/ways.h"

namespace gfxgraph::replayer {

// Runs, warm() and recapture() follow each other by a lock; the rest takes none of a run.
class CapturedWork final : private WayOwner {
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

  std::string name() const override { return name_; }
  uint32_t next_way() const { return ways_.next(); }
  // What its steps allocate.
  uint64_t device_bytes() const { return device_bytes_; }
  const WorkCounts& counts() const { return counts_; }
  std::string reason(uint32_t way) const { return ways_.reason(way); }

 private:
  // WayOwner
  Result<void> call_work(hip::Stream stream, bool captured, WorkResult& result) override;
  std::optional<Refusal> accept(const CapturedStep& step, uint64_t device_bytes) override;
  void released() noexcept override { device_bytes_ = 0; }
  bool ended_by_caller() const noexcept override { return false; }
  void fell(uint32_t, uint32_t, uint32_t, const std::string&) override {}  // it is counted

  Result<void> run_alone(hip::Stream stream, WorkResult& result);

  std::shared_ptr<const FlowDevice> device_;
  const std::string name_;
  gfxgraph_piece_t piece_{};
  Memory memory_;
  std::mutex mutex_;
  StreamOrder order_;
  std::atomic<uint64_t> device_bytes_{0};
  WorkCounts counts_;
  WaySettings settings_;
  Ways ways_;
};

}  // namespace gfxgraph::replayer
