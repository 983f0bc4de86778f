// One kernel launch as a folder of plain files with a HIP program that needs nothing of gfxgraph.
#pragma once

#include <string>

#include "base/result.h"

namespace gfxgraph::tools {

// `trace`: a file with one launch, as gfxgraph extract --kernel writes it. Makes the folder, and
// replaces files in it that have the names of its own. kUnsupported names what such a program
// cannot do.
Result<void> write_standalone(const std::string& trace, const std::string& folder);

}  // namespace gfxgraph::tools
