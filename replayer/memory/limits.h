// Limits the cost of a replay. A trace is untrusted input: a few hundred bytes can name terabytes
// of memory, or millions of operations.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "replayer/abi/hip_library.h"
#include "replayer/program/options.h"
#include "replayer/program/packing.h"
#include "replayer/program/program.h"

namespace gfxgraph::replayer {

// The bytes that a program needs before its first run. Buffers that the caller binds need nothing.
struct MemoryNeed {
  uint64_t device = 0;
  uint64_t device_apart = 0;  // without packing; what is not packed is the same
  uint64_t host = 0;  // pinned and registered memory, staging of copies, argument blocks, tables
  uint64_t received = 0;  // of `host`: what copies to the host bring for which staging has no place
  // What the buffers of `device` hold at their beginning or end that is not zero, as far as the
  // trace says: memory that is never written takes none on the software agent.
  uint64_t device_held = 0;
};
// Empty if it exceeds an address space.
std::optional<MemoryNeed> memory_need(const Program& program, const SessionOptions& options,
                                      const Packing& packing);

// A message: the memory that will be allocated.
std::string memory_text(const MemoryNeed& need, MemoryUse use);

struct MachineMemory {
  uint64_t available_bytes = 0;  // base/available_memory.h
  bool holds_device = false;     // the device is the software agent: its memory is this machine's
};
MachineMemory machine_memory();

// kOutOfMemory, with required and available memory, before anything is allocated:
// options.max_memory_bytes for both together; if that is 0, the device's memory for one and what
// this machine has available for the other, or for both. The message includes what packing would
// save. In place a few MiB are not compared with the machine's: to look at it takes longer than the
// rest of such a session. `given`: nullptr for machine_memory(), if it is needed.
Result<void> check_memory(const Program& program, const SessionOptions& options,
                          const Packing& packing, const HipLibrary& library,
                          const MachineMemory* given = nullptr);

// The deadline for loading. Cheap enough to check for each operation.
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
