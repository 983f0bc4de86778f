// Watchdog for hung kernels.
//
// A livelocked kernel (emulator/standstill.h, emulator/closure.h) may still be unblocked by the
// host, a copy, or another queue's kernel. The agent cannot know; it waits until nothing has
// happened for a while. A long-running kernel may still end: it is reported, and continues.
#pragma once

#include <atomic>
#include <cstdint>

#include "emulator/engine.h"

namespace gfxgraph::hsa {

namespace internal {
inline std::atomic<uint64_t> activity{0};
}

// An event that may change what a kernel waits for begins or ends: a packet, a copy, a fill, a
// signal store by the host, a handler.
inline void note_activity() noexcept { internal::activity.fetch_add(1, std::memory_order_relaxed); }

// EngineOptions::give_up of the agent: true if the dispatch and all other running kernels made no
// progress, and nothing else happened, for $GFXGRAPH_LIVELOCK_SECONDS (default 30, 0: never). False
// as long as a kernel that called the host (printf) polls host memory, because the reply may take
// any time; and while one of several running kernels changes memory back and forth, which another
// may see. `running`: kernels that run now. Thread-safe.
bool out_of_patience(const emulator::Standstill& standstill, uint32_t running);

// EngineOptions::long_run of the agent: reports after $GFXGRAPH_LIVELOCK_SECONDS without the end of
// a wave, after twice, four times that time and so on; ends the kernel after $GFXGRAPH_HANG_SECONDS
// (default 0: never). Thread-safe.
emulator::LongRunAnswer judge_long_run(const emulator::LongRun& run);

}  // namespace gfxgraph::hsa
