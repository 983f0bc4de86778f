// Worker process for untrusted files. What parses or executes a trace runs in a child that can
// compute, read and write the descriptors that it has, and nothing else: seccomp stops every other
// system call, and Landlock, where the kernel has it, denies all files once more. The parent opens
// the files that the command line names, and no others, when the worker asks for them.
// Linux 5.14 or newer; docs/security.md has the rules.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace gfxgraph::sandbox {

struct Access {
  std::vector<std::filesystem::path> read = {};
  // Files that are created or replaced, also through a temporary file beside them. Empty paths
  // (standard output) are ignored.
  std::vector<std::filesystem::path> write = {};
  // Directories that are created, and in which everything may be.
  std::vector<std::filesystem::path> folders = {};
  // Any ELF file may be read: programs and libraries that a trace names.
  bool programs = false;
  // Limit of the worker's data (RLIMIT_DATA); 0: as this process.
  uint64_t data_bytes = 0;
};

// Like fork(): returns twice. -1: this is the worker, go on. Otherwise the worker has ended, and
// this is the code to end with. A worker that was stopped or that crashed is one line on stderr and
// kExitDataLost; signals that people send (SIGINT, SIGTERM ...) end both processes.
// Without memory for a worker, or if it dies before it begins: a line on stderr and kExitDataLost.
// If the kernel has no such sandbox: a note on stderr, and -1 in this process. The same, without
// the note, in builds with sanitizers, which need many more system calls.
// Call it once, before any thread starts. Timers (setitimer) stay with the parent. `command`: for
// messages.
int enter(const char* command, const Access& access);

// Whether this process is a worker.
bool is_worker() noexcept;

}  // namespace gfxgraph::sandbox
