#pragma once

#include <cstdint>

#include "format/trace_generated.h"

namespace gfxgraph::format {

// In the column of sources: the word points outside its allocation.
inline constexpr uint8_t kOutsideSource =
    static_cast<uint8_t>(fbs::RelocationSource::typed_outside);

}  // namespace gfxgraph::format
