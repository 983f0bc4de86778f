// Distinguishes unwritten bytes from wrong ones. Fresh memory has no content: the recorded program
// found the runtime's leftovers there, a replay finds its initial bytes. The program runs again, in
// eager mode, with other bytes in fresh memory, different in each allocation: bytes that change
// with them come from there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "format/read/earlier_contents.h"
#include "replayer/memory/limits.h"
#include "replayer/session/executor.h"
#include "replayer/session/instance.h"

namespace gfxgraph::replayer {

struct VerifyReport;

enum class Origin : uint8_t {
  kWritten = 0,    // does not depend on what fresh memory begins with
  kUnwritten = 1,  // holds the initial byte of its own memory
  kDerived = 2,    // was copied or computed from fresh memory
};

// Of the bytes of a buffer, or of what a copy received.
struct Origins {
  std::vector<Origin> origins;
  std::vector<std::byte> bytes;    // what eager mode leaves there
  std::vector<std::byte> earlier;  // what the recorded program may have found there

  // Bytes of the replay: an origin is valid only if they equal those of eager mode.
  Origin of(uint64_t offset, std::byte got) const {
    if (offset >= origins.size() || got != bytes[offset]) return Origin::kWritten;
    return origins[offset];
  }
};

class OriginMap {
 public:
  // Classifies the differences in `report`, which is about this instance's last run, and those in
  // `known`, which may be null. Runs the program two or three times, and restores memory and
  // received copies. kOutOfMemory, with the sizes and before anything runs, if the machine has not
  // enough available for that.
  static Result<OriginMap> find(Instance& instance, const ExecutorOptions& options,
                                hip::Stream stream, const VerifyReport& report,
                                const OriginMap* known, const MachineMemory& machine);

  // nullptr: not classified. `copy` is an index into Instance::host_results().
  const Origins* buffer(format::AllocationId id) const;
  const Origins* copy(size_t index) const;
  // Whether all that differs was looked at.
  bool covers(const VerifyReport& report) const;

 private:
  Result<void> check_memory(const Instance& instance, const MachineMemory& machine) const;
  Result<void> look(Instance& instance, const ExecutorOptions& options, hip::Stream stream);
  Result<void> find_earlier(const Instance& instance);

  std::unordered_map<format::AllocationId, Origins> buffers_;
  std::unordered_map<size_t, Origins> copies_;
};

// The byte of the source that a copy's `index`-th byte comes from. Its width is not 0.
uint64_t source_offset(const format::Copy& copy, uint64_t index);

// Whether any memory of the program begins without content.
bool begins_unwritten(const Program& program);

}  // namespace gfxgraph::replayer
