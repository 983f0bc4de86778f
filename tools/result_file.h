// JSON that another command of gfxgraph wrote.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/result.h"

namespace gfxgraph::tools {

// Null where the file holds no JSON object, or one that is nested deeper than any result. Errors:
// it cannot be read.
Result<nlohmann::ordered_json> read_result(const std::string& path);

// Whether the file begins as a JSON object does, which no trace does.
bool looks_like_result(const std::string& path);

}  // namespace gfxgraph::tools
