// The one place that reads the program's own memory: sources and results of copies that lie in no
// allocation. Called only with ranges that HIP has accepted, or that it is about to judge.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "recorder/model/raw_actions.h"

namespace gfxgraph::recorder {

// The rows of the copy's box at `end`, packed. Nothing when the sizes overflow or any byte is not
// mapped: never a fault of the program.
std::optional<std::vector<std::byte>> read_host_rows(const RawCopy& raw, const RawCopyEnd& end);
std::optional<std::vector<std::byte>> read_host_bytes(uint64_t address, uint64_t size_bytes);

}  // namespace gfxgraph::recorder
