// Standard output and output files of gfxgraph's programs. A result that could not be written is an
// error, and nothing but a regular file is ever created, written over or replaced.
#pragma once

#include <filesystem>

#include "base/result.h"

namespace gfxgraph {

// First in main(): a standard descriptor that the caller closed is taken, so that no file opened
// later gets its number; using it fails. Closed again in programs that this process starts.
void reserve_standard_descriptors() noexcept;

// Last in main(): flushes stdout. Returns `code`, or kExitFailed in place of kExitOk if anything
// written to stdout since the start was lost; the reason goes to stderr behind `program`. std::cout
// counts too: it writes through to stdout unless somebody turned that off.
int finish_output(const char* program, int code) noexcept;

// kInvalidArgument when `path` exists and is not a regular file (followed through links): devices,
// pipes, sockets and directories are neither written nor replaced.
Result<void> check_output_path(const std::filesystem::path& path);

}  // namespace gfxgraph
