// Dispatch packets that no device can run, and the status with which AMD's runtime reports each to
// the queue's callback.
#pragma once

#include <hsa/hsa.h>

namespace gfxgraph::hsa {

struct BadDispatch {
  const char* text = nullptr;  // null: nothing is wrong
  hsa_status_t status = HSA_STATUS_SUCCESS;
};

// `all`: also what the emulator finds and reports in more words. Any thread.
BadDispatch find_bad_dispatch(const hsa_kernel_dispatch_packet_t& packet, bool all);

}  // namespace gfxgraph::hsa
