// The C ABI of pools (gfxgraph/production.h).
#include "replayer/production/c_api_pool_internal.h"
#include "replayer/production/metrics.h"

using namespace gfxgraph;            // NOLINT: this file is the border between the two worlds
using namespace gfxgraph::replayer;  // NOLINT

namespace {

// hipStreamPerThread.
void* const kStreamPerThread = reinterpret_cast<void*>(uintptr_t{2});

}  // namespace

namespace gfxgraph::replayer {

gfxgraph_status_t on_pool(gfxgraph_pool_t pool, On place, const PoolBody& body) noexcept {
  return guarded([&]() -> Result<void> {
    GFXGRAPH_TRY(require(pool != nullptr, "pool is null"));
    GFXGRAPH_TRY(require_own(pool->made_in));
    if (place == On::kHost) return body(pool->pool);
    OnDevice scope(pool->pool.library(), pool->pool.device());
    GFXGRAPH_TRY(scope.enter());
    return body(pool->pool);
  });
}

Result<void> check_stream(const HipLibrary& library, void* stream) {
  GFXGRAPH_TRY(
      require(stream != kStreamPerThread,
              "hipStreamPerThread is another stream in each thread: name one of your own"));
  if (is_capturing()) [[unlikely]] {
    return fail(Status::kUnsupported,
                "this thread has a capture open (gfxgraph_capture_begin), which cannot have a run "
                "of a pool: nothing was submitted; end the capture, or pause it, before the run");
  }
  if (stream == nullptr || library.table().hipStreamIsCapturing == nullptr) return {};
  int status = hip::kNotCapturing;
  GFXGRAPH_TRY(
      library.check(library.table().hipStreamIsCapturing(stream, &status), "hipStreamIsCapturing"));
  if (status == hip::kNotCapturing) [[likely]]
    return {};
  return fail(Status::kUnsupported,
              "the stream is capturing: nothing was submitted; end its capture before the run");
}

Result<void> check_memory(const PoolSettings& settings, void* const* memory) {
  const size_t count = settings.own_tensors();
  GFXGRAPH_TRY(require(memory != nullptr || count == 0, "memory of the run is null"));
  for (size_t i = 0; i < count; ++i) {
    if (memory[i] != nullptr) [[likely]]
      continue;
    return fail(Status::kInvalidArgument,
                fmt::format("{} has no memory: memory[{}] is null", settings.tensors[i].name, i));
  }
  return {};
}

Result<void> run_pool(Pool& pool, const Run& run, gfxgraph_pool_result_t* result) {
  GFXGRAPH_TRY(check_stream(pool.library(), run.stream));
  gfxgraph_pool_result_t done{};
  done.bucket = GFXGRAPH_BUCKET_BEYOND;
  done.way = GFXGRAPH_WAY_WORK;
  Result<void> ran = pool.run(run, done);
  if (result == nullptr) return ran;
  const Result<void> written = write_out(done, result);
  return ran ? written : ran;
}

Result<void> give_text(const std::string& text, char* to, uint64_t capacity, uint64_t* size) {
  if (size != nullptr) *size = text.size();
  if (to == nullptr || capacity <= text.size()) {
    return fail(Status::kInvalidArgument, fmt::format("the text has {} bytes and a zero, and there "
                                                      "is room for {}",
                                                      text.size(), to == nullptr ? 0 : capacity));
  }
  std::memcpy(to, text.c_str(), text.size() + 1);
  return {};
}

gfxgraph_status_t create_pool(const gfxgraph_pool_options_t* options,
                              const gfxgraph_decode_options_t* decode,
                              gfxgraph_pool_t* pool) noexcept {
  return guarded([&]() -> Result<void> {
    GFXGRAPH_TRY(require(options != nullptr && pool != nullptr, "options or pool is null"));
    GFXGRAPH_ASSIGN_OR_RETURN(
        const gfxgraph_pool_options_t chosen,
        read_in(options, gfxgraph_pool_options_default(), "gfxgraph_pool_options_t"));
    auto settings = std::make_unique<PoolSettings>();
    GFXGRAPH_TRY(read_pool_settings(chosen, decode, *settings));
    GFXGRAPH_TRY(begin_use_of_hip());
    GFXGRAPH_ASSIGN_OR_RETURN(std::shared_ptr<const HipLibrary> library, hip_library_in_use(0));
    GFXGRAPH_ASSIGN_OR_RETURN(const HipDevice device, library->select_device(-1));
    if (chosen.max_device_share != 0 && library->table().hipMemGetInfo == nullptr) {
      return fail(Status::kUnsupported,
                  "this HIP runtime lacks hipMemGetInfo: leave max_device_share 0");
    }
    auto made = std::make_unique<gfxgraph_pool_s>(std::move(settings), std::move(library), device);
    const PoolSettings& used = made->pool.settings();
    if (used.safety.fingerprint) GFXGRAPH_TRY(used.safety.fingerprint->check(made->pool.facts()));
    *pool = made.release();
    return {};
  });
}

}  // namespace gfxgraph::replayer

namespace {

Result<Run> read_run(const PoolSettings& settings, const gfxgraph_pool_run_t* given) {
  GFXGRAPH_TRY(require(given != nullptr, "run is null"));
  GFXGRAPH_ASSIGN_OR_RETURN(const gfxgraph_pool_run_t run,
                            read_in(given, gfxgraph_pool_run_default(), "gfxgraph_pool_run_t"));
  GFXGRAPH_TRY(require_flags("gfxgraph_pool_run_t", {{"timed", run.timed}}));
  if (settings.decode.on) {
    return fail(Status::kUnsupported,
                fmt::format("{} is a decode pool, whose runs have lengths and block tables: use "
                            "gfxgraph_decode_run",
                            settings.name));
  }
  GFXGRAPH_TRY(require(run.size != 0, "a run of 0 rows"));
  GFXGRAPH_TRY(check_memory(settings, run.memory));
  return Run{run.size, run.memory, run.hip_stream, run.timed != 0};
}

gfxgraph_latency_t latency(const Durations& durations) {
  constexpr double kNanoseconds = 1000.0;  // in a microsecond
  const auto microseconds = [&](double share) {
    return static_cast<double>(durations.percentile(share)) / kNanoseconds;
  };
  return {durations.count(),  static_cast<double>(durations.sum()) / kNanoseconds,
          microseconds(0.5),  microseconds(0.9),
          microseconds(0.99), static_cast<double>(durations.most()) / kNanoseconds};
}

}  // namespace

extern "C" {

const char* gfxgraph_way_name(uint32_t way) noexcept { return way_name(way); }
const char* gfxgraph_fall_name(uint32_t fall) noexcept { return fall_name(fall); }

gfxgraph_pool_options_t gfxgraph_pool_options_default(void) noexcept {
  gfxgraph_pool_options_t options{};
  options.struct_size = sizeof options;
  return options;
}

gfxgraph_pool_run_t gfxgraph_pool_run_default(void) noexcept {
  gfxgraph_pool_run_t run{};
  run.struct_size = sizeof run;
  return run;
}

gfxgraph_status_t gfxgraph_pool_create(const gfxgraph_pool_options_t* options,
                                       gfxgraph_pool_t* pool) noexcept {
  return create_pool(options, nullptr, pool);
}

void gfxgraph_pool_destroy(gfxgraph_pool_t pool) noexcept {
  if (pool == nullptr || is_inherited(pool->made_in)) return;
  const std::shared_ptr<const HipLibrary> library = pool->pool.share_library();
  OnDevice scope(*library, pool->pool.device());
  try {
    (void)scope.enter();
  } catch (...) {  // no memory for an error's text
  }
  delete pool;
}

gfxgraph_status_t gfxgraph_pool_warm(gfxgraph_pool_t pool, void* hip_stream) noexcept {
  return on_pool(pool, On::kDevice, [&](Pool& one) -> Result<void> {
    GFXGRAPH_TRY(check_stream(one.library(), hip_stream));
    return one.warm(hip_stream);
  });
}

gfxgraph_status_t gfxgraph_pool_run(gfxgraph_pool_t pool, const gfxgraph_pool_run_t* run,
                                    gfxgraph_pool_result_t* result) noexcept {
  return on_pool(pool, On::kDevice, [&](Pool& one) -> Result<void> {
    GFXGRAPH_ASSIGN_OR_RETURN(const Run checked, read_run(one.settings(), run));
    return run_pool(one, checked, result);
  });
}

gfxgraph_status_t gfxgraph_pool_recapture(gfxgraph_pool_t pool, uint32_t bucket) noexcept {
  return on_pool(pool, On::kDevice, [&](Pool& one) { return one.recapture(bucket); });
}

gfxgraph_status_t gfxgraph_pool_info(gfxgraph_pool_t pool, uint32_t bucket,
                                     gfxgraph_bucket_info_t* info) noexcept {
  return on_pool(pool, On::kHost, [&](Pool& one) -> Result<void> {
    GFXGRAPH_TRY(one.check_bucket(bucket));
    BucketSums sums;
    one.add_up(bucket, sums);
    sums.info.submit = latency(sums.submit);
    sums.info.end_to_end = latency(sums.end_to_end);
    return write_out(sums.info, info);
  });
}

gfxgraph_status_t gfxgraph_pool_reason(gfxgraph_pool_t pool, uint32_t bucket, uint32_t way,
                                       char* text, uint64_t capacity, uint64_t* size) noexcept {
  return on_pool(pool, On::kHost, [&](Pool& one) -> Result<void> {
    GFXGRAPH_TRY(one.check_bucket(bucket));
    GFXGRAPH_TRY(require(way < GFXGRAPH_WAYS, "unknown way"));
    return give_text(one.reason(bucket, way), text, capacity, size);
  });
}

gfxgraph_status_t gfxgraph_pool_metrics(const gfxgraph_pool_t* pools, uint32_t count, char* text,
                                        uint64_t capacity, uint64_t* size) noexcept {
  return guarded([&]() -> Result<void> {
    GFXGRAPH_TRY(require(pools != nullptr || count == 0, "pools is null"));
    std::vector<Pool*> all;
    for (uint32_t i = 0; i < count; ++i) {
      GFXGRAPH_TRY(require(pools[i] != nullptr, "one of the pools is null"));
      GFXGRAPH_TRY(require_own(pools[i]->made_in));
      all.push_back(&pools[i]->pool);
    }
    GFXGRAPH_ASSIGN_OR_RETURN(const std::string made, metrics_text(all));
    return give_text(made, text, capacity, size);
  });
}

}  // extern "C"
