// Filters the host calls of kernels if $GFXGRAPH_HOST_CALLS is "deny".
//
// A kernel calls the host through a buffer of packets (HIP's hostcall buffer) that HIP's listener
// thread reads. One service makes the listener call any address in the packet, and the buffer holds
// pointers of the listener itself. That is acceptable for a program's own kernels, but not for
// those of an untrusted trace. With "deny" the device gets a copy of the buffer. The agent reads
// the packets from it, forwards copies of those for printf (also assert) and device memory (malloc,
// free), and returns the replies. Any other service is a fault. The default is "allow".
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "codeobj/code_object.h"

namespace gfxgraph::hsa {

// False if $GFXGRAPH_HOST_CALLS is unset, empty or "allow"; read once.
bool host_calls_denied() noexcept;

// Call before a dispatch of `kernel`. If its arguments name a hostcall buffer, the device sees a
// copy of the buffer at its address from then on.
Result<void> guard_host_calls(const codeobj::Kernel& kernel, uint64_t kernarg_address);

// Call after a kernel's message: forwards the packets and waits for the replies. Thread-safe. If it
// rejects a packet, it returns the reason, and the device must stop.
std::optional<std::string> deliver_host_calls();

}  // namespace gfxgraph::hsa
