// Converts kernel faults and barrier errors to findings.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "check/launch/loaded_code.h"
#include "check/report/sites.h"
#include "check/waits/wait_analysis.h"
#include "emulator/engine/engine.h"

namespace gfxgraph::check {

// The linear number of a workgroup in the grid.
uint64_t linear_group(const emulator::Dispatch& dispatch, const std::array<uint32_t, 3>& workgroup);

// The finding for a fault; empty for unsupported instructions and exceeded limits, which are not
// faults of the kernel. `before_trap`: text about the calls before a trap; may be empty.
std::optional<LaneEvent> fault_event(const emulator::Fault& fault,
                                     const emulator::Dispatch& dispatch,
                                     const std::string& before_trap);

// S1 or S2. Names the cooperative group if the barrier belongs to its sync().
LaneEvent barrier_event(const emulator::UnevenBarrier& barrier, const std::vector<LoadedCode>& code,
                        const emulator::RegionTable& memory);

// S6.
LaneEvent grid_event(const emulator::GridBarrier& barrier);

// S3.
LaneEvent wait_event(const MissingWait& place, uint64_t launch,
                     const std::vector<LoadedCode>& code);

// "pc 0x40, kernel+0x40 (file.hip:12)".
std::string place_text(const std::vector<LoadedCode>& loaded, uint64_t pc);

}  // namespace gfxgraph::check
