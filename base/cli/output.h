// Standard output and output files of gfxgraph's programs. A result that could not be written is an
// error, and nothing but a regular file is ever created, written over or replaced.
#pragma once

#include <filesystem>

#include "base/result.h"

namespace gfxgraph {

// Call first in main(): reserves a standard descriptor that the caller closed, so that no later
// file gets its number; using it fails. Closed again in programs that this process starts.
void reserve_standard_descriptors() noexcept;

// Call last in main(): flushes stdout. Returns `code`, or kExitFailed instead of kExitOk if
// anything written to stdout since the start was lost; the reason goes to stderr after `program`.
// std::cout counts too: it writes through to stdout unless that was turned off.
int finish_output(const char* program, int code) noexcept;

// kInvalidArgument if `path` exists and is not a regular file (links are followed): devices, pipes,
// sockets and directories are neither written nor replaced.
Result<void> check_output_path(const std::filesystem::path& path);

}  // namespace gfxgraph
