// Whether the emulator's accesses in a trace stay within the footprints of its launches, and
// whether launches that share data are in the needed order.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "footprint/needed_order.h"
#include "format/read/reader.h"

namespace gfxgraph::footprint {

struct Soundness {
  uint64_t launches = 0;  // executed
  uint64_t known = 0;     // of them: with a known footprint
  uint64_t dwords = 0;    // that these touched
  uint64_t outside = 0;   // of them: beyond the footprint
  std::string first;      // such access
  uint64_t failed = 0;    // launches that did not end
  // Pairs of launches that share a dword which one of them writes, and that are ordered by the
  // program, but not by what they are said to need.
  uint64_t unordered = 0;
  std::string first_unordered;
};
Result<Soundness> soundness(const format::Trace& trace, const PlantFault& fault = {});
// Each range of writes loses its last bytes.
PlantFault shrink_by(uint64_t bytes);

}  // namespace gfxgraph::footprint
