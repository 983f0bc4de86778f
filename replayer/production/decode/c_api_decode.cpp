// The C ABI of decode pools (gfxgraph/decode.h).
#include "gfxgraph/decode.h"

#include "replayer/production/c_api_pool_internal.h"

using namespace gfxgraph;            // NOLINT: this file is the border between the two worlds
using namespace gfxgraph::replayer;  // NOLINT

namespace {

tl::unexpected<Error> wrong_length(uint64_t sequence, int64_t length, std::string_view than,
                                   uint64_t most) {
  return fail(Status::kInvalidArgument,
              fmt::format("lengths[{}] is {}, {} {}", sequence, length, than, most));
}

// Lengths of the host; the longest of them.
Result<uint64_t> check_lengths(const DecodeSettings& settings, const gfxgraph_decode_run_t& run) {
  const uint64_t columns = run.block_columns;
  uint64_t longest = 0;
  for (uint64_t i = 0; i < run.batch; ++i) {
    const int32_t length = run.lengths[i];
    if (length < 0) return wrong_length(i, length, "less than", 0);
    const auto tokens = static_cast<uint64_t>(length);
    longest = std::max(longest, tokens);
    if (settings.block_tokens != 0 && tokens > columns * settings.block_tokens)
      return wrong_length(i, length, "more than its blocks have:", columns * settings.block_tokens);
    if (run.max_length != 0 && tokens > run.max_length)
      return wrong_length(i, length, "more than max_length", run.max_length);
  }
  return longest;
}

Result<DecodeValues> read_values(const PoolSettings& settings, gfxgraph_decode_run_t& run) {
  const DecodeSettings& decode = settings.decode;
  if (!decode.on) {
    return fail(Status::kUnsupported,
                fmt::format("{} is no decode pool (gfxgraph_decode_pool_create): use "
                            "gfxgraph_pool_run",
                            settings.name));
  }
  GFXGRAPH_TRY(require(run.batch != 0, "a run of 0 sequences"));
  GFXGRAPH_TRY(require(run.lengths != nullptr, "lengths is null"));
  GFXGRAPH_TRY(require(run.block_table != nullptr, "block_table is null"));
  if (run.block_columns == 0) run.block_columns = decode.max_blocks;
  const bool whole = run.block_columns == decode.max_blocks;
  if (run.block_columns > decode.max_blocks || (run.on_device != 0 && !whole)) {
    return fail(Status::kInvalidArgument,
                fmt::format("block_columns is {}, and the pool has max_blocks {}{}",
                            run.block_columns, decode.max_blocks,
                            run.on_device != 0 ? ", as tables in device memory must" : ""));
  }
  DecodeValues values{run.lengths, run.block_table, run.block_columns, run.on_device != 0,
                      run.max_length};
  if (run.on_device != 0) {
    GFXGRAPH_TRY(require(decode.max_lengths.empty() || run.max_length != 0,
                         "max_length is 0: the longest sequence is not known of lengths in device "
                         "memory, and the pool has max_lengths"));
    return values;
  }
  const uint64_t largest = settings.sizes.back();
  if (run.batch > largest) return values;  // refused later, and by then unread
  GFXGRAPH_ASSIGN_OR_RETURN(const uint64_t longest, check_lengths(decode, run));
  if (values.max_length == 0) values.max_length = longest;
  return values;
}

}  // namespace

extern "C" {

gfxgraph_decode_options_t gfxgraph_decode_options_default(void) noexcept {
  gfxgraph_decode_options_t options{};
  options.struct_size = sizeof options;
  return options;
}

gfxgraph_decode_run_t gfxgraph_decode_run_default(void) noexcept {
  gfxgraph_decode_run_t run{};
  run.struct_size = sizeof run;
  return run;
}

gfxgraph_status_t gfxgraph_decode_pool_create(const gfxgraph_pool_options_t* options,
                                              const gfxgraph_decode_options_t* decode,
                                              gfxgraph_pool_t* pool) noexcept {
  gfxgraph_decode_options_t chosen = gfxgraph_decode_options_default();
  const gfxgraph_status_t read = guarded([&]() -> Result<void> {
    GFXGRAPH_TRY(require(decode != nullptr, "decode is null"));
    GFXGRAPH_ASSIGN_OR_RETURN(chosen, read_in(decode, chosen, "gfxgraph_decode_options_t"));
    return {};
  });
  return read == GFXGRAPH_OK ? create_pool(options, &chosen, pool) : read;
}

gfxgraph_status_t gfxgraph_decode_run(gfxgraph_pool_t pool, const gfxgraph_decode_run_t* run,
                                      gfxgraph_pool_result_t* result) noexcept {
  return on_pool(pool, On::kDevice, [&](Pool& one) -> Result<void> {
    GFXGRAPH_TRY(require(run != nullptr, "run is null"));
    GFXGRAPH_ASSIGN_OR_RETURN(gfxgraph_decode_run_t chosen,
                              read_in(run, gfxgraph_decode_run_default(), "gfxgraph_decode_run_t"));
    GFXGRAPH_TRY(require_flags("gfxgraph_decode_run_t",
                               {{"timed", chosen.timed}, {"on_device", chosen.on_device}}));
    GFXGRAPH_ASSIGN_OR_RETURN(const DecodeValues values, read_values(one.settings(), chosen));
    GFXGRAPH_TRY(check_memory(one.settings(), chosen.memory));
    const Run checked{chosen.batch, chosen.memory, chosen.hip_stream, chosen.timed != 0, &values};
    return run_pool(one, checked, result);
  });
}

}  // extern "C"
