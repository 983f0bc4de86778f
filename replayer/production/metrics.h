// The statistics of pools as an OpenMetrics text.
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "replayer/production/pool.h"

namespace gfxgraph::replayer {

// "graph", ... and "capture", ...; "unknown" for other numbers.
const char* way_name(uint32_t way) noexcept;
const char* fall_name(uint32_t fall) noexcept;
const char* validation_name(uint32_t validation) noexcept;

// kInvalidArgument: two pools have one name, whose samples would be the same.
Result<std::string> metrics_text(std::span<Pool* const> pools);

}  // namespace gfxgraph::replayer
