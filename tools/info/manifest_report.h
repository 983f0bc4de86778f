// The output of gfxgraph info for the manifest of gfxgraph-record (recorder/tool/manifest.h).
#pragma once

#include <string>

#include "recorder/tool/manifest.h"

namespace gfxgraph::tools {

void print_manifest(const std::string& path, const recorder::Manifest& manifest);
// Whether all traces are sealed and complete.
bool is_whole(const recorder::Manifest& manifest);

}  // namespace gfxgraph::tools
