// What a pool was created with.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "gfxgraph/decode.h"
#include "gfxgraph/production.h"
#include "replayer/production/safety/identity.h"
#include "replayer/production/ways/way_settings.h"

namespace gfxgraph::replayer {

struct Tensor {
  std::string name;
  uint64_t row_bytes = 0;
  bool is_input = false;
  bool is_output = false;
  uint32_t type = GFXGRAPH_TYPE_BYTES;
};

// gfxgraph_state_t.
struct State {
  std::string name;
  void* memory = nullptr;
  uint64_t bytes = 0;
  uint32_t type = GFXGRAPH_TYPE_BYTES;
};

// gfxgraph_decode_options_t.
struct DecodeSettings {
  bool on = false;
  uint32_t max_blocks = 0;
  uint32_t block_tokens = 0;          // 0: unknown
  std::vector<uint64_t> max_lengths;  // ascending; empty: one for all
};

// Caps; 0: none.
struct RoomSettings {
  uint64_t max_bytes = 0;
  double max_share = 0;  // of the device
};

// What is checked.
struct SafetySettings {
  uint32_t level = GFXGRAPH_SAFETY_OFF;
  uint32_t validate_every = 0;  // 0: never
  std::array<double, GFXGRAPH_KINDS> tolerance{};
  bool digest = false;
  std::optional<SavedFingerprint> fingerprint;
};

// gfxgraph_pool_border_t with its context; it may be null.
struct PoolBorder {
  gfxgraph_pool_border_t call = nullptr;
  void* context = nullptr;
};

struct PoolSettings {
  std::string name;
  std::vector<uint64_t> sizes;  // of buckets, in rows, ascending
  std::vector<Tensor> tensors;
  uint64_t row_bytes = 0;  // of all tensors
  gfxgraph_work_t work = nullptr;
  void* work_context = nullptr;
  PoolBorder border;
  gfxgraph_fell_t fell = nullptr;
  void* fell_context = nullptr;
  bool beyond_allowed = false;
  std::vector<State> states;
  WaySettings ways;
  RoomSettings room;
  SafetySettings safety;
  DecodeSettings decode;  // on: the last two tensors are the lengths and the block table

  bool is_strict() const { return safety.level == GFXGRAPH_SAFETY_STRICT; }
  // Those that the caller described.
  size_t own_tensors() const { return tensors.size() - (decode.on ? 2 : 0); }
};

// Checks the options, and copies them. `decode`: null: no decode pool. kInvalidArgument.
Result<void> read_pool_settings(const gfxgraph_pool_options_t& options,
                                const gfxgraph_decode_options_t* decode, PoolSettings& settings);

}  // namespace gfxgraph::replayer
