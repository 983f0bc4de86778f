// The largest resident size of a recording, in a process of its own.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>

namespace gfxgraph::recorder {

inline constexpr uint64_t kMiB = 1 << 20;

inline uint64_t peak_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::strtoull(line.c_str() + 6, nullptr, 10);
  }
  return 0;
}

// `record`: whether all is well. `ready`: of what the program's own memory holds by then.
inline void expect_small_peak(
    const std::function<bool()>& record, const std::function<void()>& ready = [] {},
    uint64_t most_mib = 128) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ready();
    const uint64_t before = peak_kib();
    const bool good = record();
    const uint64_t more_mib = (peak_kib() - before) / 1024;
    if (more_mib >= most_mib) std::fprintf(stderr, "%lu MiB more\n", (unsigned long)more_mib);
    ::_exit(good && before != 0 && more_mib < most_mib ? 0 : good ? 1 : 2);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << (status == 256 ? "too much memory" : "the recording failed");
}

// Reads as zeros. While nobody writes there, it takes no memory itself.
inline char* host_memory(uint64_t bytes) {
  return static_cast<char*>(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
}

}  // namespace gfxgraph::recorder
