// Handlers that one thread calls when a signal meets a condition (hsa_amd_signal_async_handler).
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <cstdint>

#include "hsa/queue/signal.h"

namespace gfxgraph::hsa {

// Calls `handler(value, arg)` when the condition holds, or if it holds already, and again each time
// it holds while the handler returns true. No lock is held during the call.
void add_handler(Signal& signal, hsa_signal_condition_t condition, int64_t compare,
                 hsa_amd_signal_handler handler, void* arg);

// Waits until all handlers that are due have returned, or until one has run for 1 second (it may be
// waiting for the caller). Called before a signal is destroyed: HIP 7.2.4 destroys signals when it
// tears down its devices, without waiting for handlers that are due, and frees their data. Returns
// immediately if called from a handler.
void settle_handlers() noexcept;

// Removes the handlers of a signal that is being destroyed: HIP frees their data, and the signal's
// memory is reused. Waits up to 1 second for a running handler. A handler may destroy its own
// signal.
void cancel_handlers(const Signal& signal) noexcept;

// Removes all handlers at the last hsa_shut_down(), after which HIP frees their data. Waits up to
// 10 seconds for a running handler. A handler may call it.
void end_handlers() noexcept;

// Returns when no handler is running or due, or after `limit_ns`. Called before a fork: the child
// has no thread that calls handlers, and HIP may wait there for their effect.
void drain_handlers(uint64_t limit_ns);

}  // namespace gfxgraph::hsa
