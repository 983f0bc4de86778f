// Captured work by size: chooses a bucket for a run, and counts what was done.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "replayer/production/bucket.h"

namespace gfxgraph::replayer {

// Thread-safe.
class Pool {
 public:
  Pool(std::unique_ptr<const PoolSettings> settings, std::shared_ptr<const HipLibrary> library,
       const HipDevice& device);

  // On the pool's device, as all that calls HIP. `result` without work_status if nothing was run.
  Result<void> run(const Run& run, gfxgraph_pool_result_t& result);
  Result<void> warm(hip::Stream stream);
  // What two captures of a bucket's work differ in; `vary` may be null. `work_status` as of a run.
  Result<std::vector<gfxgraph_baked_t>> lint(uint32_t bucket, hip::Stream stream, const Vary& vary,
                                             int32_t& work_status);
  Result<void> recapture(uint32_t bucket);

  const PoolSettings& settings() const { return work_.settings(); }
  const HipLibrary& library() const { return work_.library(); }
  std::shared_ptr<const HipLibrary> share_library() const { return work_.share_library(); }
  int device() const { return work_.device(); }
  const Bucket& bucket(uint32_t number) const { return *buckets_[number]; }
  const std::vector<Fact>& facts() const { return facts_; }
  uint32_t bucket_count() const { return static_cast<uint32_t>(buckets_.size()); }
  // Of GFXGRAPH_BUCKET_BEYOND and _ALL, too.
  Result<void> check_bucket(uint32_t bucket) const;
  // Of a bucket that exists, as check_bucket() says. `sums.info` is complete but for latencies.
  void add_up(uint32_t bucket, BucketSums& sums);
  // "" for what is no bucket.
  std::string reason(uint32_t bucket, uint32_t way) const;

 private:
  Result<void> warm_all(hip::Stream stream, const StateCopies& states);
  // Its number; bucket_count(): none is large enough.
  uint32_t choose_bucket(const Run& run) const;
  std::string largest() const;
  Result<void> run_beyond(const Run& run, RunResult& result);
  Result<void> no_bucket(uint32_t bucket) const;

  PoolWork work_;
  const std::vector<Fact> facts_;  // of its device and runtime
  std::vector<std::unique_ptr<Bucket>> buckets_;
  BucketCounts beyond_;
  std::atomic<bool> beyond_told_{false};
};

}  // namespace gfxgraph::replayer
