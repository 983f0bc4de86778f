// One bucket of a pool: its buffers, its captured step, and the way that its runs take.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "replayer/production/bucket_counts.h"
#include "replayer/production/pool_buffers.h"
#include "replayer/production/run_timings.h"
#include "replayer/production/safety/lint.h"
#include "replayer/production/safety/output_digest.h"
#include "replayer/production/validation.h"
#include "replayer/production/ways/stream_order.h"
#include "replayer/production/ways/ways.h"

namespace gfxgraph::replayer {

struct RunResult : WorkResult {
  uint64_t padded_rows = 0;
  uint32_t validation = GFXGRAPH_VALIDATION_NONE;
};

// The error of a function of the caller's that returned `status`.
Error work_error(int32_t status, uint64_t size);

// What was captured last, and how often it was another one than before.
class KnownIdentity {
 public:
  // The one before; its sequence is 0 if there was none. One thread at a time.
  Identity set(const Identity& now) {
    const std::lock_guard lock(mutex_);
    if (identity_ != Identity{} && identity_ != now) ++changes_;
    return std::exchange(identity_, now);
  }
  Identity get() const {
    const std::lock_guard lock(mutex_);
    return identity_;
  }
  uint64_t changes() const {
    const std::lock_guard lock(mutex_);
    return changes_;
  }

 private:
  mutable std::mutex mutex_;
  Identity identity_;
  uint64_t changes_ = 0;
};

struct BucketShape {
  uint32_t number = 0;
  uint64_t size = 0;        // in rows
  uint64_t max_length = 0;  // of a decode pool's longest sequence; 0: any
};

// gfxgraph_vary_t with its context; it may be null.
struct Vary {
  gfxgraph_vary_t call = nullptr;
  void* context = nullptr;
};

// Runs, warm(), lint() and recapture() follow each other by a lock; the rest takes none of a run.
class Bucket final : private WayOwner {
 public:
  Bucket(PoolWork& work, const BucketShape& shape);
  ~Bucket();
  Bucket(const Bucket&) = delete;
  Bucket& operator=(const Bucket&) = delete;

  // On the pool's device, as all that calls HIP. At most size() rows.
  Result<void> run(const Run& run, RunResult& result);
  // Whether warm() has anything to do.
  bool is_cold() const;
  // Its buffers, if it is new and there is room.
  Result<void> allocate(hip::Stream stream);
  // Captures over zeros, if nothing is captured yet, and measures if the pool is to. `states`: a
  // copy of them, or none if the pool has none.
  Result<void> warm(hip::Stream stream, const StateCopies& states, RunResult& result);
  Result<void> recapture();
  // Captures twice, and compares the two; both are given up.
  Result<std::vector<gfxgraph_baked_t>> lint(hip::Stream stream, const Vary& vary,
                                             const StateCopies& states, int32_t& work_status);

  uint64_t size() const { return shape_.size; }
  uint64_t max_length() const { return shape_.max_length; }
  uint64_t device_bytes() const { return bytes_.all; }
  uint32_t next_way() const { return ways_.next(); }
  const Choice& choice() const { return ways_.choice(); }
  const KnownIdentity& identity() const { return records_.identity; }
  OutputDigest::Value digest() const { return records_.digest.value(); }
  BucketCounts& counts() { return records_.counts; }
  // Why it gave up the way, or could not capture yet.
  std::string reason(uint32_t way) const { return ways_.reason(way); }
  // Counts the timed runs that have ended, unless a run is being submitted.
  void collect_timings();

 private:
  // WayOwner
  std::string name() const override;
  Result<void> call_work(hip::Stream stream, bool captured, WorkResult& result) override;
  std::optional<Refusal> accept(const CapturedStep& step, uint64_t device_bytes) override;
  void released() noexcept override;
  bool ended_by_caller() const noexcept override { return border_.status != 0; }
  void fell(uint32_t way, uint32_t next, uint32_t fall, const std::string& text) override;

  // gfxgraph_border_function_t, with the bucket as its context.
  static int32_t at_border(void* context, const gfxgraph_border_t* border);
  // By its step, or what captures it.
  Result<void> run_ways(hip::Stream stream, RunResult& result);
  Result<void> run_alone(const Run& run, RunResult& result);
  void count_run(const Run& run, const RunResult& result) noexcept;
  Result<void> submit(const Run& run, RunResult& result);
  Result<void> submit_decode(const Run& run, RunResult& result);
  Result<void> submit_rows(const Run& run, RunResult& result);
  Result<void> submit_without_memory(const Run& run, RunResult& result);
  Result<void> run_timed(const Run& run, RunResult& result);
  Result<void> measure(hip::Stream stream);
  Result<void> warm_up(hip::Stream stream, RunResult& result);
  Result<void> find_memory(hip::Stream stream, RunResult& result);
  bool is_due(RunResult& result);
  Result<void> run_padded(const Run& run, RunResult& result);
  Result<void> run_validated(const Run& run, RunResult& result);
  Result<OwnedTrace> capture_twice(hip::Stream stream, const Vary& vary, int32_t& work_status);
  std::vector<NamedMemory> named_memory() const;
  Result<void> check_identity(const CapturedStep& step);
  Result<void> check_compared(const RunResult& result) const;
  void sum_bytes() noexcept;
  void release_memory() noexcept;

  // A run of a decode pool.
  struct Decode {
    std::vector<void*> memory;  // with what that gives
    HostValues values;
  };
  struct Bytes {
    uint64_t step = 0;             // that it allocates
    std::atomic<uint64_t> all{0};  // with buffers and copies
  };
  struct Border {
    hip::Stream stream = nullptr;  // of the run
    int32_t status = 0;            // of the caller's function there
  };
  // What any thread may read.
  struct Records {
    BucketCounts counts;
    KnownIdentity identity;
    OutputDigest digest;
  };

  PoolWork& work_;
  const BucketShape shape_;
  std::mutex mutex_;
  std::atomic<bool> has_memory_{false};  // or will never have any
  PoolBuffers buffers_;                  // empty: none, for lack of room
  Decode decode_;
  Validation validation_;
  Bytes bytes_;
  StreamOrder order_;
  RunTimings timings_;
  Records records_;
  Border border_;
  const WaySettings way_settings_;
  Ways ways_;
};

}  // namespace gfxgraph::replayer
