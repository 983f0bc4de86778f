// What can write memory of this process so that its page tables do not show it. Each reads /proc:
// some 100 microseconds. In doubt the answer is yes. Any thread.
#pragma once

#include <cstdint>

namespace gfxgraph::recorder {

// Whether the process has a descriptor or a mapping by which a device, or the kernel for it, may be
// writing pages that it was given earlier: files opened with O_DIRECT or on file systems that may
// read like that, asynchronous I/O, io_uring, devices of any kind, unknown kinds of sockets.
bool pages_may_have_other_writers() noexcept;
// Whether [begin, end) is mapped, without gaps, private, and of no file.
bool is_private_anonymous(uint64_t begin, uint64_t end) noexcept;
// Whether a seccomp filter applies to this thread.
bool system_calls_are_filtered() noexcept;

// ---- for tests ----------------------------------------------------------------------------------
bool descriptor_may_write_pages(int descriptor) noexcept;

}  // namespace gfxgraph::recorder
