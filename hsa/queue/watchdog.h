// Watchdog for kernels that do not finish.
//
// The host, a copy or another queue's kernel may unblock a blocked kernel
// (emulator/engine/schedule/progress_check.h); the agent cannot know, so it waits until nothing has
// happened for a while. A kernel that runs without finishing a wave may still finish, so the agent
// reports it and ends it much later.
#pragma once

#include <atomic>
#include <cstdint>

#include "emulator/engine/engine.h"

namespace gfxgraph::hsa {

namespace internal {
inline std::atomic<uint64_t> activity{0};
}

// Call when something that may unblock a kernel begins or ends: a packet, a copy, a fill, a signal
// store by the host, a handler.
inline void note_activity() noexcept { internal::activity.fetch_add(1, std::memory_order_relaxed); }

// EngineOptions::give_up of the agent: true if, for $GFXGRAPH_LIVELOCK_SECONDS (default 30; 0:
// never), the dispatch and all other running kernels have been blocked and nothing else happened.
// False while a kernel that called the host (printf) reads host memory, because the reply may take
// any time. `running`: number of running kernels. Thread-safe.
bool ends_blocked_kernel(const emulator::BlockedDispatch& blocked, uint32_t running);

// EngineOptions::long_run of the agent. Reports a kernel if no wave finishes for
// $GFXGRAPH_LIVELOCK_SECONDS, then for twice that time, four times and so on. Ends it after
// $GFXGRAPH_HANG_SECONDS (0: never). If this is not set, ends it after 600 s without other
// activity, unless it is blocked. Thread-safe.
emulator::LongRunAnswer on_long_run(const emulator::LongRun& run);

}  // namespace gfxgraph::hsa
