// Reads JSON results of other gfxgraph commands.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/result.h"

namespace gfxgraph::tools {

// Null if the file is not a JSON object, or is nested deeper than any result. Errors: the file
// cannot be read.
Result<nlohmann::ordered_json> read_result(const std::string& path);

// Whether the file begins as a JSON object does, which no trace does.
bool looks_like_result(const std::string& path);

}  // namespace gfxgraph::tools
