// One bucket of a pool: its buffers, its captured step, and the way that its runs take.
#pragma once

#include <array>
#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "replayer/production/bucket_counts.h"
#include "replayer/production/bucket_step.h"
#include "replayer/production/pool_work.h"
#include "replayer/production/run_timings.h"

namespace gfxgraph::replayer {

struct Run {
  uint64_t size = 0;
  void* const* memory = nullptr;  // of the caller, for each tensor
  hip::Stream stream = nullptr;
  bool timed = false;
};

struct RunResult {
  uint32_t way = GFXGRAPH_WAY_WORK;
  uint32_t fall = GFXGRAPH_FALL_NONE;
  int32_t work_status = 0;
  uint64_t padded_rows = 0;
};

// The error of a function of the caller's that returned `status`.
Error work_error(int32_t status, uint64_t size);

// Runs, warm() and recapture() follow each other by a lock; the rest takes none of a run.
class Bucket {
 public:
  Bucket(PoolWork& work, uint32_t number, uint64_t size);
  ~Bucket();
  Bucket(const Bucket&) = delete;
  Bucket& operator=(const Bucket&) = delete;

  // On the pool's device, as all that calls HIP. At most size() rows.
  Result<void> run(const Run& run, RunResult& result);
  // Captures over zeros, if nothing is captured yet.
  Result<void> warm(hip::Stream stream, RunResult& result);
  Result<void> recapture();

  uint64_t size() const { return size_; }
  uint64_t device_bytes() const { return device_bytes_; }
  uint32_t next_way() const;
  BucketCounts& counts() { return counts_; }
  // Why it gave up the way, or could not capture yet.
  std::string reason(uint32_t way) const;
  // Counts the timed runs that have ended, unless a run is being submitted.
  void collect_timings();

 private:
  enum class Stage : uint8_t { kNew, kAllocated, kSettled };

  Result<void> submit(const Run& run, RunResult& result);
  Result<void> find_memory(hip::Stream stream);
  Result<void> make_zero(hip::Stream stream) const;
  Result<void> follow(hip::Stream stream);
  Result<void> order_behind_last(hip::Stream stream);
  Result<void> copy_in(const Run& run) const;
  Result<void> copy_out(const Run& run) const;
  Result<void> call_work(hip::Stream stream, bool captured, RunResult& result);
  Result<void> capture(hip::Stream stream, RunResult& result);
  Result<void> prepare_captured();
  Result<void> run_step(hip::Stream stream, RunResult& result);
  void prepare_from(uint32_t way);
  void give_up(uint32_t way, uint32_t next, uint32_t fall, const std::string& text);
  void give_up_all(uint32_t fall, const std::string& text);
  void note(uint32_t way, std::string text);
  void release_step() noexcept;
  void release_memory() noexcept;

  PoolWork& work_;
  const uint32_t number_;
  const uint64_t size_;  // in rows
  std::mutex mutex_;
  std::atomic<Stage> stage_ = Stage::kNew;
  std::atomic<uint32_t> way_;
  uint32_t fall_ = GFXGRAPH_FALL_NONE;  // why the first way was given up
  std::vector<void*> memory_;           // of each tensor; empty: none, for lack of room
  std::atomic<uint64_t> device_bytes_{0};
  BucketStep step_;
  uint64_t step_bytes_ = 0;  // that it allocates, of device_bytes_
  struct LastStream {
    bool known = false;
    hip::Stream stream = nullptr;
    hip::Event event = nullptr;  // orders another one behind it
  } last_;
  RunTimings timings_;
  BucketCounts counts_;
  mutable std::mutex reasons_mutex_;
  std::array<std::string, GFXGRAPH_WAY_WORK + 1> reasons_;
};

}  // namespace gfxgraph::replayer
