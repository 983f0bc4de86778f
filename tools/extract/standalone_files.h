// The files of tools/standalone/, built into the program.
#pragma once

#include <string_view>

namespace gfxgraph::tools {

extern const std::string_view kStandaloneProgram;  // launch.cpp
extern const std::string_view kStandaloneBuild;    // CMakeLists.txt

}  // namespace gfxgraph::tools
