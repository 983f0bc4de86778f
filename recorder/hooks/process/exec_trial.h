// Whether an exec of the program would succeed: a recording ends before it, because nothing of this
// process can run after it, but goes on where it fails.
#pragma once

namespace gfxgraph::recorder {

// `call` makes the program's call and returns only if it failed. It runs in a process that shares
// the memory of this one, and in which the new program is ended before its first system call.
enum class Trial { kWouldFail, kWouldSucceed, kUnknown };
Trial try_exec(void (*call)(void* data), void* data) noexcept;

}  // namespace gfxgraph::recorder
