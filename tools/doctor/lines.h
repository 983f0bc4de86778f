// Reads what the parts of gfxgraph doctor wrote (parts.h).
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/doctor/checks.h"
#include "tools/doctor/child.h"

namespace gfxgraph::tools::doctor {

// What a capture (kPartRun, kPartHold) and its modes came to. A process that ended early ended in
// the first of them without a line.
std::vector<Check> capture_checks(const std::string& part, const std::vector<nlohmann::json>& lines,
                                  const ChildEnd& end);

// The objects of the file's whole lines; none if there is no file.
std::vector<nlohmann::json> read_lines(const std::filesystem::path& path);

}  // namespace gfxgraph::tools::doctor
