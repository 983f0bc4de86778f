// What a captured step is, in numbers that are the same in each process that runs the same.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gfxgraph/safety.h"
#include "replayer/abi/hip_library.h"

namespace gfxgraph::replayer {

// Of a step; 0: nothing is captured.
struct Identity {
  uint64_t sequence = 0;  // of its work: kernels, grids, arguments, copies, memsets, their order
  uint64_t code = 0;      // of the code objects of its kernels
  bool operator==(const Identity&) const = default;
};

// Addresses count as the place in memory that they point to, and memory by its order of use.
Result<Identity> identity_of(gfxgraph_trace_t trace, gfxgraph_range_t range);

// Of a device and its runtime, in the order of a fingerprint; facts that the runtime does not give
// are left out.
struct Fact {
  const char* name = "";
  std::string value;
};
std::vector<Fact> environment_facts(const HipLibrary& library, const HipDevice& device);

// A fingerprint that the caller saved (gfxgraph_pool_fingerprint).
class SavedFingerprint {
 public:
  static constexpr std::string_view kFirstLine = "gfxgraph-fingerprint/1";
  // kInvalidArgument: it is none.
  static Result<SavedFingerprint> read(std::string_view text);
  // kMismatch names what differs. Facts that only one of the two has are left out.
  Result<void> check(const std::vector<Fact>& facts) const;
  // Of a bucket. `needed`: it must be there.
  Result<void> check(uint64_t size, uint64_t max_length, const Identity& identity,
                     bool needed) const;

 private:
  std::vector<std::string> lines_;
};

std::string bucket_line(uint64_t size, uint64_t max_length, const Identity& identity);

}  // namespace gfxgraph::replayer
