// Converts a dispatch to the initial state of its waves.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <tl/expected.hpp>

#include "codeobj/code_object.h"
#include "emulator/engine/backend.h"
#include "emulator/engine/clock.h"
#include "emulator/engine/context.h"
#include "emulator/engine/fault.h"

namespace gfxgraph::emulator {

struct CodeCaches;

// A dispatch, checked and ready to start workgroups.
struct Launch {
  Dispatch dispatch;
  codeobj::KernelDescriptor descriptor;
  CodeCaches* code = nullptr;  // of the wave size
  const Inst* entry = nullptr;
  std::array<uint32_t, 3> groups = {1, 1, 1};
  uint64_t group_count = 0;
  uint32_t lanes = 32;         // of a wave
  uint32_t max_waves = 0;      // of a full workgroup
  uint32_t lds_bytes = 0;      // in whole allocation granules
  uint32_t lds_requested = 0;  // that the dispatch asked for
  uint32_t scratch_lane_bytes = 0;
  uint64_t scratch_wave_bytes = 0;
  uint32_t vgprs = 0;
  uint32_t mode = 0;
  uint64_t first_clock = kFirstClock;
};

// `code` and `code64`: for wave32 and wave64 kernels.
tl::expected<Launch, Fault> prepare_launch(const Dispatch& dispatch, MemoryMap& memory,
                                           CodeCaches& code, CodeCaches& code64);

// The size of workgroup `index` in work items: smaller at the upper edges of the grid.
struct GroupShape {
  std::array<uint32_t, 3> id;
  std::array<uint32_t, 3> items;
  uint32_t item_count;
  uint32_t wave_count;
};
GroupShape group_shape(const Launch& launch, uint64_t index);

// How many SGPRs, from s0 on, the waves of a kernel start with: user and system SGPRs.
uint32_t initialised_sgprs(const codeobj::KernelDescriptor& descriptor);
// VGPRs, from v0 on: the work item's ids.
uint32_t initialised_vgprs(const codeobj::KernelDescriptor& descriptor);

// Sets up the architectural state; the caller has set the context, index and scratch of the wave
// and of its upper half, if it has one. The upper half's WaveInfo differs in launched_lanes only.
WaveInfo start_wave(const Launch& launch, const GroupShape& shape, Wave& wave);

}  // namespace gfxgraph::emulator
