// Functions to be called when a signal meets a condition (hsa_amd_signal_async_handler), on one
// thread.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <cstdint>

#include "hsa/signal.h"

namespace gfxgraph::hsa {

// Calls `handler(value, arg)` with no lock held, also when the condition holds already; again, each
// time it holds, for as long as the handler returns true.
void add_handler(Signal& signal, hsa_signal_condition_t condition, int64_t compare,
                 hsa_amd_signal_handler handler, void* arg);

// Returns when no function is running or due, or after `limit_ns`. Before a fork: the child has no
// thread to call what is due, and HIP may wait there for its effect.
void drain_handlers(uint64_t limit_ns);

}  // namespace gfxgraph::hsa
