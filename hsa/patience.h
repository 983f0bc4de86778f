// How long the agent waits for a kernel that does not come to its end.
//
// One that stands still (emulator/analysis/standstill.h, emulator/analysis/closure.h) may be
// helped: by the host, a copy, or another queue's kernel. Nobody can know; the agent waits until
// nothing has happened for a while. One that runs long may end yet: it is reported, and goes on.
#pragma once

#include <atomic>
#include <cstdint>

#include "emulator/engine/engine.h"

namespace gfxgraph::hsa {

namespace internal {
inline std::atomic<uint64_t> activity{0};
}

// Something that may change what a kernel waits for begins or ends: a packet, a copy, a fill, a
// signal that the host stores to, a handler.
inline void note_activity() noexcept { internal::activity.fetch_add(1, std::memory_order_relaxed); }

// EngineOptions::give_up of the agent: true when the dispatch has stood still, all other running
// kernels have too, and nothing else happened, for $GFXGRAPH_LIVELOCK_SECONDS (default 30, 0:
// never). False as long as a kernel that called the host (printf) looks at host memory: its answer
// may take any time; and while one of several running kernels changes memory back and forth, which
// another may see. `running`: kernels that run now. Thread-safe.
bool out_of_patience(const emulator::Standstill& standstill, uint32_t running);

// EngineOptions::long_run of the agent: reports after $GFXGRAPH_LIVELOCK_SECONDS without a wave's
// end, after twice, four times as many and so on; ends the kernel after $GFXGRAPH_HANG_SECONDS
// (default 0: never). Thread-safe.
emulator::LongRunAnswer judge_long_run(const emulator::LongRun& run);

}  // namespace gfxgraph::hsa
