// Reads what the parts of gfxgraph doctor wrote (parts.h).
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

namespace gfxgraph::tools::doctor {

// The objects of the file's whole lines; none if there is no file.
std::vector<nlohmann::json> read_lines(const std::filesystem::path& path);

}  // namespace gfxgraph::tools::doctor
