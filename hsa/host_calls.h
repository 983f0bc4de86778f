// Host calls of kernels, mediated: $GFXGRAPH_HOST_CALLS=deny.
//
// A kernel calls the host through a buffer of packets that HIP's listener thread reads. One of its
// services makes the listener call any address that the packet holds, and the buffer holds pointers
// of the listener itself. That is fine for a program's own kernels and not for those of a trace
// from a stranger. With "deny" the device is given a copy of the buffer: the agent takes the
// packets out of it, passes on those of printf (also assert) and device memory (malloc, free) as
// copies, and hands the answers back. Any other service is a fault. "allow" is the default.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "codeobj/code_object.h"

namespace gfxgraph::hsa {

bool host_calls_denied() noexcept;

// Before a dispatch of `kernel`: when its arguments name a buffer for host calls, the device sees a
// copy from now on.
Result<void> guard_host_calls(const codeobj::Kernel& kernel, uint64_t kernarg_address);

// After a kernel's message: passes the packets on and waits for their answers. Thread-safe. What is
// wrong with a packet, if one is refused: the device must not run on.
std::optional<std::string> deliver_host_calls();

}  // namespace gfxgraph::hsa
