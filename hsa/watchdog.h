// How long the agent waits for a kernel that does not finish.
//
// A blocked one (emulator/engine/progress_check.h) may be helped: by the host, a copy, or another
// queue's kernel. Nobody can know; the agent waits until nothing has happened for a while. One that
// runs without a wave's end may end yet: it is reported, and ended much later.
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

// EngineOptions::give_up of the agent: true when the dispatch has been blocked, all other running
// kernels have been, too, and nothing else happened, for $GFXGRAPH_LIVELOCK_SECONDS (default 30, 0:
// never). False as long as a kernel that called the host (printf) looks at host memory: its answer
// may take any time. `running`: kernels that run now. Thread-safe.
bool ends_blocked_kernel(const emulator::BlockedDispatch& blocked, uint32_t running);

// EngineOptions::long_run of the agent: reports after $GFXGRAPH_LIVELOCK_SECONDS without a wave's
// end, after twice, four times as many and so on; ends the kernel after $GFXGRAPH_HANG_SECONDS (0:
// never). Without that variable it ends a kernel after 600 s in which nothing else happened, but no
// blocked one. Thread-safe.
emulator::LongRunAnswer on_long_run(const emulator::LongRun& run);

}  // namespace gfxgraph::hsa
