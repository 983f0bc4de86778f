// One piece of work over several sets of buffers, whose runs overlap (gfxgraph_pipeline_t).
#pragma once

#include <array>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>

#include "replayer/flow/captured_work.h"
#include "replayer/production/pool_buffers.h"

namespace gfxgraph::replayer {

struct PipelineRun {
  Run run;  // its stream is that of the caller
  bool waits = true;
  bool behind_stream = false;
};

// Thread-safe but for create(). Submissions follow each other by a lock, which results do not take.
class Pipeline {
 public:
  explicit Pipeline(std::shared_ptr<const FlowDevice> device) : device_(std::move(device)) {}
  // Waits for its runs.
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;
  Result<void> create(const gfxgraph_pipeline_options_t& options);

  // On the device, as all that calls HIP.
  Result<void> submit(const PipelineRun& run, uint64_t& number);
  // Captures each set that is not captured yet, over zeros.
  Result<void> warm();
  // The run's own error, or kNotFound if there is none.
  Result<void> next(gfxgraph_pipeline_result_t& result);

  const FlowDevice& device() const { return *device_; }
  const std::string& name() const { return work_->settings().name; }
  const PoolSettings& settings() const { return work_->settings(); }
  // Without latencies.
  void add_up(gfxgraph_pipeline_info_t& info, WorkSums& sums, Durations& until_seen) const;
  Result<std::string> reason(uint32_t set, uint32_t way) const;

 private:
  // A run from its submission until its result is taken.
  struct Ticket {
    WorkResult done;
    Stopwatch since;
    Status status = Status::kOk;  // of the device
    int32_t hip_error = 0;
    std::string text;
  };
  struct Set {
    Set(PoolWork& of, uint64_t rows) : buffers(of, rows) {}
    PoolBuffers buffers;
    std::unique_ptr<CapturedWork> work;
    hip::Stream stream = nullptr;
    hip::Event computed = nullptr;  // behind the work of its last run
    hip::Event behind = nullptr;    // of the caller's stream
  };

  Result<void> add_set(const gfxgraph_piece_t& piece, uint32_t capture_ms);
  Result<void> run_set(Set& set, const PipelineRun& run, WorkResult& done);
  Result<void> compute(Set& set, WorkResult& done);
  Result<void> free_set(bool waits);
  Ticket& ticket(uint64_t number) { return tickets_[number % tickets_.size()]; }
  // Waits until this run has ended, and those before it.
  void see(uint64_t number, std::unique_lock<std::mutex>& lock);

  std::shared_ptr<const FlowDevice> device_;
  std::unique_ptr<PoolWork> work_;
  std::deque<Set> sets_;
  bool in_order_ = false;
  std::mutex submit_mutex_;  // before tickets_mutex_, as next_mutex_
  std::mutex next_mutex_;
  struct Counts {
    Count waits{0}, refusals{0}, failures{0}, device_errors{0};
    Histogram until_seen;
  } counts_;

  mutable std::mutex tickets_mutex_;  // of what follows
  std::condition_variable seen_one_;
  std::array<Ticket, GFXGRAPH_PIPELINE_RESULTS> tickets_;  // by number, a ring
  uint64_t taken_ = 0;                                     // runs whose result was taken
  uint64_t seen_ = 0;                                      // whose end was seen
  uint64_t submitted_ = 0;
  uint64_t most_in_flight_ = 0;
  bool sees_ = false;  // a thread waits for the run `seen_`
};

}  // namespace gfxgraph::replayer
