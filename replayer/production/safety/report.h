// What a pool ran, as JSON (docs/schemas/pool.json).
#pragma once

#include <string>

#include "replayer/production/pool.h"

namespace gfxgraph::replayer {

std::string report_text(Pool& pool);
std::string fingerprint_text(Pool& pool);

}  // namespace gfxgraph::replayer
