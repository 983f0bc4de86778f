// One bucket of a pool: its buffers, its captured step, and the way that its runs take.
#pragma once

#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "replayer/production/bucket_counts.h"
#include "replayer/production/bucket_step.h"
#include "replayer/production/measure/choice.h"
#include "replayer/production/pool_buffers.h"
#include "replayer/production/run_timings.h"
#include "replayer/production/safety/lint.h"
#include "replayer/production/safety/output_digest.h"
#include "replayer/production/validation.h"

namespace gfxgraph::replayer {

struct RunResult {
  uint32_t way = GFXGRAPH_WAY_WORK;
  uint32_t fall = GFXGRAPH_FALL_NONE;
  int32_t work_status = 0;
  uint64_t padded_rows = 0;
  uint32_t validation = GFXGRAPH_VALIDATION_NONE;
};

// Why ways were given up, as texts. Any thread.
class Reasons {
 public:
  void set(uint32_t way, std::string text) {
    const std::lock_guard lock(mutex_);
    texts_[way] = std::move(text);
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    texts_.fill({});
  }
  std::string of(uint32_t way) const {
    const std::lock_guard lock(mutex_);
    return way < texts_.size() ? texts_[way] : std::string();
  }

 private:
  mutable std::mutex mutex_;
  std::array<std::string, GFXGRAPH_WAYS> texts_;
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
class Bucket {
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
  uint32_t next_way() const;
  const Choice& choice() const { return ways_.choice; }
  const KnownIdentity& identity() const { return records_.identity; }
  OutputDigest::Value digest() const { return records_.digest.value(); }
  BucketCounts& counts() { return records_.counts; }
  // Why it gave up the way, or could not capture yet.
  std::string reason(uint32_t way) const { return records_.reasons.of(way); }
  // Counts the timed runs that have ended, unless a run is being submitted.
  void collect_timings();

 private:
  enum class Stage : uint8_t { kNew, kAllocated, kSettled };

  Result<void> run_alone(const Run& run, RunResult& result);
  void count_run(const Run& run, const RunResult& result) noexcept;
  Result<void> submit(const Run& run, RunResult& result);
  Result<void> submit_decode(const Run& run, RunResult& result);
  Result<void> submit_rows(const Run& run, RunResult& result);
  Result<void> run_timed(const Run& run, RunResult& result);
  uint32_t measured_turn();
  void choose();
  Result<void> measure(hip::Stream stream);
  Result<void> warm_up(hip::Stream stream, RunResult& result);
  void drop_slower();
  Result<void> find_memory(hip::Stream stream, RunResult& result);
  Result<void> follow(hip::Stream stream);
  Result<void> order_behind_last(hip::Stream stream);
  bool is_due(RunResult& result);
  Result<void> run_padded(const Run& run, RunResult& result);
  Result<void> run_validated(const Run& run, RunResult& result);
  Result<void> call_work(hip::Stream stream, bool captured, RunResult& result);
  Result<void> capture(hip::Stream stream, RunResult& result);
  Result<void> prepare_captured();
  Result<void> run_step(hip::Stream stream, RunResult& result);
  Result<OwnedTrace> capture_twice(hip::Stream stream, const Vary& vary, int32_t& work_status);
  std::vector<NamedMemory> named_memory() const;
  Result<void> check_identity();
  Result<void> check_broken() const {
    if (!broken_.known) [[likely]]
      return {};
    if (!broken_.error) return fail(Status::kOutOfMemory, "strict: the bucket gave up a way");
    return tl::unexpected<Error>(*broken_.error);
  }
  Result<void> check_compared(const RunResult& result) const;
  void prepare_measured();
  bool prepare(uint32_t way);
  void prepare_next();
  void begin_ways();
  void give_up(uint32_t way, uint32_t fall, const std::string& text);
  void tell(uint32_t way, uint32_t next, uint32_t fall, const std::string& text);
  void give_up_all(uint32_t fall, const std::string& text);
  void sum_bytes() noexcept;
  void release_step() noexcept;
  void release_memory() noexcept;

  // Which way the runs take.
  struct Ways {
    WayOrder order;                      // without what was given up
    std::atomic<uint32_t> next;          // the first of them
    uint32_t preferred = 0;              // the first of all; kNoWay: that is being measured
    uint32_t fall = GFXGRAPH_FALL_NONE;  // why that was given up
    Choice choice;
    WayOrder candidates;                // that are measured
    uint32_t turn = GFXGRAPH_WAY_WORK;  // what the run measures; _WORK: nothing
    bool has_slower = false;            // steps of other ways than the chosen one are left
    uint32_t runs_since = 0;            // they were asked for
  };
  // A run of a decode pool.
  struct Decode {
    std::vector<void*> memory;  // with what that gives
    HostValues values;
  };
  struct Bytes {
    uint64_t step = 0;             // that it allocates
    std::atomic<uint64_t> all{0};  // with buffers and copies
  };
  struct LastStream {
    bool known = false;
    hip::Stream stream = nullptr;
    hip::Event event = nullptr;  // orders another one behind it
  };
  // Strict: why no run is possible.
  struct Broken {
    std::optional<Error> error;
    std::atomic<bool> known{false};
  };
  // What any thread may read.
  struct Records {
    BucketCounts counts;
    Reasons reasons;
    KnownIdentity identity;
    OutputDigest digest;
  };

  PoolWork& work_;
  const BucketShape shape_;
  std::mutex mutex_;
  std::atomic<Stage> stage_ = Stage::kNew;
  Ways ways_;
  PoolBuffers buffers_;  // empty: none, for lack of room
  Decode decode_;
  BucketStep step_;
  Validation validation_;
  Bytes bytes_;
  LastStream last_;
  RunTimings timings_;
  Broken broken_;
  Records records_;
  static constexpr uint32_t kNoWay = UINT32_MAX;
};

}  // namespace gfxgraph::replayer
