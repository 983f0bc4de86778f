// The files of tools/report/, built into the program.
#pragma once

#include <span>
#include <string_view>

namespace gfxgraph::tools {

struct PageFile {
  std::string_view name;
  std::string_view text;
};

// page.html first, then page.css, then the scripts in the order in which they run. Empty if
// gfxgraph was built without D3 (cmake/GfxgraphD3.cmake).
std::span<const PageFile> page_files();

}  // namespace gfxgraph::tools
