// In place of page_files.cpp: what a build without D3 has.
#include "tools/report/report_page.h"

namespace gfxgraph::tools {

std::span<const PageFile> page_files() { return {}; }

}  // namespace gfxgraph::tools
