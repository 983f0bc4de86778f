// Writes one kernel launch as a folder with a HIP program that does not need gfxgraph.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace gfxgraph::tools {

// Before anything is written: kInvalidArgument if the folder holds files, unless an earlier call of
// write_standalone() wrote them, which may be replaced.
Result<void> check_standalone_folder(const std::string& folder);

// The paths that write_standalone() may replace.
std::vector<std::string> standalone_names(const std::string& folder);

// `trace`: a file with one launch, as gfxgraph extract --kernel writes it. Makes the folder.
// kUnsupported names the feature that such a program cannot have.
Result<void> write_standalone(const std::string& trace, const std::string& folder);

}  // namespace gfxgraph::tools
