// Whether the emulator's accesses in a trace stay within the footprints of its launches.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "format/read/reader.h"

namespace gfxgraph::footprint {

struct Soundness {
  uint64_t launches = 0;  // executed
  uint64_t known = 0;     // of them: with a known footprint
  uint64_t dwords = 0;    // that these touched
  uint64_t outside = 0;   // of them: beyond the footprint
  std::string first;      // such access
  uint64_t failed = 0;    // launches that did not end
};
// `shrink`: a fault. Each range of writes loses its last `shrink` bytes.
Result<Soundness> soundness(const format::Trace& trace, uint64_t shrink = 0);

}  // namespace gfxgraph::footprint
