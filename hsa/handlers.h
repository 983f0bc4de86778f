// Functions to be called when a signal meets a condition (hsa_amd_signal_async_handler), on one
// thread.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <cstdint>

#include "hsa/signal.h"

namespace gfxgraph::hsa {

// Calls `handler(value, arg)` with no lock held, also if the condition already holds; again, each
// time it holds, as long as the handler returns true.
void add_handler(Signal& signal, hsa_signal_condition_t condition, int64_t compare,
                 hsa_amd_signal_handler handler, void* arg);

// Waits until the handlers that are due have returned, or one of them takes longer than 1 second
// (it may wait for the caller). For the destruction of a signal: HIP 7.2.4 destroys signals when it
// tears its devices down, does not wait for handlers that are due, and frees what they use. Returns
// immediately in a handler.
void settle_handlers() noexcept;

// Drops the handlers of a signal that is being destroyed: HIP frees their data, and the signal's
// memory is reused. Waits up to 1 second for one that is running. A handler may destroy its own
// signal.
void cancel_handlers(const Signal& signal) noexcept;

// Drops all handlers, for the last hsa_shut_down(): HIP frees their data next. Waits up to 10
// seconds for one that is running. May be called by a handler.
void end_handlers() noexcept;

// Returns when no function is running or due, or after `limit_ns`. Before a fork: the child has no
// thread to call due handlers, and HIP may wait there for their effect.
void drain_handlers(uint64_t limit_ns);

}  // namespace gfxgraph::hsa
