// What a replay may cost. A trace is input from anywhere: a few hundred bytes can name terabytes of
// memory, or millions of operations.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "replayer/hip_library.h"
#include "replayer/options.h"
#include "replayer/packing.h"
#include "replayer/program.h"

namespace gfxgraph::replayer {

// What a program needs before its first run, in bytes. Buffers that the caller binds need nothing.
struct MemoryNeed {
  uint64_t device = 0;
  uint64_t device_apart = 0;  // without packing; what is not packed is the same
  uint64_t host = 0;  // pinned and registered memory, staging of copies, argument blocks, tables
  uint64_t received = 0;  // of `host`: what copies to the host bring for which staging has no place
};
// Nothing when it is more than an address space.
std::optional<MemoryNeed> memory_need(const Program& program, const SessionOptions& options,
                                      const Packing& packing);

// For a reader: what will be allocated.
std::string memory_text(const MemoryNeed& need, MemoryUse use);

// kOutOfMemory, with what is needed and what there is, before anything is allocated:
// options.max_memory_bytes for both together; where that is 0, the memory of the device for the one
// and of this machine for the other. What packing would save is said.
Result<void> check_memory(const Program& program, const SessionOptions& options,
                          const Packing& packing, const HipLibrary& library);

// The end of the time for loading. Cheap enough to be asked for each operation.
class Deadline {
 public:
  explicit Deadline(double seconds = 0);  // 0: never
  // kUnsupported: "loading took more than ... s; <what> is not done".
  Result<void> check(const char* what);

 private:
  std::optional<std::chrono::steady_clock::time_point> end_;
  double seconds_ = 0;
  uint32_t calls_ = 0;
};

}  // namespace gfxgraph::replayer
