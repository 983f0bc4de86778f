// Plain host memory that is large: read piece by piece, without a copy of the whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "recorder/model/raw_actions.h"

namespace gfxgraph::recorder {

struct HostBytes {
  uint64_t address = 0;
  uint64_t size_bytes = 0;
};

// Nothing if there is space between the rows, or few of them: read_host_rows() packs these.
std::optional<HostBytes> large_host_run(const RawCopy& raw, const RawCopyEnd& end);
// False: not all of it is mapped.
bool read_host_piece(uint64_t address, std::span<std::byte> piece);

}  // namespace gfxgraph::recorder
