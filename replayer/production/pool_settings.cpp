#include "replayer/production/pool_settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"
#include "replayer/production/measure/choice.h"
#include "replayer/production/numbers.h"
#include "replayer/step/timing.h"

namespace gfxgraph::replayer {
namespace {

tl::unexpected<Error> wrong(std::string_view of, const char* what) {
  return fail(Status::kInvalidArgument, fmt::format("{} of the pool: {}", of, what));
}

bool is_whole(uint64_t bytes, uint32_t type) {
  const uint32_t one = number_bytes(type);
  return one != 0 && bytes != 0 && bytes % one == 0;
}

constexpr uint32_t kFirstWays =
    WayOrder::bit(GFXGRAPH_WAY_GRAPH) | WayOrder::bit(GFXGRAPH_WAY_BATCH) |
    WayOrder::bit(GFXGRAPH_WAY_EAGER) | WayOrder::bit(GFXGRAPH_WAY_PACKETS);
constexpr uint32_t kMostMeasured = 1000;

// The same of how a way is chosen.
const char* choice_mistake(const gfxgraph_pool_options_t& options) {
  const uint32_t first = options.first_way;
  if (first != GFXGRAPH_WAY_WORK &&
      (first >= GFXGRAPH_WAYS || (WayOrder::bit(first) & kFirstWays) == 0))
    return "unknown first_way";
  if (options.choose > GFXGRAPH_CHOOSE_MEASURED) return "unknown choose";
  if (options.warm_measures > 1) return "warm_measures is neither 0 nor 1";
  if (options.choose == GFXGRAPH_CHOOSE_MEASURED) {
    if (first != GFXGRAPH_WAY_GRAPH)
      return "first_way with GFXGRAPH_CHOOSE_MEASURED: name the ways in measure_ways";
    if ((options.measure_ways & ~kFirstWays) != 0)
      return "measure_ways has bits of no way that can be measured";
    if (options.measure_runs != 0 &&
        (options.measure_runs < kLeastRuns || options.measure_runs > kMostMeasured))
      return "measure_runs is not between 3 and 1000";
    return nullptr;
  }
  if (options.measure_ways != 0 || options.measure_runs != 0 || options.warm_measures != 0)
    return "measure_ways, measure_runs or warm_measures without GFXGRAPH_CHOOSE_MEASURED";
  return nullptr;
}

// The same of what is checked.
Result<void> read_safety(const gfxgraph_pool_options_t& options, PoolSettings& settings) {
  const auto refused = [](const char* what) { return fail(Status::kInvalidArgument, what); };
  if (options.safety > GFXGRAPH_SAFETY_STRICT) return refused("unknown safety");
  if (options.digest > 1) return refused("digest is neither 0 nor 1");
  settings.safety.level = options.safety;
  settings.safety.digest = options.digest != 0;
  if (settings.is_strict() && options.beyond == GFXGRAPH_BEYOND_WORK)
    return refused("GFXGRAPH_BEYOND_WORK with GFXGRAPH_SAFETY_STRICT: such runs have no step");
  if (settings.is_strict() && options.first_way == GFXGRAPH_WAY_WORK)
    return refused("GFXGRAPH_WAY_WORK with GFXGRAPH_SAFETY_STRICT: no step ever runs");
  if (settings.safety.level >= GFXGRAPH_SAFETY_SHADOW && settings.safety.validate_every == 0)
    settings.safety.validate_every = 1;
  if (options.fingerprint == nullptr) return {};
  if (settings.safety.level < GFXGRAPH_SAFETY_FINGERPRINT)
    return refused("a fingerprint without GFXGRAPH_SAFETY_FINGERPRINT: nothing would be compared");
  GFXGRAPH_ASSIGN_OR_RETURN(settings.safety.fingerprint,
                            SavedFingerprint::read(options.fingerprint));
  return {};
}

// What is wrong with the options beside sizes, tensors and states; null: nothing.
const char* mistake(const gfxgraph_pool_options_t& options, bool needs_tensors) {
  if (options.sizes == nullptr || options.size_count == 0)
    return "a pool needs sizes, one at least";
  if (needs_tensors && options.tensor_count == 0) return "a pool needs tensors, one at least";
  if (options.tensors == nullptr && options.tensor_count != 0) return "tensors is null";
  if (options.work == nullptr) return "a pool needs a function: work is null";
  if (const char* const what = choice_mistake(options)) return what;
  if (!(options.max_device_share >= 0 && options.max_device_share <= 1))
    return "max_device_share is not between 0 and 1";
  if (options.beyond > GFXGRAPH_BEYOND_WORK) return "unknown beyond";
  if (options.states == nullptr && options.state_count != 0) return "states is null";
  for (const double tolerance : options.tolerance) {
    if (!(tolerance >= 0)) return "a tolerance is negative or no number";
  }
  if (options.tolerance[GFXGRAPH_TYPE_BYTES] != 0)
    return "a tolerance of bytes: they are equal or not";
  return nullptr;
}

Result<void> read_ascending(const char* what, const uint64_t* from, uint32_t count,
                            std::vector<uint64_t>& to) {
  uint64_t before = 0;
  for (uint32_t i = 0; i < count; before = from[i++]) {
    if (from[i] > before) continue;
    return fail(Status::kInvalidArgument,
                fmt::format("{0} {1} of the pool is {2}, behind {3}: {0}s begin with 1 at least "
                            "and ascend",
                            what, i, from[i], before));
  }
  to.assign(from, from + count);
  return {};
}

Tensor input_of_words(const char* name, uint64_t words) {
  return {name, words * sizeof(int32_t), true, false, GFXGRAPH_TYPE_BYTES};
}

// The lengths and the block table become inputs behind the caller's tensors.
Result<void> read_decode(const gfxgraph_decode_options_t& options, PoolSettings& settings) {
  constexpr uint64_t kMostBuckets = 65536;
  DecodeSettings& decode = settings.decode;
  if (options.max_blocks == 0)
    return fail(Status::kInvalidArgument, "a decode pool needs max_blocks");
  if (options.max_lengths == nullptr && options.max_length_count != 0)
    return fail(Status::kInvalidArgument, "max_lengths is null");
  GFXGRAPH_TRY(read_ascending("max_length", options.max_lengths, options.max_length_count,
                              decode.max_lengths));
  if (settings.sizes.size() * std::max<uint64_t>(1, options.max_length_count) > kMostBuckets)
    return fail(Status::kInvalidArgument, "sizes times max_lengths are more than 65536 buckets");
  decode.on = true;
  decode.max_blocks = options.max_blocks;
  decode.block_tokens = options.block_tokens;
  settings.tensors.push_back(input_of_words("lengths", 1));
  settings.tensors.push_back(input_of_words("block table", options.max_blocks));
  return {};
}

Result<void> read_tensor(const gfxgraph_tensor_t& given, uint32_t number, Tensor& tensor) {
  tensor.name = given.name != nullptr ? given.name : fmt::format("tensor {}", number);
  constexpr uint32_t kUses = GFXGRAPH_TENSOR_INPUT | GFXGRAPH_TENSOR_OUTPUT;
  if (given.use == 0 || (given.use & ~kUses) != 0)
    return wrong(tensor.name, "use is none of GFXGRAPH_TENSOR_INPUT, _OUTPUT and both");
  if (!is_whole(given.row_bytes, given.type))
    return wrong(tensor.name, "type is unknown, or row_bytes is 0 or no whole number of it");
  tensor.row_bytes = given.row_bytes;
  tensor.is_input = (given.use & GFXGRAPH_TENSOR_INPUT) != 0;
  tensor.is_output = (given.use & GFXGRAPH_TENSOR_OUTPUT) != 0;
  tensor.type = given.type;
  return {};
}

Result<void> read_state(const gfxgraph_state_t& given, uint32_t number, State& state) {
  state.name = given.name != nullptr ? given.name : fmt::format("state {}", number);
  if (given.memory == nullptr) return wrong(state.name, "memory is null");
  if (given.reserved != 0) return wrong(state.name, "reserved is not zero");
  if (!is_whole(given.bytes, given.type))
    return wrong(state.name, "type is unknown, or bytes is 0 or no whole number of it");
  state.memory = given.memory;
  state.bytes = given.bytes;
  state.type = given.type;
  return {};
}

}  // namespace

Result<void> read_pool_settings(const gfxgraph_pool_options_t& options,
                                const gfxgraph_decode_options_t* decode, PoolSettings& settings) {
  if (const char* const what = mistake(options, decode == nullptr))
    return fail(Status::kInvalidArgument, what);
  GFXGRAPH_TRY(read_ascending("size", options.sizes, options.size_count, settings.sizes));
  settings.name = options.name != nullptr ? options.name : "pool";
  settings.work = options.work;
  settings.work_context = options.work_context;
  settings.border = {options.border, options.border_context};
  settings.fell = options.fell;
  settings.fell_context = options.fell_context;
  settings.ways.first = options.first_way;
  settings.beyond_allowed = options.beyond == GFXGRAPH_BEYOND_WORK;
  settings.room.max_bytes = options.max_device_bytes;
  settings.ways.capture_ms = options.capture_milliseconds;
  settings.safety.validate_every = options.validate_every;
  settings.ways.measured = options.choose == GFXGRAPH_CHOOSE_MEASURED;
  settings.ways.measure_ways = options.measure_ways != 0 ? options.measure_ways : kFirstWays;
  settings.ways.measure_runs = options.measure_runs != 0 ? options.measure_runs : Choice::kRuns;
  settings.ways.warm_measures = options.warm_measures != 0;
  settings.room.max_share = options.max_device_share;
  GFXGRAPH_TRY(read_safety(options, settings));
  settings.ways.strict = settings.is_strict();
  std::ranges::copy(options.tolerance, settings.safety.tolerance.begin());
  settings.states.resize(options.state_count);
  for (uint32_t i = 0; i < options.state_count; ++i)
    GFXGRAPH_TRY(read_state(options.states[i], i, settings.states[i]));
  settings.tensors.resize(options.tensor_count);
  for (uint32_t i = 0; i < options.tensor_count; ++i)
    GFXGRAPH_TRY(read_tensor(options.tensors[i], i, settings.tensors[i]));
  if (decode != nullptr) GFXGRAPH_TRY(read_decode(*decode, settings));
  for (const Tensor& tensor : settings.tensors) {
    const auto sum = checked_add(settings.row_bytes, tensor.row_bytes);
    if (!sum || !checked_mul(*sum, settings.sizes.back()))
      return wrong(tensor.name, "with it the largest bucket is beyond 64 bits");
    settings.row_bytes = *sum;
  }
  return {};
}

}  // namespace gfxgraph::replayer
