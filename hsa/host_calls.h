// Filtered host calls of kernels: $GFXGRAPH_HOST_CALLS=deny.
//
// A kernel calls the host through a buffer of packets that HIP's listener thread reads. One of its
// services makes the listener call any address in the packet, and the buffer holds pointers of the
// listener itself. That is acceptable for a program's own kernels, but not for those of an
// untrusted trace. With "deny" the device gets a copy of the buffer: the agent takes the packets
// out of it, forwards copies of those of printf (also assert) and device memory (malloc, free), and
// returns the answers. Any other service is a fault. "allow" is the default.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "codeobj/code_object.h"

namespace gfxgraph::hsa {

bool host_calls_denied() noexcept;

// Before a dispatch of `kernel`: if its arguments name a buffer for host calls, the device sees a
// copy from now on.
Result<void> guard_host_calls(const codeobj::Kernel& kernel, uint64_t kernarg_address);

// After a kernel's message: forwards the packets and waits for their answers. Thread-safe. Returns
// the reason if a packet is rejected: the device must then stop.
std::optional<std::string> deliver_host_calls();

}  // namespace gfxgraph::hsa
