// Filters the host calls of kernels if $GFXGRAPH_HOST_CALLS is "deny".
//
// A kernel calls the host through a buffer of packets (HIP's hostcall buffer) that HIP's listener
// thread reads. One service makes the listener call any address in the packet, and the buffer holds
// pointers of the listener itself. That is acceptable for a program's own kernels, but not for
// those of an untrusted trace. With "deny" no kernel ever accesses the buffer: it is out of reach
// from its allocation on, and the device sees a copy in its place. The agent reads the packets from
// the copy. It prints printf's messages (also assert's) itself, after checking them, and forwards
// requests for device memory (malloc, free). Any other service is a fault. The default is "allow".
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "codeobj/code_object.h"
#include "hsa/memory.h"

namespace gfxgraph::hsa {

// False if $GFXGRAPH_HOST_CALLS is unset, empty or "allow"; read once.
bool host_calls_denied() noexcept;

// Whether host memory of this size may become HIP's buffer, so that allocate_buffer() must allocate
// it. HIP writes the buffer after the allocation, and a running kernel could be faster.
bool may_become_buffer(uint64_t bytes) noexcept;
// Allocates host memory that kernels cannot access until this thread submits work, allocates again
// or ends: then HIP has written it, and the device sees the memory, or a copy if it is a buffer.
Result<std::byte*> allocate_buffer(Pool pool, uint64_t bytes);
// Call when the thread begins to submit work or to allocate.
void settle_new_buffers() noexcept;
// Call before memory is freed.
void forget_buffer(const void* memory) noexcept;

// Call before a dispatch of `kernel`. An error if its arguments name a hostcall buffer of which the
// device has no copy and cannot get one.
Result<void> guard_host_calls(const codeobj::Kernel& kernel, uint64_t kernarg_address);

// Call after a kernel's message: serves the packets. Thread-safe. If it
// rejects a packet, it returns the reason, and the device must stop.
std::optional<std::string> deliver_host_calls();

}  // namespace gfxgraph::hsa
