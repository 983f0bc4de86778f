// Tells bytes that nobody wrote from bytes that are wrong. Fresh memory has no content: the
// recorded program found there what the runtime left, a replay what it begins such memory with. So
// the program runs again, in eager mode, with other bytes in fresh memory, each allocation with its
// own: what changes along with them comes from there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "format/earlier_contents.h"
#include "replayer/executor.h"
#include "replayer/instance.h"

namespace gfxgraph::replayer {

struct VerifyReport;

enum class Origin : uint8_t {
  kWritten = 0,    // does not depend on what fresh memory begins with
  kUnwritten = 1,  // holds just what its own memory began with
  kDerived = 2,    // was copied or computed from fresh memory
};

// Of the bytes of a buffer, or of what a copy received.
struct Origins {
  std::vector<Origin> origins;
  std::vector<std::byte> bytes;    // what eager mode leaves there
  std::vector<std::byte> earlier;  // what the recorded program may have found there

  // Bytes of the replay: an origin holds only where it is what eager mode leaves, too.
  Origin of(uint64_t offset, std::byte got) const {
    if (offset >= origins.size() || got != bytes[offset]) return Origin::kWritten;
    return origins[offset];
  }
};

class OriginMap {
 public:
  // Finds out about what differs in `report`, which is of this instance's last run, and about what
  // is in `known`, which may be null. Runs the program two or three times, and leaves memory and
  // received copies as they were.
  static Result<OriginMap> find(Instance& instance, const ExecutorOptions& options,
                                hip::Stream stream, const VerifyReport& report,
                                const OriginMap* known);

  // nullptr: not looked at. `copy` is an index into Instance::host_results().
  const Origins* buffer(format::AllocationId id) const;
  const Origins* copy(size_t index) const;
  // Whether all that differs was looked at.
  bool covers(const VerifyReport& report) const;

 private:
  Result<void> look(Instance& instance, const ExecutorOptions& options, hip::Stream stream);
  Result<void> find_earlier(const Instance& instance);

  std::unordered_map<format::AllocationId, Origins> buffers_;
  std::unordered_map<size_t, Origins> copies_;
};

// Whether any memory of the program begins without content.
bool begins_unwritten(const Program& program);

}  // namespace gfxgraph::replayer
